// A client and its label: weights of the kernels, the draw of those that it sends, the prediction,
// what it learns, and how well it did. algorithms/paper/pof_mkl.cc and every_kernel.cc.

// exp(-rate (L_i - least)), the weight of a kernel but for a factor.
DEVICE double RawWeight(double rate, double loss, double least) {
  const double behind = loss - least;
  return behind == 0 ? 1.0 : ExpOfNegative(-rate * behind);
}

struct Weights {
  const double* server;  // null: the client's own
  const double* losses;  // of this client
  U64 stride;
  double rate;
  double least;
  double share;
};

DEVICE double WeightOf(const Weights& weights, U32 i) {
  if (!kPrivateWeights) return weights.server[i];
  return RawWeight(weights.rate, weights.losses[i * weights.stride], weights.least) * weights.share;
}

DEVICE Weights FindWeights(const FleetArguments& a, const double* losses) {
  Weights weights = {a.weights, losses, a.clients, a.weight_rate, 0, 0};
  if (!kPrivateWeights) return weights;
  weights.least = losses[0];
  UNROLL_BY_EIGHT
  for (U32 i = 1; i < kKernels; ++i) {
    const double loss = losses[i * a.clients];
    weights.least = loss < weights.least ? loss : weights.least;
  }
  double partial[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 8) {
    UNROLL
    for (U32 p = 0; p < 8; ++p) {
      if (i + p < kKernels)
        partial[p] += RawWeight(a.weight_rate, losses[(i + p) * a.clients], weights.least);
    }
  }
  weights.share = 1 / SumOfPartial(partial);
  return weights;
}

DEVICE double MixtureOf(const FleetArguments& a, const Weights& weights, const float* f) {
  double partial[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 8) {
    UNROLL
    for (U32 p = 0; p < 8; ++p) {
      if (i + p < kKernels)
        partial[p] += WeightOf(weights, i + p) * static_cast<double>(f[(i + p) * a.count]);
    }
  }
  return SumOfPartial(partial);
}

// The kernels that a client sends: those whose place in `order` is at least first and below end.
struct Chosen {
  U32 first;
  U32 end;
  double probability;
};

// Algorithm 1 (core/subset.cc). place[i]: of kernel i among all, the lightest loss first; order:
// the other way round.
DEVICE Chosen ChooseByWeight(const FleetArguments& a, const Weights& weights, double uniform,
                             U32* place) {
  U32 order[kKernelRoom];
  NO_UNROLL
  for (U32 i = 0; i < kKernels; ++i) {
    const double own = weights.losses[i * a.clients];
    U32 before = 0;
    NO_UNROLL
    for (U32 other = 0; other < kKernels; ++other) {
      const double loss = weights.losses[other * a.clients];
      if (loss < own || (loss == own && other < i)) ++before;
    }
    place[i] = before;
    order[before] = i;
  }
  const U32 bins = (kKernels + kPerUpload - 1) / kPerUpload;
  double cumulative = 0;
  for (U32 bin = 0;; ++bin) {
    const U32 first = bin * kPerUpload;
    const U32 end = first + kPerUpload < kKernels ? first + kPerUpload : kKernels;
    double weight = 0;
    for (U32 i = first; i < end; ++i) weight += WeightOf(weights, order[i]);
    const double q = a.exploration / static_cast<double>(bins) + (1 - a.exploration) * weight;
    cumulative += q;
    if (cumulative > uniform || bin + 1 == bins) return {first, end, q};
  }
}

DEVICE Chosen Choose(const FleetArguments& a, const Weights& weights, U64 c, U32* place) {
  if (!kChoosesKernels) return {0, kKernels, 1};
  double uniform = 0;
  if (kPerUpload < kKernels) {
    RandomNumbers random = RandomFor(a.seed, kForSubset, a.first_id + a.offset + c, a.step);
    uniform = a.uniforms != nullptr ? a.uniforms[c] : Uniform(random);
  }
  if (kExploresOnly) {
    const U32 bins = (kKernels + kPerUpload - 1) / kPerUpload;
    const U32 drawn = static_cast<U32>(uniform * static_cast<double>(bins));
    const U32 first = (drawn < bins - 1 ? drawn : bins - 1) * kPerUpload;
    return {first, first + kPerUpload < kKernels ? first + kPerUpload : kKernels,
            1 / static_cast<double>(bins)};
  }
  return ChooseByWeight(a, weights, uniform, place);
}

