// What the clients send, added up as core/exact_sum.h does. A block adds up one kernel's numbers
// over a slice of the tile, a thread one feature: features are computed again, which costs less
// than to write them down.

constexpr U32 kBatch = 64;     // clients whose samples a block holds
constexpr U32 kListed = 2048;  // clients that a block looks at together

// What a thread knows of its feature, and has added up.
struct FeatureSums {
  float rho[kStrideRoom];
  float theta[2];
  float scale;  // of kernels that share a draw
  I64 sine;
  I64 cosine;
};

// The feature of a thread; those from kFeatures on have nothing to do.
DEVICE U32 FeatureOf(U32 block, U32 t) {
  return block * kFeaturesPerBlock + t % kFeaturesPerBlock;
}

DEVICE void LoadFeature(const FleetArguments& a, U32 i, U32 feature, FeatureSums& own) {
  const U64 known = feature < kFeatures ? feature : 0;
  const Four* row = reinterpret_cast<const Four*>(a.frequencies) +
                    (U64{kSharedDraw ? 0 : i} * kPaddedFeatures + known) * (kStride / 4);
  UNROLL
  for (U32 j = 0; j < kStride; j += 4) {
    const Four four = row[j / 4];
    UNROLL
    for (U32 n = 0; n < 4; ++n) own.rho[j + n] = four.value[n];
  }
  own.theta[0] = a.theta[U64{i} * 2 * kPaddedFeatures + known];
  own.theta[1] = a.theta[(U64{i} * 2 + 1) * kPaddedFeatures + known];
  own.scale = kSharedDraw ? a.scales[i] : 1.0F;
  own.sine = 0;
  own.cosine = 0;
}

// One client's numbers for a feature.
struct FeatureStep {
  float sine;
  float cosine;
};
DEVICE FeatureStep StepOf(const FleetArguments& a, const FeatureSums& own, const Four* x, float along_z,
                          float along_theta) {
  float angle = 0;
  UNROLL
  for (U32 j = 0; j < kDimension; j += 4) {
    const Four four = x[j / 4];
    UNROLL
    for (U32 n = 0; n < 4; ++n) {
      if (j + n < kDimension) angle = fmaf(own.rho[j + n], four.value[n], angle);
    }
  }
  float sine;
  float cosine;
  SineAndCosine(kSharedDraw ? own.scale * angle : angle, sine, cosine);
  return {along_z * (a.scale * sine) + along_theta * own.theta[0],
          along_z * (a.scale * cosine) + along_theta * own.theta[1]};
}

// Clients of the tile, a batch at a time, and what they multiply the features by.
struct Batch {
  const U32* client;
  const Four* x;
  const float* along_z;
  const float* along_theta;
  U32 size;
};

// looks: numbers may be too large, and are then not added but told.
DEVICE void AddBatch(const FleetArguments& a, const Batch& batch, U32 group, bool looks, FeatureSums& own) {
  RoundedSum sines = {0, 0};
  RoundedSum cosines = {0, 0};
  const U32 apart = kThreads / kFeaturesPerBlock;
  U32 terms = 0;
  if (looks) {
    NO_UNROLL
    for (U32 u = group; u < batch.size; u += apart) {
      const FeatureStep step = StepOf(a, own, batch.x + u * (kStride / 4), batch.along_z[u], batch.along_theta[u]);
      if (fabsf(step.sine) <= a.limit && fabsf(step.cosine) <= a.limit) {
        AddRounded(step.sine, sines);
        AddRounded(step.cosine, cosines);
        ++terms;
      } else {
        LowerTo(a.totals + kOutOfRange, a.first_id + a.offset + batch.client[u]);
      }
    }
  } else {
    UNROLL_BY_TWO
    for (U32 u = group; u < batch.size; u += apart) {
      const FeatureStep step = StepOf(a, own, batch.x + u * (kStride / 4), batch.along_z[u], batch.along_theta[u]);
      AddRounded(step.sine, sines);
      AddRounded(step.cosine, cosines);
      ++terms;
    }
  }
  own.sine += UnitsOf(sines, terms);
  own.cosine += UnitsOf(cosines, terms);
}

// Threads of one feature are summed up, and added to what other blocks have.
DEVICE void AddToSums(const FleetArguments& a, U32 i, U32 block, U32 t, const U64* sines,
                      const U64* cosines) {
  if (t >= kFeaturesPerBlock || FeatureOf(block, t) >= kFeatures) return;
  U64 sine = 0;
  U64 cosine = 0;
  for (U32 group = 0; group < kThreads / kFeaturesPerBlock; ++group) {
    sine += sines[group * kFeaturesPerBlock + t];
    cosine += cosines[group * kFeaturesPerBlock + t];
  }
  U64* sums = reinterpret_cast<U64*>(a.sums) + U64{i} * 2 * kFeatures + FeatureOf(block, t);
  if (sine != 0) AddTo(sums, sine);
  if (cosine != 0) AddTo(sums + kFeatures, cosine);
}

