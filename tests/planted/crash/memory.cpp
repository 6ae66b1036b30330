//// null_write
// does: writes through a null pointer
// plain: `dies of SIGSEGV`
// verb: check
// what: `SIGSEGV` `null pointer`
// cause: `never set`

Tensor forward(const Tensor& x) {
  volatile int* volatile nowhere = nullptr;
  happens();
  *nowhere = 1;  // here
  return twice(x);
}

//// reads_one_past_the_end
// does: reads one element past the end of x
// plain: `goes on, and y is right`
// verb: check
// what: `SIGSEGV` `reads x[` `1 element past the end of x`
// cause: `goes past the last of`
// tensor: x

Tensor forward(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given);
  with_data(x, x, [&](const auto* from, auto*) {
    volatile double next = 0;
    happens();
    for (int64_t i = 0; i < x.numel(); ++i) next = from[i + 1];  // here
  });
  return twice(x);
}

//// reads_one_mib_past_the_end
// does: reads 1 MiB past the end of x
// plain: `goes on, and y is right` `dies of SIGSEGV`
// verb: check
// what: `SIGSEGV` `reads x[` `MiB) past the end of x`
// cause: `index`
// tensor: x

Tensor forward(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given);
  with_data(x, x, [&](const auto* from, auto*) {
    if (x.numel() == 0) return;
    const volatile auto* far = from + x.numel() + (1 << 20) / sizeof(*from);
    happens();
    volatile double value = far[0];  // here
    (void)value;
  });
  return twice(x);
}

//// writes_before_the_start
// does: writes the element before the start of y
// plain: `dies of SIGABRT`
// verb: check
// what: `SIGABRT` `1 element before the start of a tensor that forward makes, as large as y`
// cause: `below 0`
// tensor: a tensor that forward makes, as large as y

Tensor forward(const Tensor& x) {
  Tensor y = twice(x);
  with_data(x, y, [&](const auto*, auto* to) {
    if (y.numel() == 0) return;
    volatile auto* first = to;
    happens();
    first[-1] = 1;  // here
  });
  return y;
}

//// double_free
// does: frees a block twice
// plain: `dies of SIGABRT`
// what: `SIGABRT` `double free`
// cause: `freed twice`

Tensor forward(const Tensor& x) {
  void* volatile block = std::malloc(64);
  std::free(block);
  happens();
  std::free(block);  // here
  return twice(x);
}

//// heap_two_calls_later
// does: writes past a block of the heap; the block after it is freed two calls later
// plain: `dies of SIGABRT`
// verb: check
// what: `SIGABRT`
// cause: `heap`
// calls: 3

Tensor forward(const Tensor& x) {
  static int calls = 0;
  static char* volatile behind = nullptr;
  if (++calls == 1) {
    char* volatile block;
    do {
      block = static_cast<char*>(std::malloc(2000));
      behind = static_cast<char*>(std::malloc(2000));
    } while (behind != block + 2016);
    for (int i = 0; i < 2016; ++i) block[i] = 'A';
  }
  if (calls == 3) {
    happens();
    std::free(behind);  // here
  }
  return twice(x);
}

//// stack_overflow
// does: calls itself without end
// plain: `dies of SIGSEGV`
// what: `SIGSEGV` `its stack is full of calls of deep`
// cause: `calls itself without end`

[[gnu::noinline]] double deep(double depth) {  // here
  volatile double frame[64];
  frame[0] = depth;  // here
  return deep(depth + 1) + frame[0];  // here
}

Tensor forward(const Tensor& x) {
  happens();
  volatile double depth = deep(0);
  (void)depth;
  return twice(x);
}

//// divides_by_zero
// does: divides an integer by zero
// plain: `dies of SIGFPE`
// verb: check
// what: `SIGFPE (integer division by zero)`
// cause: `divided`

Tensor forward(const Tensor& x) {
  volatile int zero = 0;
  happens();
  volatile int64_t whole = x.numel() / zero;  // here
  (void)whole;
  return twice(x);
}
