// Before a text that is followed: its subscripts tell by what type an index of a pointer is computed, and how far it reaches.

#include <cstddef>
#include <cstdint>
#include <type_traits>

extern "C" __attribute__((visibility("hidden"))) void follow_index(
    unsigned number, const volatile void* base, size_t element, int64_t index, bool is_signed, bool by_source);

namespace followed {

template <class Source, class Base, class I>
constexpr I&& index(unsigned number, const Base& base, I&& i) {
  using Index = std::remove_cv_t<std::remove_reference_t<I>>;
  using By = std::remove_cv_t<std::remove_reference_t<Source>>;
  if (__builtin_is_constant_evaluated()) return static_cast<I&&>(i);
  if constexpr (std::is_pointer_v<Base> && std::is_integral_v<Index>) {
    constexpr bool by_source = std::is_integral_v<By> && sizeof(By) < sizeof(Index);
    using Narrow = std::conditional_t<by_source, By, Index>;
    if constexpr (sizeof(Narrow) == 4) {
      follow_index(number, base, sizeof(*base), int64_t(i), std::is_signed_v<Narrow>, by_source);
    }
  }
  return static_cast<I&&>(i);
}

}  // namespace followed
