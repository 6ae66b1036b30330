# verdict: right
# says: size=597
import torch
from task import input_t, output_t
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void scan(const float* x, float* y, int n) {
    __shared__ float part[128];
    float carry = 0.f;
    for (int begin = 0; begin < n; begin += 128) {
        const int i = begin + threadIdx.x;
        part[threadIdx.x] = i < n ? x[i] : 0.f;
        __syncthreads();
        for (int step = 1; step < 128; step *= 2) {
            const float before = threadIdx.x >= step ? part[threadIdx.x - step] : 0.f;
            __syncthreads();
            part[threadIdx.x] += before;
            __syncthreads();
        }
        if (i < n) y[i] = carry + part[threadIdx.x];
        carry += part[127];
        __syncthreads();
    }
}
void run(torch::Tensor x, torch::Tensor y) {
    scan<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", run, py::arg("x"), py::arg("y")); }
"""

module = load_inline("scan_ext", "", [CUDA])


def custom_kernel(data: input_t) -> output_t:
    x, y = data
    module.run(x=x, y=y)
    return y
