// Cooperative groups: a tile of a warp sums, one atomic a tile.
// x = torch.ones(300)
// y = x.sum()[None]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ float tile_sum(cg::thread_block_tile<32> tile, float v) {
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
  return v;
}
__global__ void total(const float* x, float* out, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + block.thread_rank(); i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = tile_sum(tile, v);
  cg::sync(block);
  if (tile.thread_rank() == 0) atomicAdd(out, v);
}
at::Tensor run(const at::Tensor& x) {
  auto out = at::zeros({1}, x.options());
  total<<<2, 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  return out;
}
