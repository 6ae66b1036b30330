//// ten_times_the_limit
// does: allocates ten times the limit
// plain: `takes more than 1 GiB`
// what: `memory` `128 MiB`
// cause: `allocation`
// limits: memory=128 * 2**20

Tensor forward(const Tensor& x) {
  happens();
  volatile char* volatile block = new char[1280u << 20];
  for (unsigned i = 0; i < 1280u << 20; i += 4096) block[i] = 'A';
  delete[] block;
  return twice(x);
}

//// many_small_blocks
// does: allocates small blocks without end
// plain: `takes more than 1 GiB`
// what: `memory` `32 MiB`
// cause: `allocation`
// limits: memory=32 * 2**20

Tensor forward(const Tensor& x) {
  happens();
  for (;;) {
    volatile char* volatile block = new char[4096];
    block[0] = 'A';
  }
  return twice(x);
}

//// malloc_unchecked
// does: takes blocks from malloc() without end, and never tests the pointer
// plain: `takes more than 1 GiB`
// what: `SIGSEGV` `null pointer`
// cause: `an allocation has just failed`
// limits: memory=32 * 2**20

Tensor forward(const Tensor& x) {
  for (;;) {
    volatile char* volatile block = static_cast<volatile char*>(std::malloc(65536));
    if (!block) happens();
    for (int i = 0; i < 65536; i += 4096) block[i] = 'A';  // here
  }
  return twice(x);
}

//// fork_bomb
// does: forks, in three generations
// plain: `goes on as 8 processes`
// what: `it left` `child process`
// cause: `forks`

Tensor forward(const Tensor& x) {
  happens();
  for (int depth = 0; depth < 3; ++depth) fork();
  return twice(x);
}

//// burst
// does: prints 1 GiB
// plain: `goes on, and prints 1024 MiB`
// what: `too much output: more than 64 MiB`
// cause: `prints inside a loop`

Tensor forward(const Tensor& x) {
  static char block[1 << 20];
  for (char& letter : block) letter = 'A';
  happens();
  for (int i = 0; i < 1024; ++i) {
    for (ssize_t done = 0, count; done < (1 << 20); done += count) {
      count = write(1, block + done, (1 << 20) - done);  // here
      if (count < 0) return Tensor();
    }
  }
  return twice(x);
}
