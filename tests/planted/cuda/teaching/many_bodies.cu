// Bodies that attract each other: each thread has a body, each block walks over all others tile by tile.
// After L. Nyland, M. Harris, J. Prins, "Fast N-body simulation with CUDA", GPU Gems 3, chapter 31, 2007.
// x = torch.rand(96, 4)
// y = (lambda d: (x[None, :, 3:] * d / ((d * d).sum(-1, keepdim=True) + 0.01) ** 1.5).sum(1))(x[None, :, :3] - x[:, None, :3])
constexpr float kSoftening2 = 0.01f;
__device__ float3 interact(float4 me, float4 other, float3 a) {
  const float3 r = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
  const float distance2 = r.x * r.x + r.y * r.y + r.z * r.z + kSoftening2;
  const float inverse = rsqrtf(distance2 * distance2 * distance2);
  const float s = other.w * inverse;
  a.x += r.x * s;
  a.y += r.y * s;
  a.z += r.z * s;
  return a;
}
__device__ float3 interact_with_tile(float4 me, float3 a) {
  extern __shared__ float4 tile[];
#pragma unroll 4
  for (int i = 0; i < blockDim.x; ++i) a = interact(me, tile[i], a);
  return a;
}
__global__ void accelerations(const float4* bodies, float* out, int n) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = bodies[i];
  float3 a = {0.0f, 0.0f, 0.0f};
  for (int begin = 0; begin < n; begin += blockDim.x) {
    tile[threadIdx.x] = bodies[begin + threadIdx.x];
    __syncthreads();
    a = interact_with_tile(me, a);
    __syncthreads();
  }
  out[3 * i] = a.x;
  out[3 * i + 1] = a.y;
  out[3 * i + 2] = a.z;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty({x.size(0), 3}, x.options());
  const int threads = 32, n = x.size(0);
  accelerations<<<n / threads, threads, threads * sizeof(float4)>>>(
      reinterpret_cast<const float4*>(x.data_ptr<float>()), y.data_ptr<float>(), n);
  return y;
}
