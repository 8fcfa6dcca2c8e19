#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "polykern/core/losses.h"
#include "polykern/core/names.h"

namespace polykern {

/// How a rate depends on the step t = 1, 2, ..
enum class Schedule {
  kConstant,  ///< not at all
  kAnytime,   ///< c / sqrt(t), which needs no horizon
};

/// A rate and its schedule.
struct Rate {
  double scale = 0;  ///< the rate itself, or c
  Schedule schedule = Schedule::kConstant;

  /// At the step that comes after `steps` others: t = steps + 1.
  double At(std::uint64_t steps) const;
};

std::span<const Name<Schedule>> NamesOf(Schedule);

/// How a client turns the losses of its experts into weights.
enum class Weighting {
  kHedge,        ///< constant rate
  kAdaHedge,     ///< a rate that follows the losses
  kAggregating,  ///< Vovk's aggregating algorithm for squared loss and experts in [0, 1]
};

std::span<const Name<Weighting>> NamesOf(Weighting);

/// Who predicts on a client.
enum class Experts {
  kFederated,          ///< the kernels that the server knows
  kFederatedAndLocal,  ///< private experts beside them
};
std::span<const Name<Experts>> NamesOf(Experts);

/// What hides single messages from the server, which sees sums of many alone.
enum class Masking {
  kNone,      ///< nothing: it sees each client's own sums
  kHelper,    ///< masks, whose sums a second party knows (net/helper)
  kPairwise,  ///< masks that cancel each other in the sum over all clients, and no other
};
std::span<const Name<Masking>> NamesOf(Masking);

/// Settings of the algorithms. kAlgorithmOptions below says what each means, and who uses it.
struct AlgorithmOptions {
  std::string dictionary = "gaussian";
  std::size_t kernels = 51;                            ///< N
  std::optional<std::size_t> kernels_per_upload = {};  ///< M
  std::optional<std::size_t> features = {};            ///< D
  bool orthogonal = false;
  bool shared_draws = false;
  std::size_t budget = 1000;
  std::optional<double> exploration = {};    ///< xi
  std::optional<double> learning_rate = {};  ///< eta
  std::optional<double> weight_rate = {};    ///< eta_k
  Schedule schedule = Schedule::kConstant;
  double regularization = 1e-6;  ///< lambda
  LossKind loss = LossKind::kSquared;
  double huber_delta = Loss().delta;
  double single_bandwidth = 10;  ///< sigma
  bool hessian_free = false;
  double inner_rate = 0.01;       ///< alpha
  double meta_rate = 0.001;       ///< beta
  double projection_radius = 10;  ///< U
  Weighting weighting = Weighting::kAdaHedge;
  double ridge = 1e-4;
  double forgetting = 1;
  double refresh = 0.02;
  std::size_t burst = 21;
  double disclosure = 0.5;
  double epsilon = 0;  ///< 0: no noise
  double delta = 1e-6;
  std::size_t releases = 64;
  std::size_t most_samples = 512;
  std::size_t pending_memory = 2048;
  std::size_t least_clients = 1;
  Masking masking = Masking::kNone;
  std::size_t server_memory = 4096;
  Experts experts = Experts::kFederatedAndLocal;
  std::size_t local_kernels = 8;
  std::optional<std::size_t> local_memory = {};

  Loss MakeLoss() const { return {loss, huber_delta}; }
};

/// Which field of AlgorithmOptions an option sets: its type is the option's.
using OptionField =
    std::variant<bool AlgorithmOptions::*, std::size_t AlgorithmOptions::*,
                 std::optional<std::size_t> AlgorithmOptions::*, double AlgorithmOptions::*,
                 std::optional<double> AlgorithmOptions::*, std::string AlgorithmOptions::*,
                 LossKind AlgorithmOptions::*, Weighting AlgorithmOptions::*,
                 Schedule AlgorithmOptions::*, Experts AlgorithmOptions::*,
                 Masking AlgorithmOptions::*>;

/// The numbers that an option may have; finite ones only.
struct OptionRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< low itself is outside
  bool high_open = false;  ///< high itself is outside

  bool Holds(double value) const;
  /// "it must be above 0", "it must lie in (0, 1]".
  std::string Rule() const;
};

