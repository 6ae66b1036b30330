// In place of torch's: what <torch/types.h> makes of a fresh tensor, without the graph of autograd.
#pragma once
#include <ATen/core/Tensor.h>

namespace torch::autograd {

inline at::Tensor make_variable(at::Tensor data, bool requires_grad = false, bool allow_tensor_metadata_change = true) {
  data.unsafeGetTensorImpl()->set_allow_tensor_metadata_change(allow_tensor_metadata_change);
  if (requires_grad) data.set_requires_grad(true);
  return data;
}

}  // namespace torch::autograd
