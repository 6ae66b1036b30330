// In place of torch's, which brings IValue. Nothing here is defined anywhere, and no object can be made: what uses a list does not
// compile, or does not link, as by their tags the functions have other names than those that torch's libraries know.
#pragma once
#include <cstddef>
#include <iterator>

namespace at {
class Tensor;
}

namespace c10 {

struct BoxedElement {
  BoxedElement() = delete;
  ~BoxedElement() = delete;
  const BoxedElement& get() const;
  bool isNone() const;
  const at::Tensor& toTensor() const;
  template <class T>
  operator T() const;
};

template <class T>
class List {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using internal_const_reference_type = const T&;
  struct iterator {
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    const BoxedElement& operator*() const;
    iterator& operator++();
    iterator operator++(int);
    iterator& operator--();
    iterator operator--(int);
    bool operator==(const iterator&) const;
    bool operator!=(const iterator&) const;
    difference_type operator-(const iterator&) const;
  };
  using const_iterator = iterator;

  List() = delete;
  List(const List&) = delete;
  ~List() = delete;
  [[gnu::abi_tag("declared_alone")]] iterator begin() const;
  [[gnu::abi_tag("declared_alone")]] iterator end() const;
  [[gnu::abi_tag("declared_alone")]] std::size_t size() const;
  [[gnu::abi_tag("declared_alone")]] bool empty() const;
  [[gnu::abi_tag("declared_alone")]] T get(std::size_t) const;
  [[gnu::abi_tag("declared_alone")]] const T& operator[](std::size_t) const;
};

}  // namespace c10
