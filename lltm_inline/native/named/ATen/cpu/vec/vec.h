// In place of torch's: nothing for a text that does not speak of at::vec.
#pragma once
#ifdef NAMES_VEC
#include_next <ATen/cpu/vec/vec.h>
#endif
