// pof-gram: the sums over samples of the tile's clients, old and new ones, of one expert.
// algorithms/gram/gram_sums.cc, in the order of operations that scalar/pof_gram_step.cc has.
#ifdef WITH_GRAM

// A client on its way back through its samples (sim/stream_history.cc).
struct PastClient {
  U64 begin;
  U64 number;  // of the sample that was found last, or before all of them
  U64 end;
  U64 step;
  U32 slot;  // of this round's sample; 0xffffffff: there is none
};

// Has it been looked for?
DEVICE bool HasMore(const PastClient& own) {
  return (own.number < own.end ? own.number : own.end) > own.begin;
}

DEVICE void FindPast(const FleetArguments& a, U64 k, PastClient& own) {
  bool found = false;
  while (!found) {
    --own.step;
    if (!Attends(a, a.first_id + k, own.step)) continue;
    if (a.all_has_sample != nullptr && a.all_has_sample[own.step * a.clients + k] == 0) continue;
    --own.number;
    found = own.number < own.end;
  }
}

DEVICE PastClient BeginPast(const FleetArguments& a, U64 c, U64* own) {
  const U64 k = a.offset + c;
  const bool sends = c < a.count && (a.present == nullptr || a.present[c] != 0);
  if (!sends) return {0, 0, 0, 0, 0};
  const U64 learnt = a.learnt[k];
  const PastRange range =
      RangeFrom(a, static_cast<U64>(-1 - a.since[a.expert * a.clients + k]), learnt);
  if (a.first_round == 0)
    return {range.begin, a.past_number[c], range.end, a.past_step[c], 0};
  const U64 samples = range.end - range.begin;
  own[kPastSamples] += samples;
  own[kPastSquares] += samples * samples;
  // If it missed no step, a sample's number is its step.
  if (learnt == a.step + 1) return {range.begin, range.end, range.end, range.end, 0};
  return {range.begin, learnt, range.end, a.step + 1, 0};
}

// Copies a client's sample, or makes it again, and counts what there is to know of it.
DEVICE void WritePast(const FleetArguments& a, U64 k, const PastClient& past, U64 row, U64* own) {
  if (a.all_x == nullptr) {
    MakeSample(a, a.first_id + k, past.step, a.past_x, a.past_y, row);
  } else {
    const U64 from = past.step * a.clients + k;
    NO_UNROLL
    for (U32 j = 0; j < kStride / 4; ++j) {
      reinterpret_cast<Four*>(a.past_x)[row * (kStride / 4) + j] =
          reinterpret_cast<const Four*>(a.all_x)[from * (kStride / 4) + j];
    }
    a.past_y[row] = a.all_y[from];
  }
  const U64 unknowns = UnknownsOf(a.past_x + row * kStride);
  own[kPastUnknowns] += unknowns;
  if (a.tells != 0 && past.number >= a.reach[k]) own[kPastNewUnknowns] += unknowns;
}

