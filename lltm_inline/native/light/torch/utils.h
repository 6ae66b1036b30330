// In place of torch's: without profiler. Its names are at's, and those are in <torch/types.h>.
#pragma once
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/types.h>
