// pof-gram: what its experts predict, what a client learns of them, and which of its samples each
// lacks. algorithms/gram/pof_gram.cc and pending_samples.cc.
#ifdef WITH_GRAM

// theta . z of one expert for the clients of a thread, sines and cosines apart.
struct ExpertSums {
  double sines[kClientsPerThreadRoom][8];
  double cosines[kClientsPerThreadRoom][8];
};

// Four features, from `j` on, of which those below `size` are the expert's.
DEVICE void AddFourTerms(FeatureClients& own, const Four* rho, const double* sines,
                         const double* cosines, float turn, float scale, U32 partial, U32 left,
                         ExpertSums& sums) {
  float angle[kClientsPerThreadRoom][4];
  FourAngles(own, rho, angle);
  UNROLL
  for (U32 n = 0; n < kClientsPerThread; ++n) {
    UNROLL
    for (U32 b = 0; b < 4; ++b) {
      const float turned = kSharedDraw ? turn * angle[n][b] : angle[n][b];
      if (kChecksAngles)
        own.largest = !(fabsf(turned) <= own.largest) ? fabsf(turned) : own.largest;
      float sine;
      float cosine;
      SineAndCosine(turned, sine, cosine);
      if (b < left) {
        sums.sines[n][partial + b] += sines[b] * static_cast<double>(scale * sine);
        sums.cosines[n][partial + b] += cosines[b] * static_cast<double>(scale * cosine);
      }
    }
  }
}

// An expert that has had no turn yet sleeps.
DEVICE bool Sleeps(const FleetArguments& a, U32 e) {
  return a.experts[e].awake == 0;
}

DEVICE void WriteExpert(const FleetArguments& a, U32 e, const FeatureClients& own,
                        const ExpertSums& sums) {
  UNROLL
  for (U32 n = 0; n < kClientsPerThread; ++n) {
    if (own.client[n] == 0xffffffff) continue;
    const double away = SumOfPartial(sums.sines[n]) + SumOfPartial(sums.cosines[n]);
    a.f[e * a.count + own.client[n]] =
        Sleeps(a, e) ? 0.5F : static_cast<float>(Clamp(0.5 + away, 0.0, 1.0));
  }
}

// Some clients a thread; a block goes through its experts one after the other.
KERNEL(PredictExperts) {
  SHARED_ARRAY(Four, rho, kFeatureTile * kStride / 4);
  SHARED_ARRAY(double, sines, kFeatureTile);
  SHARED_ARRAY(double, cosines, kFeatureTile);
  OWN(FeatureClients, own);
  OWN(ExpertSums, sums);
  THREADS(t) LoadClients(a, U64{BLOCK_X} * kThreads * kClientsPerThread + t, MINE(own, t));
  for (U32 e = BLOCK_Y; e < kKernels; e += BLOCKS_Y) {
    const U32 kernel = e / kSizes;
    // Of angles that must be judged, all are: past samples are not judged again.
    const U32 size = Sleeps(a, e) && !kChecksAngles ? 0 : a.experts[e].size;
    const float* theta = a.theta + a.experts[e].theta;
    const Four* frequencies = reinterpret_cast<const Four*>(a.frequencies) +
                              U64{kSharedDraw ? 0 : kernel} * kPaddedFeatures * kStride / 4;
    const float turn = kSharedDraw ? a.scales[kernel] : 1.0F;
    THREADS(t) {
      UNROLL
      for (U32 n = 0; n < kClientsPerThread; ++n) {
        UNROLL
        for (U32 b = 0; b < 8; ++b) MINE(sums, t).sines[n][b] = MINE(sums, t).cosines[n][b] = 0;
      }
    }
    NO_UNROLL
    for (U32 first = 0; first < size; first += kFeatureTile) {
      const U32 here =
          kPaddedFeatures - first < kFeatureTile ? kPaddedFeatures - first : kFeatureTile;
      BARRIER;
      THREADS(t) {
        for (U32 at = t; at < here * kStride / 4; at += kThreads)
          rho[at] = frequencies[first * kStride / 4 + at];
        for (U32 at = t; at < here; at += kThreads) {
          const bool known = first + at < size;
          sines[at] = known ? static_cast<double>(theta[first + at]) : 0;
          cosines[at] = known ? static_cast<double>(theta[size + first + at]) : 0;
        }
      }
      BARRIER;
      THREADS(t) {
        NO_UNROLL
        for (U32 b = 0; b < here && first + b < size; b += 8) {
          UNROLL
          for (U32 half = 0; half < 8; half += 4) {
            if (first + b + half < size && b + half < here) {
              AddFourTerms(MINE(own, t), &rho[(b + half) * kStride / 4], &sines[b + half],
                           &cosines[b + half], turn, a.scale, half, size - first - b - half,
                           MINE(sums, t));
            }
          }
        }
      }
    }
    THREADS(t) WriteExpert(a, e, MINE(own, t), MINE(sums, t));
  }
  if (kChecksAngles) {
    THREADS(t) TellLargeAngle(a, MINE(own, t));
  }
}

