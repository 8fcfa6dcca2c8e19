// core/random.cc: Philox4x64-10 in counter mode, and what is made of its bits.

// Purpose (core/random.h).
constexpr U64 kForSubset = 2;
constexpr U64 kForSample = 5;
constexpr U64 kForParticipation = 6;

struct RandomNumbers {
  U64 counter;
  U64 purpose;
  U64 first;
  U64 second;
  U64 seed;
  U64 block[4];
  int used;
};

DEVICE RandomNumbers RandomFor(U64 seed, U64 purpose, U64 first, U64 second) {
  return {0, purpose, first, second, seed, {0, 0, 0, 0}, 4};
}

DEVICE void NextBlock(RandomNumbers& r) {
  U64 c0 = r.counter;
  U64 c1 = r.second;
  U64 c2 = r.first;
  U64 c3 = r.purpose;
  U64 k0 = r.seed;
  U64 k1 = 0;
  UNROLL
  for (int round = 0; round < 10; ++round) {
    const U64 high0 = HighProduct(0xd2e7470ee14c6c93ULL, c0);
    const U64 low0 = 0xd2e7470ee14c6c93ULL * c0;
    const U64 high1 = HighProduct(0xca5a826395121157ULL, c2);
    const U64 low1 = 0xca5a826395121157ULL * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9e3779b97f4a7c15ULL;
    k1 += 0xbb67ae8584caa73bULL;
  }
  r.block[0] = c0;
  r.block[1] = c1;
  r.block[2] = c2;
  r.block[3] = c3;
  ++r.counter;
  r.used = 0;
}

DEVICE U64 RandomBits(RandomNumbers& r) {
  if (r.used == 4) NextBlock(r);
  const int at = r.used++;  // no index that registers do not have
  return at == 0 ? r.block[0] : at == 1 ? r.block[1] : at == 2 ? r.block[2] : r.block[3];
}

DEVICE double Uniform(RandomNumbers& r) {
  return static_cast<double>(RandomBits(r) >> 11) * 0x1p-53;
}

DEVICE U64 Below(RandomNumbers& r, U64 n) {
  const U64 limit = n * (0xffffffffffffffffULL / n);
  U64 bits = RandomBits(r);
  while (bits >= limit) bits = RandomBits(r);
  return bits % n;
}

// Of a normal number.
DEVICE double NaturalLog(double x) {
  int exponent = static_cast<int>(BitsOf(x) >> 52) - 1022;
  double mantissa =
      DoubleOf((BitsOf(x) & 0xfffffffffffffULL) | 0x3fe0000000000000ULL);  // in [1/2, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  UNROLL
  for (int odd = 23; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return exponent * 0.69314718055994530942 + 2 * s * series;
}

DEVICE double Polynomial(double c0, double c1, double c2, double c3, double c4, double c5,
                         double c6, double c7, double x) {
  double value = 0;
  value = value * x + c7;
  value = value * x + c6;
  value = value * x + c5;
  value = value * x + c4;
  value = value * x + c3;
  value = value * x + c2;
  value = value * x + c1;
  return value * x + c0;
}

// The standard normal law by inversion: Wichura's AS 241.
DEVICE double NormalQuantile(double u) {
  const double q = u - 0.5;
  if (fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           Polynomial(3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                      3.3430575583588128105e4, 2.5090809287301226727e3, r) /
           Polynomial(1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                      5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                      2.8729085735721942674e4, 5.2264952788528545610e3, r);
  }
  const double other = 1 - u;
  double r = sqrt(-NaturalLog(other < u ? other : u));
  double tail = 0;
  if (r <= 5) {
    r -= 1.6;
    tail =
        Polynomial(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                   3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                   2.27238449892691845833e-2, 7.74545014278341407640e-4, r) /
        Polynomial(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                   6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                   5.47593808499534494600e-4, 1.05075007164441684324e-9, r);
  } else {
    r -= 5;
    tail =
        Polynomial(6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                   2.71155556874348757815e-5, 2.01033439929228813265e-7, r) /
        Polynomial(1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                   1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                   1.42151175831644588870e-7, 2.04426310338993978564e-15, r);
  }
  return q < 0 ? -tail : tail;
}

DEVICE double Normal(RandomNumbers& r) {
  return NormalQuantile((static_cast<double>(RandomBits(r) >> 12) + 0.5) * 0x1p-52);
}
