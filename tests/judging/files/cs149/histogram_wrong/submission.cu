// verdict: wrong
// says: race
#include <cuda_runtime.h>

__global__ void count_kernel(const int* data, int* histogram, int length, int channels, int bins) {
    const int channel = blockIdx.x;
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) local[data[i * channels + channel]] += 1;
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) histogram[channel * bins + i] = local[i];
}

torch::Tensor histogram_kernel(torch::Tensor data, int num_bins) {
    TORCH_CHECK(data.device().is_cuda(), "data must be a CUDA tensor");
    const int length = data.size(0), channels = data.size(1);
    auto options = torch::TensorOptions().dtype(torch::kInt32).device(data.device());
    auto histogram = torch::zeros({channels, num_bins}, options);
    count_kernel<<<channels, 64, num_bins * sizeof(int)>>>(
        data.data_ptr<int>(), histogram.data_ptr<int>(), length, channels, num_bins);
    cudaDeviceSynchronize();
    return histogram;
}
