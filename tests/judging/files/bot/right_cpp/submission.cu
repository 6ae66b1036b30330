// verdict: right
// says: columns=173
#include <torch/extension.h>

__global__ void row_sums(const float* x, float* out, int columns) {
    __shared__ float part[128];
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

torch::Tensor custom_kernel(torch::Tensor x, torch::Tensor out) {
    row_sums<<<x.size(0), 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
