# verdict: right
# says: width 512 ->
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cublas_v2.h>

__global__ void pool_kernel(const float* x, float* y, int planes, int h, int w, int oh, int ow, int k, int s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * oh * ow) return;
    int column = i % ow, row = i / ow % oh, plane = i / (ow * oh);
    float best = -INFINITY;
    for (int a = 0; a < k; ++a)
        for (int b = 0; b < k; ++b) best = fmaxf(best, x[(plane * h + row * s + a) * w + column * s + b]);
    y[i] = best;
}

torch::Tensor pool(torch::Tensor x, int k, int s) {
    const int h = x.size(2), w = x.size(3), oh = (h - k) / s + 1, ow = (w - k) / s + 1;
    auto y = torch::empty({x.size(0), x.size(1), oh, ow}, x.options());
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    pool_kernel<<<(y.numel() + 127) / 128, 128, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0) * x.size(1), h, w, oh, ow, k, s);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return y;
}
"""
ext = load_inline(
    name="pool",
    cpp_sources="torch::Tensor pool(torch::Tensor x, int k, int s);",
    cuda_sources=source,
    functions=["pool"],
    extra_ldflags=["-lcublas"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, x):
        return ext.pool(x, self.kernel_size, self.stride)
