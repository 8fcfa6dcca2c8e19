// Formulas in the order of operations that gives the CPU's bits: those of core/ and of
// data/synthetic.cc. Nothing is fused but what says fma.

constexpr U64 kInfinityBits = 0x7ff0000000000000ULL;

DEVICE bool IsFinite(double value) {
  return (BitsOf(value) >> 52 & 0x7ff) != 0x7ff;
}

// Four floats that are loaded at once.
struct alignas(16) Four {
  float value[4];
};

// Of an angle up to 32768 (core/sincos-inl.h).
DEVICE void SineAndCosine(float angle, float& sine, float& cosine) {
  const float shifted = fmaf(angle, 0.636619772F, 0x1.8p23F);  // the quarter turns in the low bits
  const float quarter = shifted - 0x1.8p23F;
  const U32 bits = BitsOf(shifted);
  float r = fmaf(-quarter, 0x1.921fb6p+0F, angle);
  r = fmaf(-quarter, -0x1.777a5cp-25F, r);
  const float u = r * r;
  float s = fmaf(u, -1.9515295e-4F, 8.3321608e-3F);
  s = fmaf(u, s, -1.6666655e-1F);
  s = fmaf(u * r, s, r);
  float c = fmaf(u, 2.4438091e-5F, -1.3887365e-3F);
  c = fmaf(u, c, 4.1666647e-2F);
  c = fmaf(u, c, -0.5F);
  c = fmaf(u, c, 1.0F);
  const bool odd = (bits & 1) != 0;
  const U32 sign = bits << 30 & 0x80000000;
  sine = FloatOf(BitsOf(odd ? c : s) ^ sign);
  cosine = FloatOf(BitsOf(odd ? -s : c) ^ sign);
}

// exp(x) for x <= 0 (core/vector_ops.cc).
DEVICE double ExpOfNegative(double x) {
  if (!(x >= -708)) return 0;
  const double shifted = fma(x, 1.4426950408889634, 0x1.8p52);
  const double n = shifted - 0x1.8p52;
  double rest = fma(-n, 0x1.62e42feep-1, x);
  rest = fma(-n, 0x1.a39ef35793c76p-33, rest);
  double factorial = 6227020800;  // 13!
  double series = 1 / factorial;
  UNROLL
  for (int k = 13; k > 0; --k) {
    factorial /= k;
    series = fma(series, rest, 1 / factorial);
  }
  return DoubleOf(BitsOf(series) + (BitsOf(shifted) << 52));
}

// exp(x) for x <= 0 with the bits of the C library's: 2^(i / 128) from a table (exp_table.h), the
// rest by a polynomial of degree 5.
DEVICE double LibraryExp(const ExpEntry* table, double x) {
  if (!(x > -1024)) return x == x ? 0 : x;
  if (x > -0x1p-54) return 1 + x;
  const double shifted = fma(0x1.71547652b82fep7, x, 0x1.8p52);
  const U64 turns = BitsOf(shifted);
  const double n = shifted - 0x1.8p52;
  const double r = fma(n, -0x1.cf79abc9e3b39p-47, fma(n, -0x1.62e42fefa0000p-8, x));
  const ExpEntry entry = table[turns % 128];
  const U64 bits = entry.bits + (turns << 45);
  const double square = r * r;
  double tail = fma(square, fma(r, 0x1.555555555543cp-3, 0x1.ffffffffffdbdp-2), entry.tail + r);
  tail = fma(square * square, fma(r, 0x1.1111167a4d017p-7, 0x1.55555cf172b91p-5), tail);
  if (x > -512) return fma(DoubleOf(bits), tail, DoubleOf(bits));
  // The result may be below what doubles hold in full: one rounding, where it has its place.
  const double scale = DoubleOf(bits + (1022ULL << 52));
  const double more = scale * tail;
  double y = scale + more;
  if (y < 1) {
    const double lost = (scale - y) + more;
    const double high = 1 + y;
    y = (high + ((1 - high + y) + lost)) - 1;
  }
  return 0x1p-1022 * y;
}

// Eight partial sums, every eighth number to the same one, in pairs.
DEVICE double SumOfPartial(const double* partial) {
  const double p0 = partial[0] + partial[4];
  const double p1 = partial[1] + partial[5];
  const double p2 = partial[2] + partial[6];
  const double p3 = partial[3] + partial[7];
  return (p0 + p2) + (p1 + p3);
}

DEVICE double Clamp(double value, double least, double most) {
  return value < least ? least : most < value ? most : value;
}

// Squared loss, or Huber's (core/losses.cc).
DEVICE double LossValue(const FleetArguments& a, double f, double y) {
  const double error = f - y;
  if (!kHuberLoss) return error * error;
  const double size = fabs(error);
  return size <= a.huber ? error * error : a.huber * (2 * size - a.huber);
}
DEVICE double LossSlope(const FleetArguments& a, double f, double y) {
  const double error = f - y;
  return kHuberLoss ? 2 * Clamp(error, -a.huber, a.huber) : 2 * error;
}

// A float as a multiple of 2^-30, in two parts that are added up in 32 bits: multiples of 2^-7, and
// the rest. Adding leaves each part in the low bits; what it leaves in the others is taken away
// once for all terms.
struct RoundedSum {
  U32 coarse;
  U32 fine;
};
constexpr float kCoarseMagic = 98304.0F;   // 1.5 * 2^16
constexpr float kFineMagic = 0.01171875F;  // 1.5 * 2^-7
constexpr U32 kMostRoundedTerms = 256;     // 2^22 fine units each
DEVICE void AddRounded(float value, RoundedSum& sum) {
  const float coarse = value + kCoarseMagic;
  const float fine = (value - (coarse - kCoarseMagic)) + kFineMagic;
  sum.coarse += BitsOf(coarse);
  sum.fine += BitsOf(fine);
}
DEVICE I64 UnitsOf(const RoundedSum& sum, U32 terms) {
  const int coarse = static_cast<int>(sum.coarse - terms * BitsOf(kCoarseMagic));
  const int fine = static_cast<int>(sum.fine - terms * BitsOf(kFineMagic));
  return static_cast<I64>(coarse) * (1 << 23) + fine;
}

// To the nearest whole number, to the even one of two; of a size below 2^31, or not negative and
// below 2^51.
DEVICE int RoundedTo18(double value) {
  return static_cast<int>(BitsOf(value * 0x1p18 + 0x1.8p52));
}
DEVICE U64 WholeOf(double value) {
  return BitsOf(value + 0x1.8p52) & 0x7ffffffffffffULL;
}

// sim/fingerprint_internal.h
DEVICE U64 Mix(U64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
