// Streams and events around a launch, each call checked, and what the device is asked for.
// x = torch.randn(33)
// y = x + 1
#define CHECKED(call)                                                              \
  do {                                                                             \
    cudaError_t failed = (call);                                                   \
    TORCH_CHECK(failed == cudaSuccess, cudaGetErrorString(failed));                \
  } while (0)
__global__ void increase(float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) ++y[i];
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = x.clone();
  cudaDeviceProp device;
  int count = 0, shared = 0, threads = 0;
  CHECKED(cudaGetDeviceCount(&count));
  CHECKED(cudaGetDeviceProperties(&device, 0));
  CHECKED(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  CHECKED(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxBlockDimY, 0));
  TORCH_CHECK(count > 0 && shared == 48 * 1024 && shared == int(device.sharedMemPerBlock));
  TORCH_CHECK(device.warpSize == 32 && threads == device.maxThreadsPerBlock && device.multiProcessorCount > 0);
  cudaStream_t stream;
  cudaEvent_t begin, end;
  float ms = -1;
  CHECKED(cudaStreamCreate(&stream));
  CHECKED(cudaEventCreate(&begin));
  CHECKED(cudaEventCreate(&end));
  CHECKED(cudaEventRecord(begin, stream));
  increase<<<1, 8, 0, stream>>>(y.data_ptr<float>(), 33);
  CHECKED(cudaGetLastError());
  CHECKED(cudaEventRecord(end, stream));
  CHECKED(cudaEventSynchronize(end));
  CHECKED(cudaEventElapsedTime(&ms, begin, end));
  TORCH_CHECK(ms >= 0);
  cudaStream_t other;
  int least = 1, greatest = 1;
  float* more;
  CHECKED(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECKED(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECKED(cudaStreamDestroy(other));
  CHECKED(cudaStreamCreateWithPriority(&other, cudaStreamDefault, greatest));
  CHECKED(cudaStreamWaitEvent(other, end, 0));
  CHECKED(cudaMallocAsync(&more, 33 * sizeof(float), other));
  CHECKED(cudaMemsetAsync(more, 0, 33 * sizeof(float), other));
  CHECKED(cudaFreeAsync(more, other));
  CHECKED(cudaStreamQuery(other));
  CHECKED(cudaStreamDestroy(other));
  CHECKED(cudaEventDestroy(begin));
  CHECKED(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming));
  CHECKED(cudaEventRecord(begin));
  CHECKED(cudaEventQuery(begin));
  CHECKED(cudaEventDestroy(begin));
  CHECKED(cudaFuncSetCacheConfig(increase, cudaFuncCachePreferL1));
  CHECKED(cudaEventDestroy(end));
  CHECKED(cudaStreamSynchronize(stream));
  CHECKED(cudaStreamDestroy(stream));
  return y;
}
