#include <torch/extension.h>

__global__ void twice_kernel(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}

torch::Tensor twice(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    int n = x.numel();
    if (n > 0) twice_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
