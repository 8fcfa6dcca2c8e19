// What functions that are dispatched to begin with, for the target that is being compiled.
// Included once per target, after hwy/highway.h.

#if defined(POLYKERN_CORE_CLEAN_UPPERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_CLEAN_UPPERS_INL_H
#undef POLYKERN_CORE_CLEAN_UPPERS_INL_H
#else
#define POLYKERN_CORE_CLEAN_UPPERS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {

/// Zeroes the upper halves of the vector registers where a function ends. Many Intel CPUs take ten
/// times as long for ordinary floating-point code while these hold something, and the compiler does
/// not zero them on every way out of a function: without optimisation never.
struct CleanUppers {
  CleanUppers() = default;
  CleanUppers(const CleanUppers&) = delete;
  CleanUppers& operator=(const CleanUppers&) = delete;
  HWY_INLINE ~CleanUppers() {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    _mm256_zeroupper();
#endif
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
