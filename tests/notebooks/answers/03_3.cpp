//// right 1

//// right 2
d_z.mm(weights.slice(1, S))
// becomes
at::mm(d_z, weights.slice(1, S))

//// right 3
d_z.mm(weights.slice(1, S))
// becomes
at::matmul(d_z, weights.narrow(1, S, weights.size(1) - S))

//// right 4
d_z.mm(weights.slice(1, 0, S))
// becomes
d_z.mm(weights.narrow(1, 0, S))

//// right 5
d_z.mm(weights.slice(1, 0, S))
// becomes
weights.slice(1, 0, S).t().mm(d_z.t()).t().contiguous()

//// right 6
d_z.t().mm(X)
// becomes
X.t().mm(d_z).t()

//// right 7
d_z.t().mm(X)
// becomes
at::einsum("bj,bi->ji", {d_z, X})

//// right 8
if (wanted[0]) d_input
// becomes
d_input = !wanted[0] ? at::Tensor()
// and
= d_z.mm(weights.slice(1, S))
// becomes
: d_z.mm(weights.slice(1, S))

//// right 9
if (wanted[0]) d_input = d_z.mm(weights.slice(1, S));
// becomes
if (wanted[0] || wanted[3]) {
    const at::Tensor d_X = d_z.mm(weights);
    d_input = d_X.slice(1, S);
    d_old_h = d_X.slice(1, 0, S);
  }
// and
  if (wanted[3]) d_old_h = d_z.mm(weights.slice(1, 0, S));

// becomes

//// right 10
d_z.sum(0)
// becomes
at::sum(d_z, 0)

//// wrong 1
// says: It is right, and still makes more than one matrix product
if (wanted[0]) d_input
// becomes
d_input

//// wrong 2
// says: It is right, and still makes more than one matrix product
if (wanted[3]) d_old_h
// becomes
d_old_h

//// wrong 3
// says: It is right, and still makes more than one matrix product
if (wanted[0]) d_input
// becomes
if (wanted[0] || wanted[1]) d_input

//// wrong 4
// says: It is right, and still makes more than one matrix product
if (wanted[0]) d_input = d_z.mm(weights.slice(1, S));
// becomes
if (wanted[0] || wanted[2] || wanted[3]) {
    const at::Tensor d_X = d_z.mm(weights);
    d_input = d_X.slice(1, S);
    d_old_h = d_X.slice(1, 0, S);
  }
// and
  if (wanted[3]) d_old_h = d_z.mm(weights.slice(1, 0, S));

// becomes

//// wrong 5
// says: It is right, and still makes more than one matrix product
d_z.mm(weights.slice(1, S))
// becomes
d_X.slice(1, S)
// and
  at::Tensor d_input
// becomes
  const at::Tensor d_X = d_z.mm(weights);
  at::Tensor d_input

//// wrong 6
// says: It is right, and still makes more than one matrix product
d_z.sum(0)
// becomes
at::ones({1, d_z.size(0)}, d_z.options()).mm(d_z).squeeze(0)

//// wrong 7
// says: 'lltm/lean'
d_z.mm(weights.slice(1, S))
// becomes
d_z.mm(weights.slice(1, 0, S))

//// wrong 8
// says: 'lltm/lean'
d_z.mm(weights.slice(1, 0, S))
// becomes
d_z.mm(weights.slice(1, S))

//// wrong 9
// says: 'lltm/lean'
if (wanted[0]) d_input
// becomes
if (!wanted[0]) d_input

//// wrong 10
// says: 'lltm/lean' does not compile:
d_z.mm(weights.slice(1, S))
// becomes
d_z.mm(weights.slice(1, S)
