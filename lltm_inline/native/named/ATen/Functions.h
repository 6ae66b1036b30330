// In place of torch's, which includes each header of ATen/ops: those that a text names are included by the compiler's flags.
#pragma once
#include <ATen/core/Tensor.h>
