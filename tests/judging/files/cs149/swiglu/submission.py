# verdict: right
# says: rows=
import torch
from torch.utils.cpp_extension import load_inline

swiglu = load_inline(
    name="swiglu",
    cpp_sources="",
    cuda_sources=r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void swiglu_kernel(const float* x, const float* gate, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = x[i] * gate[i] / (1.0f + __expf(-gate[i]));
}
torch::Tensor swiglu(torch::Tensor x, torch::Tensor gate) {
    auto out = torch::empty_like(x);
    auto stream = c10::cuda::getCurrentCUDAStream();
    swiglu_kernel<<<16, 128, 0, stream>>>(
        x.data_ptr<float>(), gate.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("swiglu", &swiglu, "SwiGLU", py::arg("x"), py::arg("gate"));
}
""",
    functions=None,
)


def custom_kernel(data):
    x, gate = data
    return swiglu.swiglu(x=x, gate=gate)
