"""Kernels that touch memory which is not theirs, by mistake or by design, and kernels that crash at one place only."""

from __future__ import annotations

from tests.planted.crash_row import Row, forward

OVERRUNS = (
    Row(
        "null_write",
        "writes through a null pointer",
        forward("volatile int* volatile nowhere = nullptr;\nhappens();\n*nowhere = 1;  // here"),
        ("dies of SIGSEGV",),
        verb="check",
        what=("SIGSEGV", "null pointer"),
        cause=("never set",),
    ),
    Row(
        "reads_one_past_the_end",
        "reads one element past the end of x",
        """
Tensor forward(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given);
  with_data(x, x, [&](const auto* from, auto*) {
    volatile double next = 0;
    happens();
    for (int64_t i = 0; i < x.numel(); ++i) next = from[i + 1];  // here
  });
  return twice(x);
}
""",
        ("goes on, and y is right",),
        verb="check",
        what=("SIGSEGV", "reads x[", "1 element past the end of x"),
        cause=("goes past the last of",),
        tensor="x",
    ),
    Row(
        "reads_one_mib_past_the_end",
        "reads 1 MiB past the end of x",
        """
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
""",
        ("goes on, and y is right", "dies of SIGSEGV"),
        verb="check",
        what=("SIGSEGV", "reads x[", "MiB) past the end of x"),
        cause=("index",),
        tensor="x",
    ),
    Row(
        "writes_before_the_start",
        "writes the element before the start of y",
        """
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
""",
        ("dies of SIGABRT",),
        verb="check",
        what=("SIGABRT", "1 element before the start of a tensor that forward makes, as large as y"),
        cause=("below 0",),
        tensor="a tensor that forward makes, as large as y",
    ),
    Row(
        "double_free",
        "frees a block twice",
        forward("void* volatile block = std::malloc(64);\nstd::free(block);\nhappens();\nstd::free(block);  // here"),
        ("dies of SIGABRT",),
        what=("SIGABRT", "double free"),
        cause=("freed twice",),
    ),
    Row(
        "heap_two_calls_later",
        "writes past a block of the heap; the block behind it is freed two calls later",
        forward(
            """
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
"""
        ),
        ("dies of SIGABRT",),
        verb="check",
        what=("SIGABRT",),
        cause=("heap",),
        calls=3,
    ),
    Row(
        "stack_overflow",
        "calls itself without end",
        forward(
            "happens();\nvolatile double depth = deep(0);\n(void)depth;",
            """
[[gnu::noinline]] double deep(double depth) {  // here
  volatile double frame[64];
  frame[0] = depth;  // here
  return deep(depth + 1) + frame[0];  // here
}
""",
        ),
        ("dies of SIGSEGV",),
        what=("SIGSEGV", "its stack is full of calls of deep"),
        cause=("calls itself without end",),
    ),
    Row(
        "divides_by_zero",
        "divides an integer by zero",
        forward(
            "volatile int zero = 0;\nhappens();\nvolatile int64_t whole = x.numel() / zero;  // here\n(void)whole;"
        ),
        ("dies of SIGFPE",),
        verb="check",
        what=("SIGFPE (integer division by zero)",),
        cause=("divided",),
    ),
)

LIES = (
    Row(
        "scribbles",
        "writes into its input x",
        """
Tensor forward(const Tensor& x) {
  const Tensor y = twice(x);
  with_data(x, x, [&](const auto*, auto* to) {
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = 7;
  });
  return y;
}
""",
        ("goes on, and x is changed",),
        verb="check",
        said="finding",
        what=("forward changes the input x",),
    ),
    Row(
        "unwritten",
        "leaves the last element of y unwritten",
        """
Tensor forward(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given), y = torch::stable::empty_like(x);
  with_data(x, y, [&](const auto* from, auto* to) {
    for (int64_t i = 0; i + 1 < x.numel(); ++i) to[i] = 2 * from[i];
  });
  return y;
}
""",
        ("goes on, and y is wrong", "goes on, and y is right"),
        verb="check",
        said="finding",
        what=("was never written",),
    ),
)

PLACES = (
    Row(
        "crashes_at_load",
        "crashes in a static initialiser, when its library is loaded",
        f"""
const int answer = [] {{
  volatile int* volatile nowhere = nullptr;
  happens();
  *nowhere = 42;  // here
  return 42;
}}();
{forward("")}""",
        ("dies of SIGSEGV",),
        verb="load",
        what=("SIGSEGV", "null pointer"),
        cause=("initialiser",),
        step="load",
    ),
    Row(
        "crashes_in_backward",
        "writes through a null pointer in backward only",
        forward("")
        + """
Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  volatile int* volatile nowhere = nullptr;
  happens();
  *nowhere = 1;  // here
  return wanted[0] ? twice(d_y) : Tensor();
}
""",
        ("dies of SIGSEGV",),
        verb="check",
        what=("SIGSEGV", "null pointer"),
        cause=("never set", "undefined"),
        step="backward",
    ),
    Row(
        "crashes_on_one_size",
        "writes through a null pointer for 19 elements only",
        forward(
            "if (x.numel() == 19) {\n  volatile int* volatile nowhere = nullptr;\n  happens();\n  *nowhere = 1;  // here\n}"
        ),
        ("dies of SIGSEGV",),
        verb="check",
        what=("SIGSEGV", "null pointer"),
        cause=("never set",),
        smallest="N=19, float64",
    ),
)
