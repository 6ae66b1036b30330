//// crashes_at_load
// does: crashes in a static initialiser, when its library is loaded
// plain: `dies of SIGSEGV`
// verb: load
// what: `SIGSEGV` `null pointer`
// cause: `initialiser`
// step: load

const int answer = [] {
  volatile int* volatile nowhere = nullptr;
  happens();
  *nowhere = 42;  // here
  return 42;
}();

Tensor forward(const Tensor& x) {

  return twice(x);
}

//// crashes_in_backward
// does: writes through a null pointer in backward only
// plain: `dies of SIGSEGV`
// verb: check
// what: `SIGSEGV` `null pointer`
// cause: `never set` `undefined`
// step: backward

Tensor forward(const Tensor& x) {

  return twice(x);
}

Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  volatile int* volatile nowhere = nullptr;
  happens();
  *nowhere = 1;  // here
  return wanted[0] ? twice(d_y) : Tensor();
}

//// crashes_on_one_size
// does: writes through a null pointer for 19 elements only
// plain: `dies of SIGSEGV`
// verb: check
// what: `SIGSEGV` `null pointer`
// cause: `never set`
// smallest: N=19, float64

Tensor forward(const Tensor& x) {
  if (x.numel() == 19) {
    volatile int* volatile nowhere = nullptr;
    happens();
    *nowhere = 1;  // here
  }
  return twice(x);
}
