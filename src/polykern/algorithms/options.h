#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "polykern/core/experts.h"
#include "polykern/core/kernel_bank.h"
#include "polykern/core/losses.h"

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

/// Settings of the algorithms: the command line, TOML files and Python fill this struct. Not every
/// algorithm uses every field.
struct AlgorithmOptions {
  std::string dictionary = "gaussian";  ///< which kernels, see MakeDictionary
  std::size_t kernels = 51;             ///< N, kernels in the dictionary
  /// M, kernels a client sends per step; unset: 1, pof-newton: what the budget allows.
  std::optional<std::size_t> kernels_per_upload = {};
  std::optional<std::size_t> features = {};  ///< D per kernel; unset: what the budget allows
  std::size_t budget = 1000;                 ///< most numbers a client sends per step
  bool orthogonal = false;                   ///< orthogonal instead of independent features
  bool shared_draws = false;                 ///< Gaussian kernels share one draw: faster
  std::optional<double> exploration = {};    ///< xi in (0, 1]; unset: 1, pof-newton: 0.2
  std::optional<double> learning_rate = {};  ///< eta; unset: 1 / sqrt(T), pof-adagrad: 1
  /// eta_k; unset: 1 / sqrt(T), pof-newton and local-rls: 1/2.
  std::optional<double> weight_rate = {};
  Schedule schedule = Schedule::kConstant;  ///< pof-mkl: of both rates; kAnytime: they are c or 1
  double regularization = 1e-6;             ///< lambda >= 0
  Loss loss = {};                           ///< what a prediction costs
  double single_bandwidth = 10;             ///< ofskl: sigma of its kernel
  bool hessian_free = false;                ///< perfedavg: second order, by differences
  double inner_rate = 0.01;                 ///< perfedavg: alpha, of a client's own step
  double meta_rate = 0.001;                 ///< perfedavg: beta, of the server's step
  double projection_radius = 10;            ///< fomd-oms: U, most norm(theta_i) can be

  // pof-newton and local-rls.
  Weighting weighting = Weighting::kAdaHedge;  ///< how clients weigh their experts
  double ridge = 1e-4;                         ///< of the regressions, > 0
  double forgetting = 1;  ///< what a step leaves of the samples before it, in (0, 1]
  double refresh = 0.02;  ///< share of new samples that makes the server solve a kernel again
  std::size_t server_memory = 4096;  ///< MiB, most that the server's regressions may take
  bool local_experts = true;         ///< pof-newton: private experts beside the federated ones
  std::size_t local_kernels = 8;     ///< how many, evenly spaced in the dictionary
  /// KiB, most that a client's private experts may take; unset: 128, local-rls: 512.
  std::optional<std::size_t> local_memory = {};
};

inline constexpr double kNewtonExploration = 0.2;
/// Squared loss on [0, 1] is 1/2-exp-concave: with this rate regret stays below 2 ln N for ever.
inline constexpr double kUnitRate = 0.5;

/// What an algorithm must know about the task.
struct Problem {
  std::size_t dimension = 0;  ///< d
  std::size_t horizon = 0;    ///< T, for rates of 1 / sqrt(T)
  std::uint64_t seed = 0;     ///< of the features and of the clients' draws
};

/// What a client of an algorithm sends in one step: 2D numbers for each kernel, and losses.
struct Uplink {
  std::string_view algorithm;
  std::size_t kernels = 0;
  std::size_t losses = 0;
};

/// M of pof-newton: the given one, or as many kernels as the budget holds with all features, at
/// least 1 and at most all.
std::size_t KernelsPerUpload(const AlgorithmOptions& options);

/// D: the given one, or the largest that the budget allows, at most the paper's 100.
std::size_t ResolveFeatures(const AlgorithmOptions& options, const Uplink& uplink);

/// The given rate, or 1 / sqrt(T).
double ResolveRate(const std::optional<double>& given, const Problem& problem);

/// Throws Error, naming the option, if a setting is out of its range or the uplink over the budget.
void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink);

}  // namespace polykern
