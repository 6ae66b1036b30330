//// right 1
twice(const at::Tensor& t)
// becomes
twice(at::Tensor t)

//// right 2
at::Tensor twice(const at::Tensor& t);
// becomes
at::Tensor twice(const at::Tensor&);

//// right 3
at::Tensor twice(const at::Tensor& t);
// becomes
at::Tensor twice(const at::Tensor& another);

//// right 4
at::Tensor twice(
// becomes
static at::Tensor twice(

//// right 5
at::Tensor twice(const at::Tensor& t);
// becomes
extern at::Tensor twice(const at::Tensor& t);

//// right 6
at::Tensor twice(const at::Tensor& t);
// becomes
at::Tensor twice(const at::Tensor& t);
at::Tensor twice(const at::Tensor& t);

//// right 7
at::Tensor twice(const at::Tensor& t);
// becomes
namespace {
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
}
// and
}

at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
}

//// right 8
at::Tensor twice(const at::Tensor& t);
// becomes
template <class T> T twice(const T& t) { return 2 * t; }
// and
}

at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
}

//// right 9
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twice(at::Tensor& t) { return 2 * t; }
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}

//// right 10
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
auto twice(const at::Tensor& t) -> at::Tensor { return t + t; }

//// wrong 1
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twise(const at::Tensor& t) {
  return 2 * t;
}

//// wrong 2
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes

//// wrong 3
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
namespace mine {
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
}

//// wrong 4
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twice(const at::Tensor& t, int n) {
  return 2 * t;
}

//// wrong 5
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twice(at::Tensor t) {
  return 2 * t;
}

//// wrong 6
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
struct Own { static at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
} };

//// wrong 7
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
int twice(const at::Tensor& t) {
  return 2 * t;
}

//// wrong 8
// says: 'axpy/apart' does not
at::Tensor twice(const at::Tensor& t);

// becomes

//// wrong 9
// says: 'axpy/apart' z
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twice(const at::Tensor& t) {
  return 3 * t;
}

//// wrong 10
// says: 'axpy/apart' z
twice(x) + y
// becomes
twice(y) + x

//// wrong 11
// says: 'axpy/apart' does not link: axpy/apart:
at::Tensor twice(const at::Tensor& t) {
  return 2 * t;
}
// becomes
at::Tensor twice(at::Tensor& t) {
  return 2 * t;
}
