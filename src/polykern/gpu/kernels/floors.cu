// What the device can do at best, for `polykern bench`: only multiply-adds, and only
// sines with cosines.

constexpr U32 kFloorChains = 8;

KERNEL(MultiplyAdds) {
  THREADS(t) {
    float value[kFloorChains];
    UNROLL
    for (U32 j = 0; j < kFloorChains; ++j) value[j] = static_cast<float>(t + j);
    NO_UNROLL
    for (U64 round = 0; round < a.slice; round += 16) {
      UNROLL
      for (U32 n = 0; n < 16; ++n) {
        UNROLL
        for (U32 j = 0; j < kFloorChains; ++j) value[j] = fmaf(value[j], 0.999F, 0.1F);
      }
    }
    float sum = 0;
    UNROLL
    for (U32 j = 0; j < kFloorChains; ++j) sum += value[j];
    a.f[U64{BLOCK_X} * kThreads + t] = sum;
  }
}

KERNEL(SinesAndCosines) {
  THREADS(t) {
    float angle[kFloorChains];
    UNROLL
    for (U32 j = 0; j < kFloorChains; ++j)
      angle[j] = 0.01F * static_cast<float>(t) + static_cast<float>(j);
    float sum = 0;
    NO_UNROLL
    for (U64 round = 0; round < a.slice; ++round) {
      UNROLL
      for (U32 j = 0; j < kFloorChains; ++j) {
        float sine;
        float cosine;
        SineAndCosine(angle[j], sine, cosine);
        sum += sine;
        angle[j] += cosine;
      }
    }
    UNROLL
    for (U32 j = 0; j < kFloorChains; ++j) sum += angle[j];
    a.f[U64{BLOCK_X} * kThreads + t] = sum;
  }
}
