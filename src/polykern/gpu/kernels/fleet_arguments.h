// What every kernel is told: sizes and places on the device. Compiled by NVRTC and as C++, so it
// includes nothing.

typedef unsigned long long U64;
typedef long long I64;
typedef unsigned int U32;
typedef unsigned char U8;

// Sums of doubles as core/double_sum.h makes them: words of 32 bits, and one that counts what is
// not finite.
constexpr U32 kSumWords = 68;

// The words of a step's totals.
constexpr U32 kSquaredError = 0;
constexpr U32 kRegret = kSumWords;
constexpr U32 kFingerprint = 2 * kSumWords;
constexpr U32 kParticipants = kFingerprint + 1;
constexpr U32 kBlocksSent = kFingerprint + 2;
constexpr U32 kMostBlocks = kFingerprint + 3;  // of one client
// Identities, the least one each; all bits set: nobody.
constexpr U32 kNotFinite = kFingerprint + 4;   // a prediction
constexpr U32 kOutOfRange = kFingerprint + 5;  // a number of an update
constexpr U32 kLargeAngle = kFingerprint + 6;  // an angle that the C library would be asked for
constexpr U32 kCloseToLimit =
    kFingerprint + 7;  // not 0: numbers of updates must be looked at one by one
constexpr U32 kStepTotals = kFingerprint + 8;

// Of the labels alone (sim/yardsticks.cc).
constexpr U32 kNaiveSums = 4;
constexpr U32 kNaiveTotals = kNaiveSums * kSumWords + 1;

// A site of the synthetic fleet: centre and two axes, dimension numbers each, then these.
constexpr U32 kSiteRest = 9;  // saturating, level, spread, and along u, along v, phase of two waves

// 2^(i / 128) = H (1 + tail): the bits of H less i << 45, so that a power of two can be added with
// i.
struct ExpEntry {
  double tail;
  U64 bits;
};

struct FleetArguments {
  // A tile: some clients that follow each other, which go through the kernels together.
  U64 count;
  U64 offset;       // of its first client among those of this process
  U64 clients;      // of this process
  U64 first_id;     // identity of the first of them
  U64 all_clients;  // of all processes
  U64 step;
  U64 steps;

  // Samples of the tile, and who takes part.
  float* x;  // count x kStride
  double* y;
  U8* present;             // null: everybody
  U32* who;                // those present, in any order; null: everybody
  U32* how_many;           // are in it
  const U8* has_sample;    // null: everybody
  const double* uniforms;  // that fix the clients' draws; null: from the seed
  U64 attendance_seed;
  double participation;

  // The synthetic fleet.
  const double* sites;
  const double* turns;  // cosine and sine of the drift at each step
  U64 site_count;
  U64 fleet_seed;
  double noise;

  // Kernels and model.
  const float* frequencies;  // kKernels x kPaddedFeatures x kStride
  const float* scales;       // of kernels that share a draw
  const float* theta;        // kKernels x (sines' part, cosines' part) x kPaddedFeatures
  const double* norms;       // ||theta_i||^2
  const double* weights;     // the server's
  float scale;               // 1 / sqrt(D)
  float most_theta;          // the largest number of the model, by size
  float limit;               // of the numbers in an update

  // How clients learn.
  U64 seed;  // of their draws
  double weight_rate;
  double log_kernels;         // AdaHedge: ln kKernels
  const ExpEntry* exp_table;  // 128
  double learning_rate;
  double regularization;
  double huber;
  double exploration;

  // Per client of this process. Those of kernels: kKernels x clients.
  double* losses;         // state: cumulative losses
  double* kernel_scores;  // null: they are the losses
  double* gaps;           // AdaHedge's state beside the losses
  double* squared_error;
  double* loss;
  double* best;
  U32* taken;  // steps
  U8* unit_range;
  double* predictions;  // of this step; NaN: none

  // Between the kernels of a step.
  float* f;            // kKernels x count
  float* along_z;      // kKernels x count; only of those that are sent
  U32* sent;           // a bit for each kernel, 32 of them x count; unless all are
  float* along_theta;  // per client
  double* mix_means;   // AdaHedge, per client: the mean loss,
  double* mix_from;    // what the mix loss is counted from,
  double* mix_logs;    // and what the CPU takes the logarithm of

  // What a step adds up to.
  I64* sums;       // kKernels x 2 kFeatures, in units of 2^-30
  I64* loss_sums;  // kKernels
  U64* totals;     // kStepTotals words, or kNaiveTotals
  U64 slice;       // clients that a block adds up
};
