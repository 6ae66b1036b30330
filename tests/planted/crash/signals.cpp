//// killed
// does: is killed from outside while it works (SIGKILL)
// plain: `dies of SIGKILL`
// what: `SIGKILL (killed from outside)`
// cause: `outside`
// signal: SIGKILL

Tensor forward(const Tensor& x) {
  volatile unsigned long turns = 0;
  happens();
  for (;;) turns = turns + 1;
  return twice(x);
}

//// stopped
// does: is stopped from outside while it works (SIGSTOP)
// plain: `stands still`
// what: `SIGSTOP (stopped from outside)`
// cause: `outside`
// signal: SIGSTOP

Tensor forward(const Tensor& x) {
  volatile unsigned long turns = 0;
  happens();
  for (;;) turns = turns + 2;
  return twice(x);
}

//// interrupted
// does: works while the notebook's Stop button is pressed (SIGINT)
// plain: `hangs`
// said: KeyboardInterrupt
// what: `the worker was stopped`
// signal: SIGINT

Tensor forward(const Tensor& x) {
  volatile unsigned long turns = 0;
  happens();
  for (;;) turns = turns + 3;
  return twice(x);
}
