// Streams and events around a launch, each call checked.
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
  CHECKED(cudaEventDestroy(begin));
  CHECKED(cudaEventDestroy(end));
  CHECKED(cudaStreamSynchronize(stream));
  CHECKED(cudaStreamDestroy(stream));
  return y;
}