/// One option of the algorithms. Each is declared once, below; whatever reads, writes,
/// stores, sends or explains options does it by these declarations.
struct OptionDeclaration {
  std::string_view key = {};     ///< in TOML, JSON, Python: "learning_rate"
  char letter = 0;               ///< the command line's short form; 0: none
  OptionField field = {};        ///< its default is the field's
  std::string_view absent = {};  ///< what a store, state or message means that does not have the
                                 ///< option: how it was before there was one. Never changes.
  std::string_view users = {};   ///< the algorithms that use it, with blanks between; "": all
  OptionRange range = {};        ///< of numbers
  std::string_view zero = {};  ///< what 0 is called, which cannot be typed as 0; "": it is a number
                               ///< like others. Of a double that lies above 0 otherwise.
  std::string_view help = {};  ///< one line, without the algorithms
  std::string_view unset = {};  ///< what no value means, where the field may have none
  std::string_view label = {};  ///< what a report calls it; "": by its key
  std::uint32_t since = 2;      ///< the version of the protocol that brought it: a new option
                                ///< raises kProtocolVersion (net/wire.h) and has that one
};

/// True if the algorithm of that name uses the option.
bool UsesOption(std::string_view algorithm, const OptionDeclaration& option);

/// `forgetting` of a client that chooses itself how fast to forget; its text is "auto". A client
/// that wants that as a default sets it here or in his own AlgorithmOptions; the absent value
/// stays 1.
inline constexpr double kAutoForgetting = 0;
/// What the server's regressions forget by: the number given, with auto the federation's own.
double ServerForgetting(const AlgorithmOptions& options);

namespace users {  // of several options
inline constexpr std::string_view kDictionary =
    "pof-mkl pof-newton pof-adagrad ofmkl-avg vm-kofl em-kofl fomd-oms local local-rls";
inline constexpr std::string_view kFeatures =
    "pof-mkl pof-newton pof-adagrad ofskl ofmkl-avg vm-kofl em-kofl fomd-oms fed-poe local "
    "local-rls";
inline constexpr std::string_view kUplink =
    "pof-mkl pof-newton pof-gram pof-adagrad ofskl ofmkl-avg vm-kofl em-kofl fomd-oms fed-poe "
    "perfedavg";
inline constexpr std::string_view kGradients =
    "pof-mkl pof-adagrad ofskl ofmkl-avg vm-kofl em-kofl fomd-oms fed-poe local";
inline constexpr std::string_view kAnyLoss =
    "pof-mkl pof-adagrad ofskl ofmkl-avg vm-kofl em-kofl fomd-oms fed-poe perfedavg local";
inline constexpr std::string_view kRegressions = "pof-newton pof-gram local-rls";
inline constexpr std::string_view kLocalExperts = "pof-newton pof-gram";
}  // namespace users

inline constexpr OptionRange kPositive = {.low = 0, .low_open = true};
inline constexpr OptionRange kAtLeastOne = {.low = 1};

