// Before a text that is followed: its subscripts tell which element they are of, and by what type an index of a pointer is
// computed.

#include <cstddef>
#include <cstdint>
#include <type_traits>

extern "C" __attribute__((visibility("hidden"))) void follow_index(
    unsigned number, const volatile void* first, size_t element, char letter, int64_t count, int64_t index, bool is_narrow,
    bool is_signed, bool by_source);

// These are called at each subscript, and so part of what calls them, whatever the compiler is told of that.
#define FOLLOWED [[gnu::always_inline]] inline

namespace followed {

// A type as Python's `struct` has it; 0 for one that is no number.
template <class T>
constexpr char letter_of() {
  if constexpr (std::is_same_v<T, bool>) return '?';
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? 'f' : sizeof(T) == 8 ? 'd' : 0;
  if constexpr (std::is_integral_v<T>) return (std::is_signed_v<T> ? "bhiq" : "BHIQ")[__builtin_ctzll(sizeof(T))];
  return 0;
}

// Where the elements of a pointer, an array or a vector begin; of others nobody knows.
template <class T>
FOLLOWED T* begin_of(T* const& pointer, int) {
  return pointer;
}
template <class Base>
FOLLOWED auto begin_of(const Base& base, int) -> decltype(&*base.data()) {
  return base.data();
}
template <class Base>
FOLLOWED const char* begin_of(const Base&, long) {
  return nullptr;
}

// How many elements an array, a vector or an axis of an accessor has; -1 of others, and of a string, which has one more to
// read.
template <class Base>
FOLLOWED auto count_of(const Base& base, int) -> decltype(&*base.data(), int64_t(base.size())) {
  return std::is_same_v<std::remove_cv_t<std::remove_reference_t<decltype(*base.data())>>, char> ? -1 : int64_t(base.size());
}
template <class Base>
FOLLOWED auto count_of(const Base& base, int) -> decltype(&*base.data(), base.stride(0), int64_t(base.size(0))) {
  return int64_t(base.size(0));
}
template <class Base>
FOLLOWED int64_t count_of(const Base&, long) {
  return -1;
}

// Of an address alone, which may be that of the element past the last one, the number of elements is not asked for.
template <class Source, bool is_element = true, class Base, class I>
FOLLOWED constexpr I&& index(unsigned number, const Base& base, I&& i) {
  using Index = std::remove_cv_t<std::remove_reference_t<I>>;
  using By = std::remove_cv_t<std::remove_reference_t<Source>>;
  if (__builtin_is_constant_evaluated()) return static_cast<I&&>(i);
  if constexpr (std::is_integral_v<Index>) {
    constexpr bool by_source = std::is_integral_v<By> && sizeof(By) < sizeof(Index);
    using Narrow = std::conditional_t<by_source, By, Index>;
    constexpr bool is_narrow = std::is_pointer_v<Base> && sizeof(Narrow) == 4;
    const auto first = begin_of(base, 0);
    constexpr char letter = letter_of<std::remove_cv_t<std::remove_reference_t<decltype(*first)>>>();
    constexpr bool is_signed = std::is_signed_v<Narrow>;
    const int64_t count = is_element ? count_of(base, 0) : -1;
    follow_index(number, first, sizeof(*first), letter, count, int64_t(i), is_narrow, is_signed, by_source);
  }
  return static_cast<I&&>(i);
}

// Of what has no name to begin with, or is an array.
template <class I>
FOLLOWED constexpr I&& at(unsigned number, I&& i) {
  if (__builtin_is_constant_evaluated()) return static_cast<I&&>(i);
  if constexpr (std::is_integral_v<std::remove_cv_t<std::remove_reference_t<I>>>)
    follow_index(number, nullptr, 0, 0, -1, int64_t(i), false, false, false);
  return static_cast<I&&>(i);
}

}  // namespace followed
#undef FOLLOWED