CROWDED_KERNEL(AddUpdates) {
  SHARED_ARRAY(U32, list, kListed);
  SHARED(U32, listed);
  SHARED_ARRAY(Four, x, kBatch * (kStride / 4));
  SHARED_ARRAY(float, along_z, kBatch);
  SHARED_ARRAY(float, along_theta, kBatch);
  SHARED_ARRAY(U64, table, 2 * kThreads);
  OWN(FeatureSums, own);
  const U32 i = BLOCK_Y;
  const bool looks = a.totals[kCloseToLimit] != 0;
  const U64 start = U64{BLOCK_X} * a.slice;
  const U64 end = start + a.slice < a.count ? start + a.slice : a.count;
  THREADS(t) LoadFeature(a, i, FeatureOf(BLOCK_Z, t), MINE(own, t));
  for (U64 base = start; base < end; base += kListed) {
    BARRIER;
    THREADS(t) {
      if (t == 0) listed = 0;
    }
    BARRIER;
    THREADS(t) {
      const U64 stop = base + kListed < end ? base + kListed : end;
      for (U64 c = base + t; c < stop; c += kThreads) {
        const bool present = a.present == nullptr || a.present[c] != 0;
        if (present && (kSendsAll || (a.sent[i / 32 * a.count + c] >> i % 32 & 1) != 0))
          list[AddTo(&listed, 1)] = static_cast<U32>(c);
      }
    }
    BARRIER;
    const U32 here = listed;
    // All threads of a feature have equally many clients of a full batch.
    const U32 full = kBatch - kBatch % (kThreads / kFeaturesPerBlock);
    for (U32 first = 0; first < here; first += full) {
      const U32 size = here - first < full ? here - first : full;
      BARRIER;
      THREADS(t) {
        const Four* rows = reinterpret_cast<const Four*>(a.x);
        for (U32 at = t; at < size * (kStride / 4); at += kThreads) {
          x[at] = rows[U64{list[first + at / (kStride / 4)]} * (kStride / 4) + at % (kStride / 4)];
        }
        for (U32 u = t; u < size; u += kThreads) {
          along_z[u] = a.along_z[i * a.count + list[first + u]];
          along_theta[u] = a.along_theta[list[first + u]];
        }
      }
      BARRIER;
      THREADS(t) {
        const U32 group = t / kFeaturesPerBlock;
        if (group < kThreads / kFeaturesPerBlock && FeatureOf(BLOCK_Z, t) < kFeatures) {
          AddBatch(a, {&list[first], &x[0], &along_z[0], &along_theta[0], size}, group, looks,
                   MINE(own, t));
        }
      }
    }
  }
  THREADS(t) {
    table[t] = static_cast<U64>(MINE(own, t).sine);
    table[kThreads + t] = static_cast<U64>(MINE(own, t).cosine);
  }
  BARRIER;
  THREADS(t) AddToSums(a, i, BLOCK_Z, t, &table[0], &table[kThreads]);
}

// The kernels' losses where clients send them: a block adds up one kernel's over a slice of the
// tile.
KERNEL(AddLosses) {
  SHARED_ARRAY(U64, table, kThreads);
  const U32 i = BLOCK_Y;
  const U64 start = U64{BLOCK_X} * a.slice;
  const U64 end = start + a.slice < a.count ? start + a.slice : a.count;
  THREADS(t) {
    U64 sum = 0;
    for (U64 c = start + t; c < end; c += kThreads) {
      if (a.present != nullptr && a.present[c] == 0) continue;
      const double f = static_cast<double>(a.f[i * a.count + c]);
      const float loss =
          static_cast<float>(LossValue(a, f, a.y[c]) + a.regularization * a.norms[i]);
      if (!(loss <= a.limit)) {
        LowerTo(a.totals + kOutOfRange, a.first_id + a.offset + c);
        continue;
      }
      RoundedSum rounded = {0, 0};
      AddRounded(loss, rounded);
      sum += static_cast<U64>(UnitsOf(rounded, 1));
    }
    table[t] = sum;
  }
  SUM_OVER_BLOCK(table, 1);
  THREADS(t) {
    if (t == 0) AddTo(reinterpret_cast<U64*>(a.loss_sums) + i, table[0]);
  }
}

// A number of a client's state (pending_samples.h for pof-gram's last ones).
DEVICE double StateNumber(const FleetArguments& a, U64 k, U32 i) {
  if (i < kKernels) return a.losses[i * a.clients + k];
  if (i == kKernels) return kAdaHedge ? a.gaps[k] : 0;
  const U32 learnt = a.learnt[k];
  const U64 unknowns = a.unknowns[k];
  switch (i - kKernels - 1) {
    case 0:
    case 4:
      return learnt;
    case 1:
    case 5:
      return static_cast<double>(unknowns);
    case 2:
      return learnt > 0 ? learnt - 1 : 0;
    case 3:
      return static_cast<double>(unknowns - a.last_unknowns[k]);
    case 6:
      return a.reach[k];
    default:
      return a.since[(i - kKernels - 8) * a.clients + k];
  }
}

// States lie scattered. A block has one client's.
KERNEL(GatherStates) {
  THREADS(t) {
    for (U32 i = t; i < a.state_size; i += kThreads)
      a.predictions[U64{BLOCK_X} * a.state_size + i] = StateNumber(a, a.offset + BLOCK_X, i);
  }
}
