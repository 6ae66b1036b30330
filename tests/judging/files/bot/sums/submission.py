# verdict: wrong
# says: check_implementation
import torch
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cuda_fp16.h>
template <typename scalar_t>
__global__ void add_kernel(const scalar_t* a, const scalar_t* b, scalar_t* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] - b[i];
}
torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    const int n = a.numel();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(a.scalar_type(), "add", [&] {
        add_kernel<scalar_t><<<(n + 255) / 256, 256>>>(
            a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), c.data_ptr<scalar_t>(), n);
    });
    return c;
}
"""

module = load_inline(
    "add_ext",
    ["torch::Tensor add(torch::Tensor a, torch::Tensor b);"],
    [CUDA],
    functions=["add"],
    verbose=True,
)


def custom_kernel(data: input_t) -> output_t:
    a, b = data
    assert a.is_cuda and b.device.type == "cuda"
    return module.add(a, b)
