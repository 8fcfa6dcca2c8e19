// f_i = theta_i . z_i(x) of every kernel, some clients a thread: core/random_features.h says in
// which order. A block goes through its kernels one after the other, some features at a time, which
// all of its clients share.

struct FeatureClients {
  float x[kClientsPerThreadRoom][kStrideRoom];
  float chain[kClientsPerThreadRoom][4];  // each of every fourth feature
  U32 client[kClientsPerThreadRoom];      // 0xffffffff: none
  float largest;                      // angle, by size
};

// The angles of four features.
DEVICE void FourAngles(const FeatureClients& own, const Four* rho,
                       float angle[kClientsPerThreadRoom][4]) {
  UNROLL
  for (U32 n = 0; n < kClientsPerThread; ++n) {
    UNROLL
    for (U32 b = 0; b < 4; ++b) angle[n][b] = 0;
  }
  UNROLL
  for (U32 j = 0; j < kDimension; j += 4) {
    UNROLL
    for (U32 b = 0; b < 4; ++b) {
      const Four four = rho[(b * kStride + j) / 4];
      UNROLL
      for (U32 i = 0; i < 4; ++i) {
        if (j + i < kDimension) {
          UNROLL
          for (U32 n = 0; n < kClientsPerThread; ++n) {
            angle[n][b] = fmaf(four.value[i], own.x[n][j + i], angle[n][b]);
          }
        }
      }
    }
  }
}

DEVICE void AddFourFeatures(FeatureClients& own, const Four* rho, const Four& sines,
                            const Four& cosines, float scale) {
  float angle[kClientsPerThreadRoom][4];
  FourAngles(own, rho, angle);
  UNROLL
  for (U32 n = 0; n < kClientsPerThread; ++n) {
    UNROLL
    for (U32 b = 0; b < 4; ++b) {
      const float turned = kSharedDraw ? scale * angle[n][b] : angle[n][b];
      if (kChecksAngles)
        own.largest = !(fabsf(turned) <= own.largest) ? fabsf(turned) : own.largest;
      float sine;
      float cosine;
      SineAndCosine(turned, sine, cosine);
      own.chain[n][b] = fmaf(sines.value[b], sine, own.chain[n][b]);
      own.chain[n][b] = fmaf(cosines.value[b], cosine, own.chain[n][b]);
    }
  }
}

DEVICE void LoadClients(const FleetArguments& a, U64 start, FeatureClients& own) {
  const U64 there = a.who == nullptr ? a.count : *a.how_many;
  own.largest = 0;
  UNROLL
  for (U32 n = 0; n < kClientsPerThread; ++n) {
    const U64 slot = start + n * kThreads;
    own.client[n] =
        slot < there ? (a.who == nullptr ? static_cast<U32>(slot) : a.who[slot]) : 0xffffffff;
    const Four* row =
        reinterpret_cast<const Four*>(a.x + U64{slot < there ? own.client[n] : 0} * kStride);
    UNROLL
    for (U32 j = 0; j < kStride; j += 4) {
      const Four four = row[j / 4];
      UNROLL
      for (U32 i = 0; i < 4; ++i) own.x[n][j + i] = four.value[i];
    }
  }
}

DEVICE void TellLargeAngle(const FleetArguments& a, const FeatureClients& own) {
  if (!(own.largest <= 32768) && own.client[0] != 0xffffffff)
    LowerTo(a.totals + kLargeAngle, a.first_id + a.offset + own.client[0]);
}

KERNEL(PredictKernels) {
  SHARED_ARRAY(Four, rho, kFeatureTile * kStride / 4);
  SHARED_ARRAY(Four, sines, kFeatureTile / 4);
  SHARED_ARRAY(Four, cosines, kFeatureTile / 4);
  OWN(FeatureClients, own);
  THREADS(t) LoadClients(a, U64{BLOCK_X} * kThreads * kClientsPerThread + t, MINE(own, t));
  for (U32 i = BLOCK_Y; i < kKernels; i += BLOCKS_Y) {
    const Four* frequencies = reinterpret_cast<const Four*>(a.frequencies) +
                              static_cast<U64>(kSharedDraw ? 0 : i) * kPaddedFeatures * kStride / 4;
    const Four* theta =
        reinterpret_cast<const Four*>(a.theta) + static_cast<U64>(i) * 2 * kPaddedFeatures / 4;
    const float scale = kSharedDraw ? a.scales[i] : 1.0F;
    THREADS(t) {
      UNROLL
      for (U32 n = 0; n < kClientsPerThread; ++n) {
        UNROLL
        for (U32 b = 0; b < 4; ++b) MINE(own, t).chain[n][b] = 0;
      }
    }
    NO_UNROLL
    for (U32 first = 0; first < kPaddedFeatures; first += kFeatureTile) {
      const U32 here =
          kPaddedFeatures - first < kFeatureTile ? kPaddedFeatures - first : kFeatureTile;
      BARRIER;
      THREADS(t) {
        for (U32 at = t; at < here * kStride / 4; at += kThreads)
          rho[at] = frequencies[first * kStride / 4 + at];
        for (U32 at = t; at < here / 4; at += kThreads) {
          sines[at] = theta[first / 4 + at];
          cosines[at] = theta[(kPaddedFeatures + first) / 4 + at];
        }
      }
      BARRIER;
      THREADS(t) {
        NO_UNROLL
        for (U32 b = 0; b < here; b += 4) {
          AddFourFeatures(MINE(own, t), &rho[b * kStride / 4], sines[b / 4], cosines[b / 4], scale);
        }
      }
    }
    THREADS(t) {
      const FeatureClients& mine = MINE(own, t);
      UNROLL
      for (U32 n = 0; n < kClientsPerThread; ++n) {
        if (mine.client[n] == 0xffffffff) continue;
        const float* chain = mine.chain[n];
        a.f[i * a.count + mine.client[n]] =
            ((chain[0] + chain[2]) + (chain[1] + chain[3])) * a.scale;
      }
    }
  }
  if (kChecksAngles) {
    THREADS(t) TellLargeAngle(a, MINE(own, t));
  }
}
