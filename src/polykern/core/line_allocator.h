#pragma once

#include <cstddef>
#include <new>

namespace polykern {

/// For vectors that begin at a line of the cache, so that no wide load or store lies across two.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}  // NOLINT(google-explicit-constructor): it has no state

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* place, std::size_t) { ::operator delete(place, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

}  // namespace polykern
