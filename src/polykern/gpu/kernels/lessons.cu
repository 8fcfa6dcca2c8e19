// A client and its label: the prediction, what it learns, and how well it did.
// algorithms/paper/pof_mkl.cc and every_kernel.cc.

DEVICE double KernelLoss(const FleetArguments& a, U32 i, double f, double y) {
  return LossValue(a, f, y) + a.regularization * a.norms[i];
}

// What a client tells of itself after a step.
struct Lesson {
  double f;      // its prediction
  double best;   // the least of the kernels' losses so far, as its score has them
  double least;  // and as its weights have them
  float size;   // no number of its update is larger, but for rounding; not if it is not finite
  bool unit;    // all losses of the kernels were between 0 and 1
};

// Everything that a client does with its kernels' predictions, in one go, for its memory is far
// away: the mixture (9), the losses (12), which the client and its score add up (core/metrics.cc),
// and the factors of an update (11), s_i = along_z z_i + along_theta theta_i. What is read of four
// kernels comes before what is written.
DEVICE Lesson LearnKernels(const FleetArguments& a, const Weights& weights, const Chosen& chosen,
                           const U32* place, U64 c) {
  const U64 k = a.offset + c;
  const double y = a.y[c];
  const double rate = a.learning_rate / chosen.probability;
  const float along_theta = static_cast<float>(rate * 2 * a.regularization);
  a.along_theta[c] = along_theta;
  double partial[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  Lesson lesson = {0, DoubleOf(kInfinityBits), DoubleOf(kInfinityBits), 0, true};
  float largest = 0;
  U32 sent = 0;
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 8) {
    UNROLL
    for (U32 half = 0; half < 8; half += 4) {
      double own[4] = {0, 0, 0, 0};
      double score[4] = {0, 0, 0, 0};
      float f[4];
      UNROLL
      for (U32 p = 0; p < 4; ++p) {
        const U32 known = i + half + p < kKernels ? i + half + p : 0;
        if (kPrivateWeights) own[p] = a.losses[known * a.clients + k];
        if (!kScoresAreLosses) score[p] = a.kernel_scores[known * a.clients + k];
        f[p] = a.f[known * a.count + c];
      }
      UNROLL
      for (U32 p = 0; p < 4; ++p) {
        const U32 n = i + half + p;
        if (n >= kKernels) continue;
        partial[half + p] += WeightOf(weights, n, own[p]) * static_cast<double>(f[p]);
        const double value = KernelLoss(a, n, static_cast<double>(f[p]), y);
        if (kPrivateWeights) {
          a.losses[n * a.clients + k] = own[p] + value;
          lesson.least = own[p] + value < lesson.least ? own[p] + value : lesson.least;
        }
        const double sum = (kScoresAreLosses ? own[p] : score[p]) + value;
        if (!kScoresAreLosses) a.kernel_scores[n * a.clients + k] = sum;
        lesson.unit = lesson.unit && value >= 0 && value <= 1;
        lesson.best = sum < lesson.best ? sum : lesson.best;
        const U32 at = kChoosesKernels && !kExploresOnly ? place[n] : n;
        if (at >= chosen.first && at < chosen.end) {
          const float along = static_cast<float>(rate * LossSlope(a, static_cast<double>(f[p]), y));
          if (!(fabsf(along) <= largest)) largest = fabsf(along);
          a.along_z[n * a.count + c] = along;
          sent |= 1U << n % 32;
        }
      }
    }
    if (!kSendsAll && (i % 32 == 24 || i + 8 >= kKernels)) {
      a.sent[i / 32 * a.count + c] = sent;
      sent = 0;
    }
  }
  lesson.f = SumOfPartial(partial);
  lesson.size = largest * a.scale + fabsf(along_theta) * a.most_theta;
  return lesson;
}

// AdaHedge's mean loss, and what its mix loss from - ln(sum) / rate is made of (core/experts.cc): the
// logarithm is the CPU's.
struct MixLoss {
  double mean;
  double from;
  double sum;
};
DEVICE MixLoss MixLosses(const FleetArguments& a, const Weights& weights, U64 c) {
  MixLoss mix = {0, DoubleOf(kInfinityBits), 0};
  const double y = a.y[c];
  NO_UNROLL
  for (U32 i = 0; i < kKernels; ++i) {
    const double value = KernelLoss(a, i, static_cast<double>(a.f[i * a.count + c]), y);
    const double weight = WeightOf(weights, i);
    mix.mean += weight * value;
    if (weight > 0) mix.from = value < mix.from ? value : mix.from;
  }
  if (!IsFinite(weights.rate)) return mix;
  NO_UNROLL
  for (U32 i = 0; i < kKernels; ++i) {
    const double value = KernelLoss(a, i, static_cast<double>(a.f[i * a.count + c]), y);
    const double weight = WeightOf(weights, i);
    if (weight > 0)
      mix.sum += weight * LibraryExp(a.exp_table, -weights.rate * (value - mix.from));
  }
  return mix;
}