// Some more samples of each client, in any order.
KERNEL(ReadPast) {
  SHARED(U32, here);
  SHARED(U32, place);
  SHARED_ARRAY(U64, table, kPastCounts * kThreads);
  struct Counts {
    U64 of[kPastCounts];
  };
  OWN(PastClient, past);
  OWN(Counts, own);
  THREADS(t) {
    for (U32 w = 0; w < kPastCounts; ++w) MINE(own, t).of[w] = 0;
    MINE(past, t) = BeginPast(a, U64{BLOCK_X} * kThreads + t, MINE(own, t).of);
  }
  NO_UNROLL
  for (U64 round = 0; round < a.rounds; ++round) {
    BARRIER;
    THREADS(t) {
      if (t == 0) here = 0;
    }
    BARRIER;
    THREADS(t) {
      MINE(past, t).slot = 0xffffffff;
      if (HasMore(MINE(past, t))) {
        FindPast(a, a.offset + U64{BLOCK_X} * kThreads + t, MINE(past, t));
        MINE(past, t).slot = AddTo(&here, 1);
      }
    }
    BARRIER;
    THREADS(t) {
      if (t == 0) place = AddTo(a.past_there, here);
    }
    BARRIER;
    THREADS(t) {
      const PastClient& mine = MINE(past, t);
      if (mine.slot != 0xffffffff)
        WritePast(a, a.offset + U64{BLOCK_X} * kThreads + t, mine, place + mine.slot, MINE(own, t).of);
    }
  }
  THREADS(t) {
    const U64 c = U64{BLOCK_X} * kThreads + t;
    if (c < a.count) {
      a.past_number[c] = static_cast<U32>(MINE(past, t).number);
      a.past_step[c] = static_cast<U32>(MINE(past, t).step);
    }
    for (U32 w = 0; w < kPastCounts; ++w) table[w * kThreads + t] = MINE(own, t).of[w];
  }
  SUM_OVER_BLOCK(table, kPastCounts);
  THREADS(t) {
    if (t < kPastCounts) AddTo(a.past_counts + t, table[t * kThreads]);
  }
}

// A piece of the triangle of products: of four numbers of a sample with eight.
constexpr U32 kPieceSize = 32;
struct PieceSums {
  I64 sum[kPieceSize];
  U32 row;     // of the first of its products
  U32 column;  // 0xffffffff: the thread has none
  U32 group;   // which of the samples it adds up
};
struct alignas(16) FourWhole {
  int value[4];
};

// A block has a.pieces of them, and as many threads of each as it has room for. `across`: eights of
// a sample's numbers.
DEVICE PieceSums FindPiece(const FleetArguments& a, U32 block, U32 t, U32 across) {
  PieceSums own;
  UNROLL
  for (U32 n = 0; n < kPieceSize; ++n) own.sum[n] = 0;
  own.row = 0;
  own.column = 0xffffffff;
  own.group = t / a.pieces;
  if (own.group >= kThreads / a.pieces) return own;
  U32 left = block * a.pieces + t % a.pieces;
  U32 row = 0;
  NO_UNROLL
  for (; row < 2 * across && left >= across - row / 2; ++row) left -= across - row / 2;
  if (row == 2 * across) return own;
  own.row = 4 * row;
  own.column = 8 * (row / 2 + left);
  return own;
}

// Features as whole numbers of 2^-18, sine and cosine in turn, and the label behind them. A thread
// has one feature, or several.
DEVICE void RoundFeatures(const FleetArguments& a, U32 t, U32 size, const Four* x, U32 rows, int* z,
                          U32 across) {
  const U32 kernel = a.expert / kSizes;
  const U32 apart = size < kThreads ? kThreads / size : 1;  // threads of a feature
  const float turn = kSharedDraw ? a.scales[kernel] : 1.0F;
  NO_UNROLL
  for (U32 item = t; item < (size < kThreads ? apart * size : size); item += kThreads) {
    const U32 feature = item % size;
    const Four* row = reinterpret_cast<const Four*>(a.frequencies) +
                      (U64{kSharedDraw ? 0 : kernel} * kPaddedFeatures + feature) * (kStride / 4);
    float rho[kStrideRoom];
    UNROLL
    for (U32 j = 0; j < kStride; j += 4) {
      const Four four = row[j / 4];
      UNROLL
      for (U32 n = 0; n < 4; ++n) rho[j + n] = four.value[n];
    }
    NO_UNROLL
    for (U32 u = item / size; u < rows; u += apart) {
      float angle = 0;
      UNROLL
      for (U32 j = 0; j < kDimension; j += 4) {
        const Four four = x[u * (kStride / 4) + j / 4];
        UNROLL
        for (U32 n = 0; n < 4; ++n) {
          if (j + n < kDimension) angle = fmaf(rho[j + n], four.value[n], angle);
        }
      }
      float sine;
      float cosine;
      SineAndCosine(kSharedDraw ? turn * angle : angle, sine, cosine);
      int* to = z + u * 8 * across + 2 * feature;
      to[0] = RoundedTo18(static_cast<double>(a.quarter_scale * sine) * a.quarter_factor);
      to[1] = RoundedTo18(static_cast<double>(a.quarter_scale * cosine) * a.quarter_factor);
    }
  }
}

