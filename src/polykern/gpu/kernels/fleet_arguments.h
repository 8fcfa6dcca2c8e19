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
// Identities, the least one each; all bits set: no one.
constexpr U32 kNotFinite = kFingerprint + 4;   // a prediction
constexpr U32 kOutOfRange = kFingerprint + 5;  // a number of an update
constexpr U32 kLargeAngle = kFingerprint + 6;  // an angle that the C library would be asked for
constexpr U32 kCloseToLimit =
    kFingerprint + 7;  // not 0: numbers of updates must be looked at one by one
constexpr U32 kFreshUnknowns = kFingerprint + 8;  // of pof-gram's samples of this step
constexpr U32 kStepTotals = kFingerprint + 9;

// What is counted of an expert's sums beside the messages: samples, unknowns, those that are new,
// and the squares of the messages' numbers of samples.
constexpr U32 kPastSamples = 0;
constexpr U32 kPastUnknowns = 1;
constexpr U32 kPastNewUnknowns = 2;
constexpr U32 kPastSquares = 3;
constexpr U32 kPastCounts = 4;

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

// An expert of pof-gram in this step.
struct ExpertFacts {
  U32 size;    // D
  U32 theta;   // where its theta begins in the model
  U32 awake;   // it has a theta
  U32 awakes;  // or has one in the next step
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
  U8* present;             // null: everyone
  U32* who;                // those present, in any order; null: everyone
  U32* how_many;           // are in it
  const U8* has_sample;    // null: everyone
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
  double* predictions;  // of this step; NaN: none; or states of clients
  U32 state_size;       // of a client

  // Between the kernels of a step.
  float* f;            // kKernels x count
  float* along_z;      // kKernels x count; only of those that are sent
  U32* sent;           // a bit for each kernel, 32 of them x count; unless all are
  float* along_theta;  // per client
  double* mix_means;   // AdaHedge, per client: the mean loss,
  double* mix_from;    // what the mix loss is counted from,
  double* mix_logs;    // and what the CPU takes the logarithm of

  // pof-gram, whose kKernels are its experts, kSizes of each kernel. Its theta is that of the
  // message.
  const ExpertFacts* experts;
  U32 any_awake;
  U32 turn_size;
  const U32* turn;     // whose sums are sent in this step
  U64 most_samples;    // in a message
  U64 kept_samples;    // of a client
  U32* learnt;         // per client: samples so far,
  U32* reach;          // those before this one were in sums,
  U64* unknowns;       // of all samples,
  U32* last_unknowns;  // and of the last one
  int* since;          // kKernels x clients: the first sample it lacks; -1 - that while it is sent
  U64* most_pending;   // per expert of the turn: samples of a client, at most
  U64* weight_sums;    // kKernels, in units of 2^-36

  // Of one expert of the turn: samples of the tile's clients, old and new, and their sums.
  U32 expert;
  U32 first_round;  // of its samples
  U32 tells;        // of unknowns that are new
  U64 rounds;       // samples of each client, the newest first
  U32* past_step;   // per client of the tile: where the last round ended
  U32* past_number;
  float* past_x;  // past_there x kStride
  double* past_y;
  U32* past_there;
  U64* past_counts;
  const float* all_x;  // of all steps, if they are on the device
  const double* all_y;
  const U8* all_has_sample;  // null: everyone always has
  float quarter_scale;       // 1 / sqrt(a quarter of D), and what is left to 1 / sqrt(D)
  double quarter_factor;
  U32 past_rows;  // samples that a block holds
  U32 pieces;     // of the triangle, that it adds up

  // What a step adds up to.
  I64* sums;       // kKernels x 2 kFeatures, in units of 2^-30; pof-gram: of one expert, 2^-36
  I64* loss_sums;  // kKernels
  U64* totals;     // kStepTotals words, or kNaiveTotals
  U64 slice;       // clients that a block adds up
};
