// What the clients of a tile see: data/synthetic.cc, and who is there.

DEVICE double SlowSine(double x) {
  const double pi = 3.141592653589793238462643383279502884;
  const double half_turns = floor(x / pi + 0.5);
  const double rest = x - half_turns * pi;
  const double square = rest * rest;
  double series = 1;
  NO_UNROLL
  for (int k = 20; k >= 2; k -= 2) series = 1 - square / (k * (k + 1)) * series;
  const bool odd = half_turns != 2 * floor(half_turns / 2);
  return odd ? -rest * series : rest * series;
}

DEVICE double SiteLabel(const double* rest, const double* turn, double u, double v) {
  const double turned_u = turn[0] * u - turn[1] * v;
  const double turned_v = turn[1] * u + turn[0] * v;
  const double p = rest[3] * turned_u + rest[4] * turned_v;
  if (rest[0] != 0) return rest[1] + 0.3 * p / sqrt(1 + p * p);
  double sum = 0;
  sum += SlowSine(p + rest[5]);
  sum += SlowSine((rest[6] * turned_u + rest[7] * turned_v) + rest[8]);
  return rest[1] + 0.15 * sum;
}

// Everything of a sample but its inputs, whose random numbers come next.
struct LatentSample {
  const double* site;
  double u;
  double v;
  double y;
};
DEVICE LatentSample DrawLatent(const FleetArguments& a, U64 id, U64 step, RandomNumbers& random) {
  U64 place = id * a.site_count / a.all_clients;
  if (a.site_count > 1 && Uniform(random) >= 0.85) {
    place = (place + 1 + Below(random, a.site_count - 1)) % a.site_count;
  }
  LatentSample sample;
  sample.site = a.sites + place * (3 * kDimension + kSiteRest);
  do {
    sample.u = 2 * Uniform(random) - 1;
    sample.v = 2 * Uniform(random) - 1;
  } while (sample.u * sample.u + sample.v * sample.v > 1);
  const double law =
      SiteLabel(sample.site + 3 * kDimension, a.turns + 2 * step, sample.u, sample.v);
  sample.y = Clamp(law + a.noise * Normal(random), 0.0, 1.0);
  return sample;
}

// Writes the sample of a client at a step as row `row`.
DEVICE void MakeSample(const FleetArguments& a, U64 id, U64 step, float* rows, double* labels, U64 row) {
  RandomNumbers random = RandomFor(a.fleet_seed, kForSample, id, step);
  const LatentSample sample = DrawLatent(a, id, step, random);
  labels[row] = sample.y;
  const double spread = sample.site[3 * kDimension + 2];
  float normals[kStrideRoom];  // in the thread's own memory: rows are far apart in the device's
  double square = 0;
  NO_UNROLL
  for (U32 j = 0; j < kDimension; ++j) {
    const double normal = spread * Normal(random);
    square += normal * normal;
    normals[j] = static_cast<float>(normal);
  }
  const double within = 0.19 / sqrt(square);
  const double shrink = within < 1.0 ? within : 1.0;
  NO_UNROLL
  for (U32 j = 0; j < kDimension; j += 4) {
    Four x = {{0, 0, 0, 0}};
    UNROLL
    for (U32 i = 0; i < 4; ++i) {
      if (j + i >= kDimension) continue;
      const double disk = 0.35 * (sample.u * sample.site[kDimension + j + i] +
                                  sample.v * sample.site[2 * kDimension + j + i]);
      const double beside = shrink * static_cast<double>(normals[j + i]);
      x.value[i] = static_cast<float>(sample.site[j + i] + disk + beside);
    }
    reinterpret_cast<Four*>(rows)[row * (kStride / 4) + j / 4] = x;
  }
}

KERNEL(MakeSamples) {
  THREADS(t) {
    const U64 c = U64{BLOCK_X} * kThreads + t;
    if (c < a.count) MakeSample(a, a.first_id + a.offset + c, a.step, a.x, a.y, c);
  }
}

DEVICE bool Attends(const FleetArguments& a, U64 id, U64 step) {
  if (a.participation >= 1) return true;
  RandomNumbers random = RandomFor(a.attendance_seed, kForParticipation, id, step);
  return Uniform(random) < a.participation;
}

// Lists those who are there.
KERNEL(FindPresent) {
  SHARED(U32, here);
  SHARED(U32, place);
  OWN(U32, own);
  THREADS(t) {
    if (t == 0) here = 0;
  }
  BARRIER;
  THREADS(t) {
    const U64 c = U64{BLOCK_X} * kThreads + t;
    MINE(own, t) = 0xffffffff;
    if (c < a.count) {
      const bool present = (a.has_sample == nullptr || a.has_sample[c] != 0) &&
                           Attends(a, a.first_id + a.offset + c, a.step);
      a.present[c] = present ? 1 : 0;
      if (present) MINE(own, t) = AddTo(&here, 1);
    }
  }
  BARRIER;
  THREADS(t) {
    if (t == 0) place = AddTo(a.how_many, here);
  }
  BARRIER;
  THREADS(t) {
    if (MINE(own, t) != 0xffffffff)
      a.who[place + MINE(own, t)] = static_cast<U32>(U64{BLOCK_X} * kThreads + t);
  }
}
