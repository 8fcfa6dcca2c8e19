// What a client thinks of its kernels: their weights, and the draw of those that it sends.
// algorithms/paper/pof_mkl.cc and every_kernel.cc.

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

// Of a kernel with this cumulative loss.
DEVICE double WeightOf(const Weights& weights, U32 i, double loss) {
  if (!kPrivateWeights) return weights.server[i];
  return RawWeight(weights.rate, loss, weights.least) * weights.share;
}
DEVICE double WeightOf(const Weights& weights, U32 i) {
  return WeightOf(weights, i, kPrivateWeights ? weights.losses[i * weights.stride] : 0);
}

// How fast a client comes to trust its best kernels: AdaHedge's is infinite until the first loss
// that tells them apart (core/experts.cc).
DEVICE double WeightRateOf(const FleetArguments& a, U64 k) {
  if (!kAdaHedge) return a.weight_rate;
  return a.gaps[k] > 0 ? a.log_kernels / a.gaps[k] : DoubleOf(kInfinityBits);
}

DEVICE Weights FindWeights(const FleetArguments& a, U64 k) {
  Weights weights = {a.weights, nullptr, a.clients, WeightRateOf(a, k), 0, 0};
  if (!kPrivateWeights) return weights;
  const double* losses = a.losses + k;
  weights.losses = losses;
  if (kScoresAreLosses) {
    weights.least = a.best[k];
  } else {
    weights.least = losses[0];
    UNROLL_BY_EIGHT
    for (U32 i = 1; i < kKernels; ++i) {
      const double loss = losses[i * a.clients];
      weights.least = loss < weights.least ? loss : weights.least;
    }
  }
  double partial[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  NO_UNROLL
  for (U32 i = 0; i < kKernels; i += 8) {
    UNROLL
    for (U32 p = 0; p < 8; ++p) {
      if (i + p < kKernels)
        partial[p] += RawWeight(weights.rate, losses[(i + p) * a.clients], weights.least);
    }
  }
  weights.share = 1 / SumOfPartial(partial);
  return weights;
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
