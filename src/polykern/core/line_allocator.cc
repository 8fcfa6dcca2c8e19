#include "polykern/core/line_allocator.h"

#include <new>

#include <sys/mman.h>

namespace polykern {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Less than two huge pages are not worth rounding up.
std::align_val_t AlignmentOf(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kHugePage ? kHugePage : kLine};
}

}  // namespace

void* AllocateLines(std::size_t bytes) {
  void* const place = ::operator new(bytes, AlignmentOf(bytes));
#ifdef MADV_HUGEPAGE
  // Only whole huge pages: what lies beyond belongs to others. A system that has none says no, and
  // nothing is lost.
  if (bytes >= 2 * kHugePage) {
    static_cast<void>(::madvise(place, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
  }
#endif
  return place;
}

void FreeLines(void* place, std::size_t bytes) {
  ::operator delete(place, AlignmentOf(bytes));
}

}  // namespace polykern