// A client's weights, of those experts alone that are awake; or will be in the next step.
DEVICE void FindExpertWeights(const FleetArguments& a, U64 k, bool next, double* weight) {
  const Weights weights = FindWeights(a, k);
  double all = 0;
  U32 awake = 0;
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    weight[e] = WeightOf(weights, e);
    if ((next ? a.experts[e].awakes : a.experts[e].awake) == 0) continue;
    all += weight[e];
    ++awake;
  }
  if (awake == 0) return;
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    const bool speaks = (next ? a.experts[e].awakes : a.experts[e].awake) != 0;
    const double share = all > 0 ? weight[e] / all : 1 / static_cast<double>(awake);
    weight[e] = speaks ? share : 0;
  }
}

// What a client thinks of its experts, and a step's losses of theirs: those that sleep suffer what
// the mixture does.
struct ExpertLesson {
  double f;
  double y;
  double weight[kKernelRoom];
};
DEVICE double ExpertLoss(const FleetArguments& a, const ExpertLesson& own, U32 e, U64 c) {
  const bool mixed = a.any_awake != 0 && Sleeps(a, e);
  return LossValue(a, mixed ? own.f : static_cast<double>(a.f[e * a.count + c]), own.y);
}

// AdaHedge's part of it (core/experts.cc), before the losses are added; `least`: of those so far.
DEVICE void WriteExpertMix(const FleetArguments& a, const ExpertLesson& own, U64 c, double moved) {
  MixLoss mix = {0, DoubleOf(kInfinityBits), 0};
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    const double value = ExpertLoss(a, own, e, c);
    mix.mean += own.weight[e] * value;
    if (own.weight[e] > 0) mix.from = value < mix.from ? value : mix.from;
  }
  const double rate = WeightRateOf(a, a.offset + c);
  if (!IsFinite(rate)) {
    WriteMix(a, c, {mix.mean, moved, 1});
    return;
  }
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    const double value = ExpertLoss(a, own, e, c);
    if (own.weight[e] > 0)
      mix.sum += own.weight[e] * LibraryExp(a.exp_table, -rate * (value - mix.from));
  }
  WriteMix(a, c, mix);
}

// A label and the inputs, of sparse ones twice those that are there (gram_sums.cc).
DEVICE U32 UnknownsOf(const float* x) {
  U32 there = 0;
  NO_UNROLL
  for (U32 j = 0; j < kDimension; ++j) there += x[j] != 0 ? 1 : 0;
  return 1 + (2 * there < kDimension ? 2 * there : kDimension);
}

// The samples that an expert lacks, of so many.
struct PastRange {
  U64 begin;
  U64 end;
};
DEVICE PastRange RangeFrom(const FleetArguments& a, U64 since, U64 learnt) {
  U64 begin = since;
  if (learnt > a.kept_samples && begin < learnt - a.kept_samples) begin = learnt - a.kept_samples;
  return {begin, learnt < begin + a.most_samples ? learnt : begin + a.most_samples};
}

// What left last was counted.
DEVICE void SettlePending(const FleetArguments& a, U64 k) {
  const U64 learnt = a.learnt[k];
  if (learnt == 0) return;
  U64 reach = a.reach[k];
  U64 covered = 0;  // by a larger size of the same kernel
  NO_UNROLL
  for (U32 e = kKernels; e-- > 0;) {
    const int since = a.since[e * a.clients + k];
    U64 lacks = since < 0 ? static_cast<U64>(-1 - since) : static_cast<U64>(since);
    if (since < 0) {
      lacks = RangeFrom(a, lacks, learnt).end;
      covered = covered < lacks ? lacks : covered;
      reach = reach < lacks ? lacks : reach;
    }
    lacks = lacks < covered ? covered : lacks;
    a.since[e * a.clients + k] = static_cast<int>(lacks);
    if (e % kSizes == 0) covered = 0;
  }
  a.reach[k] = static_cast<U32>(reach);
}

