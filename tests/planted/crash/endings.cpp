//// aborts
// does: calls abort()
// plain: `dies of SIGABRT`
// what: `SIGABRT (abort)`
// cause: `abort() was called`

Tensor forward(const Tensor& x) {
  happens();
  std::abort();  // here
  return twice(x);
}

//// exits
// does: calls exit(0)
// plain: `ends with exit status 0`
// what: `exit(0)`
// cause: `ends the process with exit()`

Tensor forward(const Tensor& x) {
  happens();
  std::exit(0);  // here
  return twice(x);
}

//// exits_at_once
// does: calls _exit(3)
// plain: `ends with exit status 3`
// what: `_exit(3)`
// cause: `ends the process at once`

Tensor forward(const Tensor& x) {
  happens();
  _exit(3);
  return twice(x);
}

//// terminates
// does: calls std::terminate()
// plain: `dies of SIGABRT`
// what: `std::terminate`
// cause: `terminate()`
// headers: `exception`

Tensor forward(const Tensor& x) {
  happens();
  std::terminate();  // here
  return twice(x);
}

//// throws
// does: throws std::runtime_error
// plain: `goes on with RuntimeError`
// said: RuntimeError
// what: `no such luck`
// headers: `stdexcept`

Tensor forward(const Tensor& x) {
  happens();
  if (x.dim() < 9) throw std::runtime_error("no such luck");
  return twice(x);
}

//// throws_c10_error
// does: throws c10::Error
// plain: `goes on with RuntimeError`
// said: RuntimeError
// what: `nine axes, please`
// headers: `c10/util/Exception.h`

Tensor forward(const Tensor& x) {
  happens();
  TORCH_CHECK(x.dim() > 9, "nine axes, please");
  return twice(x);
}

//// throws_an_int
// does: throws an int
// plain: `goes on with RuntimeError`
// said: RuntimeError
// what: `unknown` `no std::exception (an int, a string)`

Tensor forward(const Tensor& x) {
  happens();
  if (x.dim() < 9) throw 42;
  return twice(x);
}

//// throws_in_a_thread
// does: throws std::runtime_error in a thread of its own
// plain: `dies of SIGABRT`
// what: `std::runtime_error` `nobody catches me`
// cause: `on another thread`
// headers: `stdexcept` `thread`

Tensor forward(const Tensor& x) {
  happens();
  std::thread([] { throw std::runtime_error("nobody catches me"); }).join();  // here
  return twice(x);
}