DEVICE void AddRows(const FleetArguments& a, U32 rows, const FourWhole* z, U32 across,
                    PieceSums& own) {
  if (own.column == 0xffffffff) return;
  const U32 apart = kThreads / a.pieces;
  for (U32 u = own.group; u < rows; u += apart) {
    const FourWhole* sample = z + u * 2 * across;
    const FourWhole left = sample[own.row / 4];
    const FourWhole right[2] = {sample[own.column / 4], sample[own.column / 4 + 1]};
    UNROLL
    for (U32 n = 0; n < kPieceSize; ++n)
      own.sum[n] += static_cast<I64>(left.value[n / 8]) * right[n % 8 / 4].value[n % 4];
  }
}

// Threads of one piece are summed up, and added to what other blocks have.
DEVICE void AddPiece(const FleetArguments& a, const PieceSums& own, U32 n, U32 t, const U64* table,
                     U32 width) {
  const U32 row = own.row + n / 8;
  const U32 column = own.column + n % 8;
  if (own.column == 0xffffffff || own.group > 0 || row > column || column >= width) return;
  U64 sum = 0;
  for (U32 from = t; from < kThreads / a.pieces * a.pieces; from += a.pieces) sum += table[from];
  U64* to = reinterpret_cast<U64*>(a.sums) + row * width - row * (row - 1) / 2 + column - row;
  if (sum != 0) AddTo(to, sum);
}

// A block adds up a slice of the samples.
KERNEL(AddProducts) {
  SHARED_ARRAY(Four, x, kPastRows * (kStride / 4));
  SHARED_ARRAY(FourWhole, z, kPastRoom / 4);
  SHARED_ARRAY(U64, table, kThreads);
  OWN(PieceSums, own);
  const U32 size = a.experts[a.expert].size;
  const U32 width = 2 * size + 1;
  const U32 across = (width + 7) / 8;
  const U64 start = U64{BLOCK_X} * a.slice;
  const U64 there = *a.past_there;
  const U64 end = start + a.slice < there ? start + a.slice : there;
  THREADS(t) MINE(own, t) = FindPiece(a, BLOCK_Y, t, across);
  NO_UNROLL
  for (U64 first = start; first < end; first += a.past_rows) {
    const U32 rows = static_cast<U32>(end - first < a.past_rows ? end - first : a.past_rows);
    BARRIER;
    THREADS(t) {
      const Four* from = reinterpret_cast<const Four*>(a.past_x) + first * (kStride / 4);
      for (U32 at = t; at < rows * (kStride / 4); at += kThreads) x[at] = from[at];
      for (U32 u = t; u < rows; u += kThreads) {
        int* last = &z[u * 2 * across].value[0] + 2 * size;
        last[0] = RoundedTo18(Clamp(a.past_y[first + u], 0.0, 1.0) - 0.5);
        for (U32 n = 1; n < 8 * across - 2 * size; ++n) last[n] = 0;
      }
    }
    BARRIER;
    THREADS(t) RoundFeatures(a, t, size, &x[0], rows, &z[0].value[0], across);
    BARRIER;
    THREADS(t) AddRows(a, rows, &z[0], across, MINE(own, t));
  }
  UNROLL
  for (U32 n = 0; n < kPieceSize; ++n) {
    BARRIER;
    THREADS(t) table[t] = static_cast<U64>(MINE(own, t).sum[n]);
    BARRIER;
    THREADS(t) AddPiece(a, MINE(own, t), n, t, &table[0], width);
  }
}
#endif
