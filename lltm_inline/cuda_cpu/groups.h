// Cooperative groups within a block: the block, and tiles of a warp. Groups that span blocks are refused by the rewriter.
namespace cooperative_groups {

struct thread_block {
  void sync(CUDA_CPU_LINE_) const {
    __syncthreads(line);
  }
  unsigned thread_rank() const {
    return cuda_cpu::index_in_block();
  }
  unsigned num_threads() const {
    return blockDim.x * blockDim.y * blockDim.z;
  }
  unsigned size() const {
    return num_threads();
  }
  dim3 group_index() const {
    return blockIdx;
  }
  dim3 thread_index() const {
    return threadIdx;
  }
  dim3 dim_threads() const {
    return blockDim;
  }
  dim3 group_dim() const {
    return blockDim;
  }
};

inline thread_block this_thread_block() {
  return {};
}

template <unsigned kSize>
struct Tile {
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  unsigned first() const {
    return cuda_cpu::index_in_block() % 32 / kSize * kSize;
  }
  unsigned mask() const {
    return (kSize == 32 ? ~0u : (1u << kSize % 32) - 1) << first();
  }
  unsigned thread_rank() const {
    return cuda_cpu::index_in_block() % 32 % kSize;
  }
  static constexpr unsigned num_threads() {
    return kSize;
  }
  static constexpr unsigned size() {
    return kSize;
  }
  unsigned meta_group_rank() const {
    return cuda_cpu::index_in_block() / kSize;
  }
  unsigned meta_group_size() const {
    return (thread_block().size() + kSize - 1) / kSize;
  }
  void sync(CUDA_CPU_LINE_) const {
    __syncwarp(mask(), line);
  }
  template <class T>
  T shfl(T value, int from, CUDA_CPU_LINE_) const {
    return __shfl_sync(mask(), value, from, kSize, line);
  }
  template <class T>
  T shfl_up(T value, unsigned by, CUDA_CPU_LINE_) const {
    return __shfl_up_sync(mask(), value, by, kSize, line);
  }
  template <class T>
  T shfl_down(T value, unsigned by, CUDA_CPU_LINE_) const {
    return __shfl_down_sync(mask(), value, by, kSize, line);
  }
  template <class T>
  T shfl_xor(T value, int with, CUDA_CPU_LINE_) const {
    return __shfl_xor_sync(mask(), value, with, kSize, line);
  }
  unsigned ballot(int predicate, CUDA_CPU_LINE_) const {
    return __ballot_sync(mask(), predicate, line) >> first();
  }
  int any(int predicate, CUDA_CPU_LINE_) const {
    return __any_sync(mask(), predicate, line);
  }
  int all(int predicate, CUDA_CPU_LINE_) const {
    return __all_sync(mask(), predicate, line);
  }
};

template <unsigned kSize, class Parent = void>
using thread_block_tile = Tile<kSize>;

template <unsigned kSize, class Parent>
Tile<kSize> tiled_partition(const Parent&) {
  return {};
}

template <class Group>
void sync(const Group& group, CUDA_CPU_LINE_) {
  group.sync(line);
}

#define CUDA_CPU_JOIN_(name, expression) \
  template <class T>                     \
  struct name {                          \
    T operator()(T a, T b) const {       \
      return expression;                 \
    }                                    \
  };
CUDA_CPU_JOIN_(plus, a + b)
CUDA_CPU_JOIN_(less, a < b ? a : b)
CUDA_CPU_JOIN_(greater, a < b ? b : a)
#undef CUDA_CPU_JOIN_

template <unsigned kSize, class T, class Join>
T reduce(const Tile<kSize>& tile, T value, Join join, CUDA_CPU_LINE_) {
  for (unsigned with = kSize / 2; with > 0; with /= 2) value = join(value, tile.shfl_xor(value, with, line));
  return value;
}

}  // namespace cooperative_groups
