// Cooperative groups within a block: the block, and tiles of a warp. Groups that span blocks are refused by the rewriter.
namespace cooperative_groups {

// A member that is one expression.
#define CUDA_CPU_MEMBER_(T, name, parameters, expression) \
  T name parameters const {                               \
    return expression;                                    \
  }

struct thread_block {
  CUDA_CPU_MEMBER_(void, sync, (CUDA_CPU_LINE_), __syncthreads(line))
  CUDA_CPU_MEMBER_(unsigned, thread_rank, (), cuda_cpu::index_in_block())
  CUDA_CPU_MEMBER_(unsigned, num_threads, (), blockDim.x* blockDim.y* blockDim.z)
  CUDA_CPU_MEMBER_(unsigned, size, (), num_threads())
  CUDA_CPU_MEMBER_(dim3, group_index, (), blockIdx)
  CUDA_CPU_MEMBER_(dim3, thread_index, (), threadIdx)
  CUDA_CPU_MEMBER_(dim3, dim_threads, (), blockDim)
  CUDA_CPU_MEMBER_(dim3, group_dim, (), blockDim)
};

inline thread_block this_thread_block() {
  return {};
}

template <unsigned kSize>
struct Tile {
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  CUDA_CPU_MEMBER_(unsigned, first, (), cuda_cpu::index_in_block() % 32 / kSize * kSize)
  CUDA_CPU_MEMBER_(unsigned, mask, (), (kSize == 32 ? ~0u : (1u << kSize % 32) - 1) << first())
  CUDA_CPU_MEMBER_(unsigned, thread_rank, (), cuda_cpu::index_in_block() % 32 % kSize)
  static constexpr unsigned num_threads() {
    return kSize;
  }
  static constexpr unsigned size() {
    return kSize;
  }
  CUDA_CPU_MEMBER_(unsigned, meta_group_rank, (), cuda_cpu::index_in_block() / kSize)
  CUDA_CPU_MEMBER_(unsigned, meta_group_size, (), (thread_block().size() + kSize - 1) / kSize)
  CUDA_CPU_MEMBER_(void, sync, (CUDA_CPU_LINE_), __syncwarp(mask(), line))
  template <class T>
  CUDA_CPU_MEMBER_(T, shfl, (T value, int from, CUDA_CPU_LINE_), __shfl_sync(mask(), value, from, kSize, line))
  template <class T>
  CUDA_CPU_MEMBER_(T, shfl_up, (T value, unsigned by, CUDA_CPU_LINE_), __shfl_up_sync(mask(), value, by, kSize, line))
  template <class T>
  CUDA_CPU_MEMBER_(T, shfl_down, (T value, unsigned by, CUDA_CPU_LINE_), __shfl_down_sync(mask(), value, by, kSize, line))
  template <class T>
  CUDA_CPU_MEMBER_(T, shfl_xor, (T value, int with, CUDA_CPU_LINE_), __shfl_xor_sync(mask(), value, with, kSize, line))
  CUDA_CPU_MEMBER_(unsigned, ballot, (int predicate, CUDA_CPU_LINE_), __ballot_sync(mask(), predicate, line) >> first())
      CUDA_CPU_MEMBER_(int, any, (int predicate, CUDA_CPU_LINE_), __any_sync(mask(), predicate, line))
          CUDA_CPU_MEMBER_(int, all, (int predicate, CUDA_CPU_LINE_), __all_sync(mask(), predicate, line))
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

#define CUDA_CPU_JOIN_(name, expression)                    \
  template <class T>                                        \
  struct name {                                             \
    CUDA_CPU_MEMBER_(T, operator(), (T a, T b), expression) \
  };
CUDA_CPU_JOIN_(plus, a + b)
CUDA_CPU_JOIN_(less, a < b ? a : b)
CUDA_CPU_JOIN_(greater, a < b ? b : a)
#undef CUDA_CPU_JOIN_
#undef CUDA_CPU_MEMBER_

template <unsigned kSize, class T, class Join>
T reduce(const Tile<kSize>& tile, T value, Join join, CUDA_CPU_LINE_) {
  for (unsigned with = kSize / 2; with > 0; with /= 2) value = join(value, tile.shfl_xor(value, with, line));
  return value;
}

}  // namespace cooperative_groups