// The factors of an update (11), s_i = along_z z_i + along_theta theta_i; gives the largest along_z
// of those sent.
DEVICE float WriteFactors(const FleetArguments& a, const Chosen& chosen, const U32* place, U64 c,
                          double y) {
  const double rate = a.learning_rate / chosen.probability;
  const float along_theta = static_cast<float>(rate * 2 * a.regularization);
  a.along_theta[c] = along_theta;
  float largest = 0;
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 4) {  // what is read comes before what is written: it may be far away
    float f[4];
    UNROLL
    for (U32 p = 0; p < 4; ++p) f[p] = i + p < kKernels ? a.f[(i + p) * a.count + c] : 0;
    UNROLL
    for (U32 p = 0; p < 4; ++p) {
      if (i + p >= kKernels) continue;
      const U32 at = kChoosesKernels && !kExploresOnly ? place[i + p] : i + p;
      float along = NotSent();
      if (at >= chosen.first && at < chosen.end) {
        along = static_cast<float>(rate * LossSlope(a, static_cast<double>(f[p]), y));
        if (!(fabsf(along) <= largest)) largest = fabsf(along);
      }
      a.along_z[(i + p) * a.count + c] = along;
    }
  }
  // A number of the update is at most this, but for rounding. Not if it is not finite.
  return largest * a.scale + fabsf(along_theta) * a.most_theta;
}

// Losses of the kernels, which the client and its score add up (core/metrics.cc).
DEVICE void LearnLosses(const FleetArguments& a, U64 k, U64 c, double y, double loss) {
  bool unit = a.unit_range[k] != 0 && loss >= 0 && loss <= 1;
  double best = DoubleOf(0x7ff0000000000000ULL);
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 4) {  // as above
    double own[4];
    double score[4];
    float f[4];
    UNROLL
    for (U32 p = 0; p < 4; ++p) {
      const U32 known = i + p < kKernels ? i + p : 0;
      if (kPrivateWeights) own[p] = a.losses[known * a.clients + k];
      score[p] = a.kernel_scores[known * a.clients + k];
      f[p] = a.f[known * a.count + c];
    }
    UNROLL
    for (U32 p = 0; p < 4; ++p) {
      if (i + p >= kKernels) continue;
      const U64 at = (i + p) * a.clients + k;
      const double value =
          LossValue(a, static_cast<double>(f[p]), y) + a.regularization * a.norms[i + p];
      if (kPrivateWeights) a.losses[at] = own[p] + value;
      const double sum = score[p] + value;
      a.kernel_scores[at] = sum;
      unit = unit && value >= 0 && value <= 1;
      best = sum < best ? sum : best;
    }
  }
  a.loss[k] += loss;
  a.best[k] = best;
  a.unit_range[k] = unit ? 1 : 0;
}

constexpr U32 kOwnTotals =
    2 * kWindow + 3;  // squared error, regret, fingerprint, participants, blocks

DEVICE void LearnClient(const FleetArguments& a, U64 c, U64* own) {
  const U64 k = a.offset + c;
  const U64 id = a.first_id + k;
  const double y = a.y[c];
  const Weights weights = FindWeights(a, kPrivateWeights ? a.losses + k : nullptr);
  U32 place[kKernelRoom];
  const Chosen chosen = Choose(a, weights, c, place);
  const double f = MixtureOf(a, weights, a.f + c);
  if (!IsFinite(f)) LowerTo(a.totals + kNotFinite, id);
  const float size = WriteFactors(a, chosen, place, c, y);
  if (!(size < 0.99F * a.limit)) AddTo(a.totals + kCloseToLimit, 1);
  const double error = f - y;
  a.squared_error[k] += error * error;
  ++a.taken[k];
  LearnLosses(a, k, c, y, LossValue(a, f, y));
  if (a.predictions != nullptr) a.predictions[c] = f;
  AddDouble(error * error, own, a.totals + kSquaredError);
  own[2 * kWindow] += Mix(BitsOf(f) ^ Mix(a.step * a.all_clients + id));
  own[2 * kWindow + 1] += 1;
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
      if (!present && a.predictions != nullptr) a.predictions[c] = DoubleOf(0x7ff8000000000000ULL);
      AddDouble(a.loss[a.offset + c] - a.best[a.offset + c], own + kWindow, a.totals + kRegret);
    }
    UNROLL
    for (U32 w = 0; w < kOwnTotals; ++w) table[w * kThreads + t] = own[w];
  }
  SUM_OVER_BLOCK(table, kOwnTotals);
  THREADS(t) {
    if (t < kOwnTotals) {
      const U32 word = t < kWindow       ? kSquaredError + kWindowStart + t
                       : t < 2 * kWindow ? kRegret + kWindowStart + t - kWindow
                                         : kFingerprint + t - 2 * kWindow;
      AddTo(a.totals + word, table[t * kThreads]);
    }
  }
}
