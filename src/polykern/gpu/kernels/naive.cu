// What needs no learning, of the synthetic fleet's labels: sim/yardsticks.cc. A thread takes one
// client through all steps.

struct NaiveClient {
  U64 taken;
  double sum;
  double last;
  double square;
  double mean_error;
  double last_error;
};

DEVICE void TakeLabel(NaiveClient& own, double y) {
  const double mean = own.taken == 0 ? 0.5 : own.sum / static_cast<double>(own.taken);
  own.mean_error += (y - mean) * (y - mean);
  own.last_error += (y - own.last) * (y - own.last);
  own.square += (y - 0.5) * (y - 0.5);
  own.sum += y;
  own.last = y;
  ++own.taken;
}

KERNEL(MeasureLabels) {
  SHARED_ARRAY(U64, table, (kNaiveSums * kWindow + 1) * kThreads);
  THREADS(t) {
    U64 words[kNaiveSums * kWindow + 1];
    UNROLL
    for (U32 w = 0; w <= kNaiveSums * kWindow; ++w) words[w] = 0;
    const U64 k = U64{BLOCK_X} * kThreads + t;
    if (k < a.clients) {
      const U64 id = a.first_id + k;
      NaiveClient own = {0, 0, 0.5, 0, 0, 0};
      NO_UNROLL
      for (U64 step = 0; step < a.steps; ++step) {
        if (!Attends(a, id, step)) continue;
        RandomNumbers random = RandomFor(a.fleet_seed, kForSample, id, step);
        TakeLabel(own, DrawLatent(a, id, step, random).y);
      }
      AddDouble(own.mean_error, words, a.totals);
      AddDouble(own.last_error, words + kWindow, a.totals + kSumWords);
      AddDouble(own.sum - 0.5 * static_cast<double>(own.taken), words + 2 * kWindow,
                a.totals + 2 * kSumWords);
      AddDouble(own.square, words + 3 * kWindow, a.totals + 3 * kSumWords);
      words[kNaiveSums * kWindow] = own.taken;
    }
    UNROLL
    for (U32 w = 0; w <= kNaiveSums * kWindow; ++w) table[w * kThreads + t] = words[w];
  }
  SUM_OVER_BLOCK(table, kNaiveSums * kWindow + 1);
  THREADS(t) {
    if (t < kNaiveSums * kWindow) {
      AddTo(a.totals + t / kWindow * kSumWords + kWindowStart + t % kWindow, table[t * kThreads]);
    }
    if (t == kNaiveSums * kWindow) AddTo(a.totals + kNaiveSums * kSumWords, table[t * kThreads]);
  }
}
