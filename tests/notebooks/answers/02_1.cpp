//// right 1
x_twice + y
// becomes
at::add(x_twice, y)

//// right 2
x_twice + y
// becomes
y + x_twice

//// right 3
return 2 * t;
// becomes
return t * 2;

//// right 4
return 2 * t;
// becomes
return t + t;

//// right 5
return 2 * t;
// becomes
return t.mul(2);

//// right 6
return 2 * t;
// becomes
return at::mul(t, 2);

//// right 7
const at::Tensor x_twice = twice(x);
  return x_twice + y;
// becomes
return twice(x) + y;

//// right 8
const at::Tensor x_twice = twice(x);
  return x_twice + y;
// becomes
auto x_twice = twice(x);
  x_twice += y;
  return x_twice;

//// right 9
twice(
// becomes
doubled(

//// right 10
const at::Tensor x_twice = twice(x);
  return x_twice + y;
// becomes
const at::Tensor x_twice = 2 * x;
  return x_twice + y;

//// wrong 1
// says: 'axpy/three' does not
return 2 * t;
// becomes
return 2 * t

//// wrong 2
// says: 'axpy/three' does not
x_twice + y
// becomes
x_twice.plus(y)

//// wrong 3
// says: 'axpy/three' does not
return x_twice + y;
}
// becomes
return x_twice + y;

//// wrong 4
// says: 'axpy/three' does not
twice(const at::Tensor& t)
// becomes
twice(at::Tensor& t)

//// wrong 5
// says: 'axpy/three' does not
x_twice + y
// becomes
x.twice() + y

//// wrong 6
// says: 'axpy/three' does not
x_twice + y
// becomes
twice + y

//// wrong 7
// says: 'axpy/three' z
x_twice + y
// becomes
x_twice - y

//// wrong 8
// says: 'axpy/three' z
return 2 * t;
// becomes
return 3 * t;

//// wrong 9
// says: 'axpy/three' z
twice(x)
// becomes
twice(y)

//// wrong 10
// says: 'axpy/three' z
x_twice + y
// becomes
x_twice

//// wrong 11
// says: 'axpy/three' does not compile: axpy/three:
= twice(x)
// becomes
= twise(x)
