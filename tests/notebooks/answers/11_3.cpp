//// right 1

//// right 2
dtype == ScalarType::Float || dtype == ScalarType::Double
// becomes
!(dtype != ScalarType::Float && dtype != ScalarType::Double)

//// right 3
y.scalar_type() == dtype
// becomes
dtype == y.scalar_type()

//// right 4
for (int64_t i = 0; same && i < x.dim(); ++i) same = x.size(i) == y.size(i);
// becomes
for (int64_t i = x.dim(); same && i-- > 0;) same = y.size(i) == x.size(i);

//// right 5
for (int64_t i = 0; same && i < x.dim(); ++i) same = x.size(i) == y.size(i);
// becomes
if (same)
    for (int64_t i = 0; i < y.dim(); ++i) same &= x.size(i) == y.size(i);

//// right 6
forward_of
// becomes
checked

//// right 7
STD_TORCH_CHECK(same, "x and y differ in shape");
// becomes
if (!same) throw std::runtime_error("x and y differ in shape");

//// right 8
  STD_TORCH_CHECK(y.scalar_type() == dtype, "x and y differ in dtype");

// becomes
// and
(same,
// becomes
(same && y.scalar_type() == dtype,

//// right 9
  STD_TORCH_CHECK(y.scalar_type() == dtype, "x and y differ in dtype");

// becomes
// and
STD_TORCH_CHECK(same, "x and y differ in shape");
// becomes
STD_TORCH_CHECK(same, "x and y differ in shape");
  STD_TORCH_CHECK(y.scalar_type() == dtype, "x and y differ in dtype");


//// right 10
return forward(x, y);
// becomes
Tensor z = forward(x, y);
  return z;

//// wrong 1
// says: 'axpy/lean
&forward_of
// becomes
&forward

//// wrong 2
// says: 'axpy/lean
dtype == ScalarType::Float || dtype == ScalarType::Double
// becomes
true

//// wrong 3
// says: 'axpy/lean
  STD_TORCH_CHECK(y.scalar_type() == dtype, "x and y differ in dtype");

// becomes

//// wrong 4
// says: 'axpy/lean
STD_TORCH_CHECK(same, "x and y differ in shape");
// becomes

//// wrong 5
// says: 'axpy/lean
for (int64_t i = 0; same && i < x.dim(); ++i) same = x.size(i) == y.size(i);
// becomes

//// wrong 6
// says: 'axpy/lean
for (int64_t i = 0; same && i < x.dim(); ++i) same = x.size(i) == y.size(i);
// becomes
same = same && x.numel() == y.numel();

//// wrong 7
// says: 'axpy/lean
dtype == ScalarType::Float || dtype == ScalarType::Double
// becomes
dtype == ScalarType::Float

//// wrong 8
// says: 'axpy/lean
return forward(x, y);
// becomes
return forward(y, x);

//// wrong 9
// says: 'axpy/lean
x.dim() == y.dim()
// becomes
x.dim() != y.dim()

//// wrong 10
// says: does not compile:
return forward(x, y);
// becomes
return forward(x, y)
