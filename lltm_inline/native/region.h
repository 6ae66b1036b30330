// The tensor around an address, as the guard knows it and the recorder writes it down. `layout.py` has the same structure.

#include <cstdint>

struct Region {
  char name[96], dtype[16];
  uint64_t base, nbytes, itemsize;
  int64_t ndim, shape[8];
};
