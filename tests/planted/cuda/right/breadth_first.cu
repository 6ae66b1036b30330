// Breadth-first search, level by level: the host asks a flag after each launch whether there was anything to do.
// x = torch.zeros(30)
// y = torch.tensor([float(min(i, 30 - i)) for i in range(30)])
__global__ void level(const int* neighbour, int* depth, int* changed, int n, int now) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || depth[i] != now) return;
  for (int k = 0; k < 2; ++k) {
    const int other = neighbour[2 * i + k];
    if (atomicCAS(&depth[other], -1, now + 1) == -1) atomicExch(changed, 1);
  }
}
__global__ void neighbours(int* neighbour, int* depth, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    neighbour[2 * i] = (i + 1) % n;
    neighbour[2 * i + 1] = (i + n - 1) % n;
    depth[i] = i ? -1 : 0;
  }
}
at::Tensor run(const at::Tensor& x) {
  const int n = x.numel();
  int *neighbour, *depth, *changed, again = 1;
  cudaMalloc((void**)&neighbour, 2 * n * sizeof(int));
  cudaMalloc((void**)&depth, n * sizeof(int));
  cudaMalloc((void**)&changed, sizeof(int));
  neighbours<<<1, 32>>>(neighbour, depth, n);
  for (int now = 0; again; ++now) {
    cudaMemset(changed, 0, sizeof(int));
    level<<<(n + 7) / 8, 8>>>(neighbour, depth, changed, n, now);
    cudaMemcpy(&again, changed, sizeof(int), cudaMemcpyDeviceToHost);
  }
  std::vector<int> found(n);
  cudaMemcpy(found.data(), depth, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(neighbour), cudaFree(depth), cudaFree(changed);
  at::Tensor y = at::empty_like(x);
  for (int i = 0; i < n; ++i) y.data_ptr<float>()[i] = found[i];
  return y;
}
