//// right 1
old_cell + c * i
// becomes
at::addcmul(old_cell, c, i)

//// right 2
old_cell + c * i
// becomes
c * i + old_cell

//// right 3
old_cell + c * i
// becomes
old_cell.add(c.mul(i))

//// right 4
at::tanh(new_cell) * o
// becomes
o * new_cell.tanh()

//// right 5
at::cat({old_h, input}, 1)
// becomes
at::concat({old_h, input}, -1)

//// right 6
at::addmm(bias, X, weights.t()).chunk(3, 1)
// becomes
at::linear(X, weights, bias).chunk(3, 1)

//// right 7
at::addmm(bias, X, weights.t()).chunk(3, 1)
// becomes
(at::matmul(X, weights.t()) + bias).chunk(3, -1)

//// right 8
at::addmm(bias, X, weights.t()).chunk(3, 1)
// becomes
at::addmm(bias, X, weights.t()).tensor_split(3, 1)

//// right 9
return {new_h, new_cell};
// becomes
return std::make_tuple(new_h, new_cell);

//// right 10
at::elu(z[2])
// becomes
at::where(z[2] > 0, z[2], at::expm1(z[2].clamp_max(0)))

//// wrong 1
// says: 'lltm/mine' new_h
old_cell + c * i
// becomes
old_cell + c

//// wrong 2
// says: 'lltm/mine' new_h
old_cell + c * i
// becomes
old_cell + c * o

//// wrong 3
// says: 'lltm/mine' new_h
at::tanh(new_cell) * o
// becomes
at::tanh(new_cell)

//// wrong 4
// says: 'lltm/mine' new_h
at::tanh(new_cell) * o
// becomes
at::tanh(old_cell) * o

//// wrong 5
// says: 'lltm/mine' new_
at::elu(
// becomes
at::relu(

//// wrong 6
// says: 'lltm/mine' new_
{old_h, input}
// becomes
{input, old_h}

//// wrong 7
// says: 'lltm/mine' new_
return {new_h, new_cell};
// becomes
return {new_cell, new_h};

//// wrong 8
// says: 'lltm/mine' new_
at::addmm(bias, X, weights.t()).chunk(3, 1)
// becomes
at::mm(X, weights.t()).chunk(3, 1)

//// wrong 9
// says: 'lltm/mine' d_
at::sigmoid(z[0])
// becomes
1 / (1 + at::exp(-z[0]))

//// wrong 10
// says: 'lltm/mine' does not compile:
return {new_h, new_cell};
// becomes
return new_h, new_cell;
