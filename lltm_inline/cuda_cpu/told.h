// What the rewriter tells check mode: the names of tensors, shared arrays and variables, and which tensors nobody has written.
#ifdef CUDA_CPU_CHECK
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
void remember_tensor(const at::TensorBase& tensor, const char* name, bool is_argument);

// A tensor from which the text takes a pointer or an accessor.
template <class T>
T&& named(T&& value, const char* name) {
  if constexpr (std::is_convertible_v<const std::remove_reference_t<T>&, const at::TensorBase&>) {
    remember_tensor(value, name, false);
  }
  return static_cast<T&&>(value);
}

[[noreturn]] __attribute__((noinline)) CUDA_CPU_PLAIN void off_axis(
    size_t axes_left, int64_t index, int64_t size, const void* data);

// An accessor, or what is left of it when some axes have their index: one index too large is told although there is memory.
template <class Base, class T, size_t N, template <class> class P, class I>
struct OnAxis : Base {
  OnAxis(const Base& base) : Base(base) {}
  using Less = OnAxis<at::TensorAccessor<T, N - (N > 1), P, I>, T, N - (N > 1), P, I>;
  using Value = std::conditional_t<N == 1, T&, Less>;
  using ConstValue = std::conditional_t<N == 1, const T&, const Less>;

  __attribute__((always_inline)) inline Value operator[](I i) {
    if (i < 0 || i >= this->size(0)) off_axis(N, i, this->size(0), this->data());
    return Base::operator[](i);
  }
  __attribute__((always_inline)) inline ConstValue operator[](I i) const {
    if (i < 0 || i >= this->size(0)) off_axis(N, i, this->size(0), this->data());
    return Base::operator[](i);
  }
};
template <class T, size_t N, template <class> class P = at::DefaultPtrTraits, class I = int64_t>
using Accessor = OnAxis<at::GenericPackedTensorAccessor<T, N, P, I>, T, N, P, I>;

// A tensor of which the text takes an accessor.
struct WithAccessors {
  const at::TensorBase& tensor;

  template <class T, size_t N, template <class> class P = at::DefaultPtrTraits>
  Accessor<T, N, P, int32_t> packed_accessor32() const {
    return tensor.packed_accessor32<T, N, P>();
  }
  template <class T, size_t N, template <class> class P = at::DefaultPtrTraits>
  Accessor<T, N, P> packed_accessor64() const {
    return tensor.packed_accessor64<T, N, P>();
  }
  template <class T, size_t N, template <class> class P = at::DefaultPtrTraits, class I = int64_t>
  Accessor<T, N, P, I> generic_packed_accessor() const {
    return tensor.generic_packed_accessor<T, N, P, I>();
  }
};

inline WithAccessors with_accessors(const at::TensorBase& tensor, const char* name) {
  remember_tensor(tensor, name, false);
  return {tensor};
}

void mark_unwritten(const at::TensorBase& tensor);

// A tensor of at::empty: whoever reads it before it is written is told, and so is who returns it then.
template <class T>
T unwritten(T tensor) {
  mark_unwritten(tensor);
  return tensor;
}

struct Named {
  const char* name;
  const at::TensorBase* tensor;
};

// A call of a function of the text that takes tensors: their names there are those that the caller knows.
class Call {
 public:
  Call(const char* function, std::initializer_list<Named> arguments);
  Call(const Call&) = delete;
  ~Call();
};

// A shared array or a variable, and how many elements each of its axes has.
struct Array {
  const char *name, *begin;
  size_t bytes, element;
  const int64_t* sizes;
  size_t axes;
  char letter;  // see kLetter
};

template <class T, size_t... kAxis>
CUDA_CPU_PLAIN Array array_of(const char* name, const T& array, std::index_sequence<kAxis...>) {
  static constexpr int64_t sizes[] = {int64_t(std::extent_v<T, kAxis>)..., 0};
  using Element = std::remove_cv_t<std::remove_all_extents_t<T>>;
  return {name, (const char*)&array, sizeof(T), sizeof(Element), sizes, sizeof...(kAxis), kLetter<Element>};
}

CUDA_CPU_PLAIN void remember_shared(const Array& array, Lane* self);
void remember_variable(const Array& array);
void remember_shared_of_file(void (*declare)());

template <class T>
CUDA_CPU_PLAIN void declare_shared(const char* name, const T& array) {
  const OffDevice off;
  remember_shared(array_of(name, array, std::make_index_sequence<std::rank_v<T>>()), off.self);
}

#ifndef CUDA_CPU_COUNT
// Indices of 32 bits. That one of them is wrong beyond 2^31 elements is proven without such a tensor: the compiler says by
// which type it is computed, and the launches of a check, of many sizes, that it reaches the last element of a tensor which
// begins where the pointer does and is the largest of the launch. So it would have to be more than its type holds.
// To run the last blocks of a huge grid instead, what the host's code does with huge tensors before the launch would have
// to be run, too, and be left out of the way: copies, zeros and sums take all the gigabytes.
void note_index(unsigned number, const volatile void* base, size_t element, int64_t index, bool is_signed, bool by_source);
void note_array(unsigned number);

template <class Source, class Base, class I>
CUDA_CPU_PLAIN constexpr I index(unsigned number, const Base& base, I i) {
  if (__builtin_is_constant_evaluated()) return i;
  if constexpr (!std::is_pointer_v<Base>) {
    note_array(number);
  } else if constexpr (std::is_integral_v<I>) {
    using By = std::remove_cvref_t<Source>;
    constexpr bool by_source = std::is_integral_v<By> && sizeof(By) < sizeof(I);
    using Narrow = std::conditional_t<by_source, By, I>;
    if constexpr (sizeof(Narrow) == 4) note_index(number, base, sizeof(*base), int64_t(i), std::is_signed_v<Narrow>, by_source);
  }
  return i;
}
template <class I>
CUDA_CPU_PLAIN constexpr I index_of_array(unsigned number, I i) {
  if (!__builtin_is_constant_evaluated()) note_array(number);
  return i;
}

struct Subscripts {
  Subscripts(std::initializer_list<Subscript> all);
};
#endif

struct SharedOfFile {
  explicit SharedOfFile(void (*declare)()) {
    remember_shared_of_file(declare);
  }
};

struct Variable {
  template <class T>
  Variable(const char* name, const T& variable) {
    remember_variable(array_of(name, variable, std::make_index_sequence<std::rank_v<T>>()));
  }
};

template <class T, size_t N, template <class> class P = at::DefaultPtrTraits>
using Accessor32 = Accessor<T, N, P, int32_t>;

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
#endif
