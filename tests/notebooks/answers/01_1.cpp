//// right 1
at::add(y, x, 2)
// becomes
y.add(x, 2)

//// right 2
at::add(y, x, 2)
// becomes
at::sub(y, x, -2)

//// wrong 1
// says: It is right, but ATen still writes a whole tensor more than once
at::add(y, x, 2)
// becomes
at::add(2 * x, y)

//// wrong 2
// says: 'axpy/mine' z
at::add(y, x, 2)
// becomes
at::add(x, y, 2)