/// Every option of the algorithms, in the order they are shown. Command line, TOML, Python,
/// result.json, the wire, the store and the report know options from here alone. The order never
/// changes, since kept runs are found by a text in it; a new option may stand anywhere.
inline constexpr OptionDeclaration kAlgorithmOptions[] = {
    {.key = "dictionary",
     .field = &AlgorithmOptions::dictionary,
     .absent = "gaussian",
     .users = users::kDictionary,
     .help = "Kernels: gaussian, laplacian, matern12, matern32, matern52, cauchy, "
             "rational-quadratic or mixed"},
    {.key = "kernels",
     .letter = 'N',
     .field = &AlgorithmOptions::kernels,
     .absent = "51",
     .users = users::kDictionary,
     .range = {.low = 1, .high = 100000},
     .help = "N, kernels in the dictionary"},
    {.key = "kernels_per_upload",
     .letter = 'M',
     .field = &AlgorithmOptions::kernels_per_upload,
     .users = "pof-mkl pof-newton pof-adagrad",
     .range = kAtLeastOne,
     .help = "M, kernels a client sends per step",
     .unset = "1; pof-newton: by the budget"},
    {.key = "features",
     .letter = 'D',
     .field = &AlgorithmOptions::features,
     .users = users::kFeatures,
     .range = kAtLeastOne,
     .help = "D, features per kernel",
     .unset = "what the budget allows, at most 100"},
    {.key = "orthogonal",
     .field = &AlgorithmOptions::orthogonal,
     .absent = "no",
     .users = users::kFeatures,
     .help = "Orthogonal features"},
    {.key = "shared_draws",
     .field = &AlgorithmOptions::shared_draws,
     .absent = "no",
     .users = users::kFeatures,
     .help = "Gaussian kernels share one draw of features: faster, less accurate"},
    {.key = "budget",
     .letter = 'b',
     .field = &AlgorithmOptions::budget,
     .absent = "1000",
     .users = users::kUplink,
     .range = kAtLeastOne,
     .help = "Most numbers a client may send per step; pof-gram: on average"},
    {.key = "exploration",
     .letter = 'x',
     .field = &AlgorithmOptions::exploration,
     .users = "pof-mkl pof-newton pof-gram pof-adagrad",
     .range = {.low = 0, .high = 1, .low_open = true},
     .help = "xi, share of uniform exploration, in (0, 1]",
     .unset = "1; pof-newton: 0.2, pof-gram: 0.05",
     .label = "xi"},
    {.key = "learning_rate",
     .field = &AlgorithmOptions::learning_rate,
     .users = users::kGradients,
     .range = kPositive,
     .help = "eta, step size of the models",
     .unset = "1/sqrt(steps); pof-adagrad: 1"},
    {.key = "weight_rate",
     .field = &AlgorithmOptions::weight_rate,
     .users = "pof-mkl pof-newton pof-gram vm-kofl em-kofl fomd-oms fed-poe local local-rls",
     .range = kPositive,
     .help = "eta_k, step size of a client's weights",
     .unset = "1/sqrt(steps); pof-newton, pof-gram, local-rls: 1/2"},
    {.key = "schedule",
     .field = &AlgorithmOptions::schedule,
     .absent = "constant",
     .users = "pof-mkl",
     .help = "constant rates, or anytime: c/sqrt(step), c the rate given, or 1"},
    {.key = "regularization",
     .field = &AlgorithmOptions::regularization,
     .absent = "1e-06",
     .users = users::kGradients,
     .range = {.low = 0},
     .help = "lambda, weight of a model's squared norm"},
    {.key = "loss",
     .field = &AlgorithmOptions::loss,
     .absent = "squared",
     .users = users::kAnyLoss,
     .help = "loss of a prediction"},
    {.key = "huber_delta",
     .field = &AlgorithmOptions::huber_delta,
     .absent = "0.1",
     .users = users::kAnyLoss,
     .range = kPositive,
     .help = "Huber: where the loss becomes linear"},
    {.key = "single_bandwidth",
     .field = &AlgorithmOptions::single_bandwidth,
     .absent = "10",
     .users = "ofskl",
     .range = kPositive,
     .help = "sigma of its kernel"},
    {.key = "hessian_free",
     .field = &AlgorithmOptions::hessian_free,
     .absent = "no",
     .users = "perfedavg",
     .help = "second order, by differences of gradients"},
    {.key = "inner_rate",
     .field = &AlgorithmOptions::inner_rate,
     .absent = "0.01",
     .users = "perfedavg",
     .range = kPositive,
     .help = "alpha, size of a client's own step"},
    {.key = "meta_rate",
     .field = &AlgorithmOptions::meta_rate,
     .absent = "0.001",
     .users = "perfedavg",
     .range = kPositive,
     .help = "beta, size of the server's step"},
    {.key = "projection_radius",
     .field = &AlgorithmOptions::projection_radius,
     .absent = "10",
     .users = "fomd-oms",
     .range = kPositive,
     .help = "U, the largest norm of a kernel's parameters"},
    {.key = "weighting",
     .field = &AlgorithmOptions::weighting,
     .absent = "adahedge",
     .users = users::kRegressions,
     .help = "how clients weigh experts"},
    {.key = "ridge",
     .field = &AlgorithmOptions::ridge,
     .absent = "1e-04",
     .users = users::kRegressions,
     .range = kPositive,
     .help = "ridge of the regressions"},
    {.key = "forgetting",
     .field = &AlgorithmOptions::forgetting,
     .absent = "1",
     .users = users::kRegressions,
     .range = {.low = 0, .high = 1, .low_open = true},
     .zero = "auto",
     .help = "weight that each step leaves to the samples before it, in (0, 1]; auto: "
             "each client finds its own, and uses its last label"},
    {.key = "refresh",
     .field = &AlgorithmOptions::refresh,
     .absent = "0.02",
     .users = "pof-newton",
     .range = {.low = 0, .high = 1, .high_open = true},
     .help = "share of new samples after which the server solves a kernel again"},
    {.key = "burst",
     .field = &AlgorithmOptions::burst,
     .absent = "21",
     .users = "pof-gram",
     .range = {.low = 1, .high = 1 << 20},
     .help = "steps whose budgets a client may save up for one message",
     .since = 4},
    {.key = "disclosure",
     .field = &AlgorithmOptions::disclosure,
     .absent = "0.5",
     .users = "pof-gram",
     .range = kPositive,
     .help = "most numbers that clients send for each unknown in their samples; below 1 there are "
             "fewer numbers than unknowns",
     .since = 4},
    {.key = "most_samples",
     .field = &AlgorithmOptions::most_samples,
     .absent = "512",
     .users = "pof-gram",
     .range = {.low = 1, .high = 1 << 16},
     .help = "most samples that a client sums up in one message; others wait",
     .since = 4},
    {.key = "pending_memory",
     .field = &AlgorithmOptions::pending_memory,
     .absent = "2048",
     .users = "pof-gram",
     .range = {.low = 1, .high = 1 << 30},
     .help = "memory limit, in KiB, of a client's samples that are not yet in all sums",
     .since = 4},
    {.key = "least_clients",
     .field = &AlgorithmOptions::least_clients,
     .absent = "1",
     .users = "pof-gram",
     .range = {.low = 1, .high = 1 << 20},
     .help = "clients that must be in a sum before it is used; above 1, also 32 samples without "
             "those of the client with the most; masks need at least 2",
     .since = 5},
    {.key = "masking",
     .field = &AlgorithmOptions::masking,
     .absent = "none",
     .users = "pof-gram",
     .help = "none; helper: the server sees only sums over several clients, unless it works with "
             "the helper, a second process that sees no data; pairwise: only sums over all "
             "clients, named and always connected",
     .since = 5},
    {.key = "epsilon",
     .field = &AlgorithmOptions::epsilon,
     .absent = "none",
     .users = "pof-gram",
     .range = {.low = 0, .low_open = true},
     .zero = "none",
     .help = "differential privacy: noise in the sums hides whether they include a given row; "
             "none: no noise",
     .since = 5},
    {.key = "delta",
     .field = &AlgorithmOptions::delta,
     .absent = "1e-06",
     .users = "pof-gram",
     .range = {.low = 0, .high = 1, .low_open = true, .high_open = true},
     .help = "differential privacy: the probability with which it may fail",
     .since = 5},
    {.key = "releases",
     .field = &AlgorithmOptions::releases,
     .absent = "64",
     .users = "pof-gram",
     .range = {.low = 1, .high = 4096},
     .help = "with noise: number of noisy sums released in all, at growing intervals",
     .since = 5},
    {.key = "server_memory",
     .field = &AlgorithmOptions::server_memory,
     .absent = "4096",
     .users = "pof-newton",
     .range = kAtLeastOne,
     .help = "memory limit, in MiB, of the server's regressions"},
    {.key = "experts",
     .field = &AlgorithmOptions::experts,
     .absent = "federated,local",
     .users = users::kLocalExperts,
     .help = "federated, or federated,local: private experts beside the federated kernels (private "
             "ones alone are local-rls)"},
    {.key = "local_kernels",
     .field = &AlgorithmOptions::local_kernels,
     .absent = "8",
     .users = users::kLocalExperts,
     .range = kAtLeastOne,
     .help =
         "private experts of a client, evenly spaced in the dictionary; with noise three times as "
         "many"},
    {.key = "local_memory",
     .field = &AlgorithmOptions::local_memory,
     .users = users::kRegressions,
     .range = {.low = 1, .high = 1 << 30},
     .help = "memory limit, in KiB, of a client's private experts",
     .unset = "128; local-rls: 512"},
};

