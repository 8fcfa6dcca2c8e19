#pragma once

#include <cstddef>

namespace polykern {

/// Memory that begins at a line of the cache. From 4 MiB on it begins at a huge page, and the
/// system is asked to use such pages: loops that walk through it then miss the processor's table of
/// pages less often. Fails with std::bad_alloc.
void* AllocateLines(std::size_t bytes);
void FreeLines(void* place, std::size_t bytes);  ///< with the bytes that were asked for

/// For vectors that begin at a line of the cache, so that no wide load or store lies across two.
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}  // NOLINT(google-explicit-constructor): it has no state

  T* allocate(std::size_t count) { return static_cast<T*>(AllocateLines(count * sizeof(T))); }
  void deallocate(T* place, std::size_t count) { FreeLines(place, count * sizeof(T)); }
  bool operator==(const LineAllocator&) const = default;
};

}  // namespace polykern
