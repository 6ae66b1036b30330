//// endless_loop
// does: loops without end
// plain: `hangs`
// what: `time-out after 1 s`
// cause: `endless loop`
// limits: seconds=1.0

Tensor forward(const Tensor& x) {
  volatile unsigned long turns = 0;
  happens();
  for (;;) turns = turns + 1;  // here
  return twice(x);
}

//// endless_loop_with_the_gil
// does: loops without end and holds the GIL
// plain: `hangs`
// what: `time-out after 1 s`
// cause: `endless loop`
// limits: seconds=1.0

extern "C" [[gnu::weak]] int PyGILState_Ensure();  // as under pybind11, but with fewer headers

Tensor forward(const Tensor& x) {
  PyGILState_Ensure();
  volatile unsigned long turns = 0;
  happens();
  for (;;) turns = turns + 1;  // here
  return twice(x);
}

//// deadlock
// does: locks a mutex that it holds
// plain: `hangs`
// what: `time-out after 1 s`
// cause: `mutex that is locked twice`
// headers: `mutex`
// limits: seconds=1.0

Tensor forward(const Tensor& x) {
  static std::mutex mutex;
  mutex.lock();
  happens();
  mutex.lock();  // here
  return twice(x);
}