// What FinishGaps needs.
DEVICE void WriteMix(const FleetArguments& a, U64 c, const MixLoss& mix) {
  a.mix_means[c] = mix.mean;
  a.mix_from[c] = mix.from;
  a.mix_logs[c] = mix.sum;
}

// What a thread adds up of its client: squared error, regret, fingerprint, participants, and blocks,
// or of pof-gram unknowns.
constexpr U32 kOwnTotals = 2 * kWindow + 3;
DEVICE U32 WordOf(U32 own, U32 last) {
  if (own < kWindow) return kSquaredError + kWindowStart + own;
  if (own < 2 * kWindow) return kRegret + kWindowStart + own - kWindow;
  return own < 2 * kWindow + 2 ? kFingerprint + own - 2 * kWindow : last;
}

// How well a client did. best: of its kernels' scores; unit: all losses were between 0 and 1.
DEVICE void ScoreClient(const FleetArguments& a, U64 c, double f, double best, bool unit,
                        U64* own) {
  const U64 k = a.offset + c;
  const U64 id = a.first_id + k;
  if (!IsFinite(f)) LowerTo(a.totals + kNotFinite, id);
  const double error = f - a.y[c];
  const double loss = LossValue(a, f, a.y[c]);
  a.squared_error[k] += error * error;
  a.loss[k] += loss;
  a.best[k] = best;
  if (!unit || !(loss >= 0 && loss <= 1)) a.unit_range[k] = 0;
  ++a.taken[k];
  if (a.predictions != nullptr) a.predictions[c] = f;
  AddDouble(error * error, own, a.totals + kSquaredError);
  own[2 * kWindow] += Mix(BitsOf(f) ^ Mix(a.step * a.all_clients + id));
  own[2 * kWindow + 1] += 1;
}

// What is known of a client after a step, whether it took part or not.
DEVICE void EndLesson(const FleetArguments& a, U64 c, bool present, U64* own) {
  if (!present && a.predictions != nullptr) a.predictions[c] = DoubleOf(0x7ff8000000000000ULL);
  if (!present && kAdaHedge) WriteMix(a, c, {0, 0, 1});
  AddDouble(a.loss[a.offset + c] - a.best[a.offset + c], own + kWindow, a.totals + kRegret);
}

DEVICE void LearnClient(const FleetArguments& a, U64 c, U64* own) {
  const U64 k = a.offset + c;
  const Weights weights = FindWeights(a, k);
  U32 place[kKernelRoom];
  const Chosen chosen = Choose(a, weights, c, place);
  MixLoss mix = {0, 0, 1};
  if (kAdaHedge) mix = MixLosses(a, weights, c);
  const Lesson lesson = LearnKernels(a, weights, chosen, place, c);
  if (kAdaHedge) {
    // An infinite rate: how far the best moved.
    if (!IsFinite(weights.rate)) mix = {mix.mean, lesson.least - weights.least, 1};
    WriteMix(a, c, mix);
  }
  if (!(lesson.size < 0.99F * a.limit)) AddTo(a.totals + kCloseToLimit, 1);
  ScoreClient(a, c, lesson.f, lesson.best, lesson.unit, own);
  const U64 blocks = chosen.end - chosen.first;
  own[2 * kWindow + 2] += blocks;
  if (blocks > a.totals[kMostBlocks]) RaiseTo(a.totals + kMostBlocks, blocks);
}

CROWDED_KERNEL(LearnLabels) {
  SHARED_ARRAY(U64, table, kOwnTotals * kThreads);
  THREADS(t) {
    U64 own[kOwnTotals];
    UNROLL
    for (U32 w = 0; w < kOwnTotals; ++w) own[w] = 0;
    const U64 c = U64{BLOCK_X} * kThreads + t;
    if (c < a.count) {
      const bool present = a.present == nullptr || a.present[c] != 0;
      if (present) LearnClient(a, c, own);
      EndLesson(a, c, present, own);
    }
    UNROLL
    for (U32 w = 0; w < kOwnTotals; ++w) table[w * kThreads + t] = own[w];
  }
  SUM_OVER_BLOCK(table, kOwnTotals);
  THREADS(t) {
    if (t < kOwnTotals) AddTo(a.totals + WordOf(t, kBlocksSent), table[t * kThreads]);
  }
}

// AdaHedge's gaps, once the logarithms are there.
KERNEL(FinishGaps) {
  THREADS(t) {
    const U64 c = U64{BLOCK_X} * kThreads + t;
    if (c < a.count) {
      const U64 k = a.offset + c;
      const double mix = a.mix_from[c] - a.mix_logs[c] / WeightRateOf(a, k);
      const double wider = a.mix_means[c] - mix;
      if (wider > 0) a.gaps[k] += wider;
    }
  }
}