// A sample more, and what is sent of each expert of the turn. Gives the sample's unknowns.
DEVICE U64 SendPending(const FleetArguments& a, U64 c) {
  const U64 k = a.offset + c;
  SettlePending(a, k);
  const U32 own = UnknownsOf(a.x + c * kStride);
  const U64 learnt = U64{a.learnt[k]} + 1;
  a.learnt[k] = static_cast<U32>(learnt);
  a.unknowns[k] += own;
  a.last_unknowns[k] = own;
  NO_UNROLL
  for (U32 at = 0; at < a.turn_size; ++at) {
    int* since = a.since + a.turn[at] * a.clients + k;
    const PastRange range = RangeFrom(a, static_cast<U64>(*since), learnt);
    *since = -1 - static_cast<int>(range.begin);
    const U64 pending = range.end - range.begin;
    if (pending > a.most_pending[at]) RaiseTo(a.most_pending + at, pending);
  }
  return own;
}

DEVICE void LearnExpertsOf(const FleetArguments& a, U64 c, U64* own) {
  const U64 k = a.offset + c;
  ExpertLesson lesson;
  lesson.y = a.y[c];
  FindExpertWeights(a, k, false, lesson.weight);
  double partial[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  NO_UNROLL
  for (U32 e = 0; e < kKernels; e += 8) {
    UNROLL
    for (U32 p = 0; p < 8; ++p) {
      if (e + p < kKernels)
        partial[p] += lesson.weight[e + p] * static_cast<double>(a.f[(e + p) * a.count + c]);
    }
  }
  lesson.f = SumOfPartial(partial);
  double before = DoubleOf(kInfinityBits);
  double least = before;
  double best = before;
  bool unit = true;
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    const double value = ExpertLoss(a, lesson, e, c);
    const double old = a.losses[e * a.clients + k];
    before = old < before ? old : before;
    least = old + value < least ? old + value : least;
    double score = old + value;
    if (!kScoresAreLosses) {
      score = a.kernel_scores[e * a.clients + k] + value;
      a.kernel_scores[e * a.clients + k] = score;
    }
    best = score < best ? score : best;
    unit = unit && value >= 0 && value <= 1;
  }
  if (kAdaHedge) WriteExpertMix(a, lesson, c, least - before);
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e)
    a.losses[e * a.clients + k] += ExpertLoss(a, lesson, e, c);
  ScoreClient(a, c, lesson.f, best, unit, own);
  own[2 * kWindow + 2] += SendPending(a, c);
}

KERNEL(LearnExperts) {
  SHARED_ARRAY(U64, table, kOwnTotals * kThreads);
  THREADS(t) {
    U64 own[kOwnTotals];
    UNROLL
    for (U32 w = 0; w < kOwnTotals; ++w) own[w] = 0;
    const U64 c = U64{BLOCK_X} * kThreads + t;
    if (c < a.count) {
      const bool present = a.present == nullptr || a.present[c] != 0;
      if (present) LearnExpertsOf(a, c, own);
      EndLesson(a, c, present, own);
    }
    UNROLL
    for (U32 w = 0; w < kOwnTotals; ++w) table[w * kThreads + t] = own[w];
  }
  SUM_OVER_BLOCK(table, kOwnTotals);
  THREADS(t) {
    if (t < kOwnTotals) AddTo(a.totals + WordOf(t, kFreshUnknowns), table[t * kThreads]);
  }
}

// The weights that clients send, in units of 2^-36: a block adds up a slice of the tile.
KERNEL(AddWeights) {
  SHARED_ARRAY(U64, table, kThreads);
  struct Units {
    U64 of[kKernelRoom];
  };
  OWN(Units, own);
  const U64 start = U64{BLOCK_X} * a.slice;
  const U64 end = start + a.slice < a.count ? start + a.slice : a.count;
  THREADS(t) {
    NO_UNROLL
    for (U32 e = 0; e < kKernels; ++e) MINE(own, t).of[e] = 0;
    NO_UNROLL
    for (U64 c = start + t; c < end; c += kThreads) {
      if (a.present != nullptr && a.present[c] == 0) continue;
      double weight[kKernelRoom];
      FindExpertWeights(a, a.offset + c, true, weight);
      NO_UNROLL
      for (U32 e = 0; e < kKernels; ++e) MINE(own, t).of[e] += WholeOf(weight[e] * 0x1p36);
    }
  }
  NO_UNROLL
  for (U32 e = 0; e < kKernels; ++e) {
    BARRIER;
    THREADS(t) table[t] = MINE(own, t).of[e];
    SUM_OVER_BLOCK(table, 1);
    THREADS(t) {
      if (t == 0) AddTo(a.weight_sums + e, table[0]);
    }
  }
}
#endif
