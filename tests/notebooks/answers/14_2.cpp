//// right 1
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  volatile int turns = 1;
  while (turns > 0) turns = 1;

//// right 2
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  for (volatile bool on = true; on;) {}

//// right 3
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  volatile int turns = 0;
  do ++turns; while (turns != 0 || true);

//// right 4
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  volatile int64_t n = 0;
again:
  n = n + 1;
  if (n >= 0) goto again;

//// right 5
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <chrono>
#include <thread>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  std::this_thread::sleep_for(std::chrono::hours(1));

//// right 6
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  for (volatile double n = 0; n < 1e15; n = n + 1) {}

//// right 7
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <atomic>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  std::atomic<bool> ready{false};
  while (!ready) {}

//// right 8
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <mutex>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  std::mutex lock;
  lock.lock();
  lock.lock();

//// right 9
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  volatile unsigned n = 3;
  while (n >= 0) n = n - 1;

//// right 10
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  if (x.numel() > 1) for (volatile int n = 1; n;) n = 1;

//// wrong 1
// says: is as it was.
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  // while (true) {}

//// wrong 2
// says: is right, and this exercise wants one that crashes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  for (volatile int n = 0; n < 3; n = n + 1) {}

//// wrong 3
// says: is right, and this exercise wants one that crashes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  volatile bool on = false;
  while (on) {}

//// wrong 4
// says: 'time-out' stands nowhere in what was found
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <cstdlib>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  std::abort();

//// wrong 5
// says: 'time-out' stands nowhere in what was found
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  *static_cast<volatile int*>(nullptr) = 1;

//// wrong 6
// says: 'time-out' stands nowhere in what was found
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <cstdlib>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  std::_Exit(0);

//// wrong 7
// says: forward raises
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  TORCH_CHECK(false, "time-out");

//// wrong 8
// says: z
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
#include <ATen/ops/clone.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  if (x.numel() > 2) return x.clone();

//// wrong 9
// says: does not compile:
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  while (true) {

//// wrong 10
// says: does not compile:
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
// becomes
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  while True:
