//// right 1
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
if (t.dim() == 0) return t + t;
  return 2 * t;

//// right 2
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
return 2 * t;

//// right 3
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
if (!t.dim()) {
    return t + t;
  } else {
    return 2 * t;
  }

//// right 4
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
return t.dim() == 0 ? t + t : 2 * t;

//// right 5
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
at::Tensor result = 2 * t;
  if (t.dim() == 0) {
    result = t + t;
  }
  return result;

//// right 6
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
switch (t.dim()) {
    case 0: return t + t;
    default: return 2 * t;
  }

//// right 7
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
while (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;

//// right 8
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
if (t.dim() == 0)
  {
    return t + t; }
  return 2 * t;

//// right 9
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
{
    if (t.dim() == 0) { return t + t; }
  }
  return 2 * t;

//// right 10
dim() == 0
// becomes
dim() != 0

//// wrong 1
// says: 'axpy/inside' does not
  }
  return 2
// becomes
  }
  }
  return 2

//// wrong 2
// says: 'axpy/inside' does not
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
// becomes
if (t.dim() == 0) {
    return t + t;
  }
  return 2 * t;
  }

//// wrong 3
// says: 'axpy/inside' does not
dim() == 0)
// becomes
dim() = 0)

//// wrong 4
// says: 'axpy/inside' does not
return 2 * t;
// becomes
return 2 * t

//// wrong 5
// says: 'axpy/inside' does not
at::Tensor forward(
// becomes
at::Tensor backward(

//// wrong 6
// says: 'axpy/inside' z
return t + t;
// becomes
return t;

//// wrong 7
// says: 'axpy/inside' z
return 2 * t;
// becomes
return 3 * t;

//// wrong 8
// says: 'axpy/inside' z
t.dim() == 0
// becomes
t.dim() <= 1
// and
return t + t;
// becomes
return t;

//// wrong 9
// says: 'axpy/inside' z
twice(x) + y
// becomes
twice(x) + x

//// wrong 10
// says: 'axpy/inside' z
twice(x) + y
// becomes
twice(y) + x

//// wrong 11
// says: 'axpy/inside' does not fit op 'axpy': axpy/inside:
  }

// becomes