/// The declaration of that key; null: there is none.
const OptionDeclaration* FindOption(std::string_view key);

inline constexpr double kNewtonExploration = 0.2;
inline constexpr double kGramExploration = 0.05;
/// Squared loss on [0, 1] is 1/2-exp-concave: with this rate regret stays below 2 ln N for ever.
inline constexpr double kUnitRate = 0.5;

/// What an algorithm must know about the task.
struct Problem {
  std::size_t dimension = 0;  ///< d
  std::size_t horizon = 0;    ///< T, for rates of 1 / sqrt(T)
  std::uint64_t seed = 0;     ///< of the features and of the clients' draws
  std::size_t clients = 0;    ///< that are expected in the first step; 0: unknown
  std::size_t ahead = 1;      ///< a label is known before the ahead-th next prediction is made
  bool unit_labels = false;   ///< labels are sure to be in [0, 1], so bounds on updates follow
};

/// The seed of one repetition's features and draws (Problem::seed), from a user's seed. Mixed, so
/// that neighbouring seeds and repetitions share nothing. Programs, servers, agents and Python use
/// repetition 0 where there is but one.
std::uint64_t RepetitionSeed(std::uint64_t seed, std::uint64_t repetition = 0);

/// What a client of an algorithm sends in one step: 2D numbers for each kernel, and losses.
struct Uplink {
  std::string_view algorithm = {};
  std::size_t kernels = 0;
  std::size_t losses = 0;
};

/// M of pof-newton: the given one, or as many kernels as the budget holds with all features, at
/// least 1 and at most all.
std::size_t KernelsPerUpload(const AlgorithmOptions& options);

/// The most features per kernel that the budget allows; 0: not even one.
std::size_t AllowedFeatures(const AlgorithmOptions& options, const Uplink& uplink);

/// D: the given one, or the largest that the budget allows, at most the paper's 100.
std::size_t ResolveFeatures(const AlgorithmOptions& options, const Uplink& uplink);

/// The given rate, or 1 / sqrt(T).
double ResolveRate(const std::optional<double>& given, const Problem& problem);

}  // namespace polykern
