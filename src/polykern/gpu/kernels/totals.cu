// Sums over clients without an order: core/double_sum.h, first in a block, then over all blocks.

// Nearly every number that is added up has its bits in these words; what has not goes to the
// device's memory by itself.
constexpr U32 kWindowStart = 30;  // 2^-114
constexpr U32 kWindow = 5;

DEVICE void AddDouble(double value, U64* window, U64* words) {
  const U64 bits = BitsOf(value);
  const U32 exponent = static_cast<U32>(bits >> 52 & 0x7ff);
  U64 mantissa = bits & 0xfffffffffffffULL;
  if (exponent == 0x7ff) {
    AddTo(words + kSumWords - 1, 1);
    return;
  }
  if (exponent > 0) mantissa |= 0x10000000000000ULL;
  if (mantissa == 0) return;
  const U32 place = exponent > 0 ? exponent - 1 : 0;
  const U32 shift = place % 32;
  const U64 low = (mantissa & 0xffffffff) << shift;
  const U64 high = (mantissa >> 32) << shift;
  U64 digit[3] = {low & 0xffffffff, (low >> 32) + (high & 0xffffffff), high >> 32};
  if (bits >> 63 != 0) {
    UNROLL
    for (U32 i = 0; i < 3; ++i) digit[i] = 0 - digit[i];
  }
  const U32 word = place / 32;
  if (word >= kWindowStart && word + 3 <= kWindowStart + kWindow) {
    UNROLL
    for (U32 i = 0; i < kWindow; ++i) {
      UNROLL
      for (U32 d = 0; d < 3; ++d) {
        if (word + d == kWindowStart + i) window[i] += digit[d];
      }
    }
  } else {
    UNROLL
    for (U32 i = 0; i < 3; ++i) AddTo(words + word + i, digit[i]);
  }
}

// Adds up what all threads of a block have in a table, columns x kThreads: the sums are those of
// thread 0.
#define SUM_OVER_BLOCK(table, columns)                               \
  for (U32 half = kThreads / 2; half > 0; half /= 2) {               \
    BARRIER;                                                         \
    THREADS(t) {                                                     \
      if (t < half) {                                                \
        for (U32 w = 0; w < (columns); ++w)                          \
          table[w * kThreads + t] += table[w * kThreads + t + half]; \
      }                                                              \
    }                                                                \
  }                                                                  \
  BARRIER
