//// right 1

//// right 2
2 * x
// becomes
x * 2

//// right 3
2 * x
// becomes
x + x

//// right 4
2 * x
// becomes
at::mul(x, 2)

//// right 5
2 * x
// becomes
x - (-x)

//// right 6
return twice + y;
// becomes
return y + twice;

//// right 7
return twice + y;
// becomes
return at::add(twice, y);

//// right 8
return twice + y;
// becomes
return y - -twice;

//// right 9
const at::Tensor twice
// becomes
const auto twice

//// right 10
  const at::Tensor twice = 2 * x;

// becomes
// and
return twice + y;
// becomes
return at::add(y, x, 2);

//// wrong 1
// says: 'axpy/tour' does not compile:
2 * x;
// becomes
2 * x

//// wrong 2
// says: 'axpy/tour' does not compile:
2 * x;
// becomes
2 * x:

//// wrong 3
// says: 'axpy/tour' does not compile:
2 * x;
// becomes
2 * x // ;

//// wrong 4
// says: 'axpy/tour' does not compile:
return twice + y;
// becomes
return twice + y

//// wrong 5
// says: 'axpy/tour' does not compile:
2 * x;
// becomes
2x;

//// wrong 6
// says: 'axpy/tour' does not compile:
return twice + y;
// becomes
return twice + z;

//// wrong 7
// says: 'axpy/tour'
2 * x
// becomes
x

//// wrong 8
// says: 'axpy/tour'
2 * x
// becomes
2 * y

//// wrong 9
// says: 'axpy/tour'
return twice + y;
// becomes
return twice - y;

//// wrong 10
// says: 'axpy/tour'
return twice + y;
// becomes
return twice;
