//// right 1
d_new_h * t * o * (1 - o)
// becomes
at::sigmoid_backward(d_new_h * t, o)

//// right 2
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * (o - o * o)

//// right 3
d_new_h * t * o * (1 - o)
// becomes
t * d_new_h * o - d_new_h * t * o * o

//// right 4
d_new_h * t * o * (1 - o)
// becomes
(d_new_h * t).mul(o).mul(1 - o)

//// right 5
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * (o - at::square(o))

//// right 6
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * o * o.neg().add(1)

//// right 7
d_new_h * t * o * (1 - o)
// becomes
(1 - o) * o * t * d_new_h

//// right 8
d_new_h * o * (1 - t * t)
// becomes
at::tanh_backward(d_new_h * o, t)

//// right 9
d_z.t().mm(X)
// becomes
at::mm(d_z.t(), X)

//// right 10
d_old_cell = d_cell;
// becomes
d_old_cell = d_cell.clone();

//// wrong 1
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t

//// wrong 2
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * o

//// wrong 3
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * (1 - o)

//// wrong 4
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * i * (1 - i)

//// wrong 5
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_cell * t * o * (1 - o)

//// wrong 6
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * o * (1 - o)

//// wrong 7
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
d_new_h * t * o * (1 + o)

//// wrong 8
// says: 'lltm/hand' d_
d_new_h * t * o * (1 - o)
// becomes
-d_new_h * t * o * (1 - o)

//// wrong 9
// says: 'lltm/hand' d_
{d_z_i, d_z_o, d_z_c}
// becomes
{d_z_o, d_z_i, d_z_c}

//// wrong 10
// says: 'lltm/hand' d_bias
d_z.sum(0)
// becomes
d_z.sum(0, true)
