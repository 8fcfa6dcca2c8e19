#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  std::string dictionary = "gaussian";       ///< which kernels, see MakeDictionary
  std::size_t kernels = 51;                  ///< N, kernels in the dictionary
  std::size_t kernels_per_upload = 1;        ///< M, kernels a client sends per step
  std::optional<std::size_t> features = {};  ///< D per kernel; unset: what the budget allows
  std::size_t budget = 1000;                 ///< most numbers a client sends per step
  bool orthogonal = false;                   ///< orthogonal instead of independent features
  bool shared_draws = false;                 ///< Gaussian kernels share one draw: faster
  double exploration = 1;                    ///< xi in (0, 1]
  std::optional<double> learning_rate = {};  ///< eta; unset: 1 / sqrt(T), pof-adagrad: 1
  std::optional<double> weight_rate = {};    ///< eta_k; unset: 1 / sqrt(T)
  Schedule schedule = Schedule::kConstant;   ///< pof-mkl: of both rates; kAnytime: they are c or 1
  double regularization = 1e-6;              ///< lambda >= 0
  Loss loss = {};                            ///< what a prediction costs
  double single_bandwidth = 10;              ///< ofskl: sigma of its kernel
  bool hessian_free = false;                 ///< perfedavg: second order, by differences
  double inner_rate = 0.01;                  ///< perfedavg: alpha, of a client's own step
  double meta_rate = 0.001;                  ///< perfedavg: beta, of the server's step
  double projection_radius = 10;             ///< fomd-oms: U, most norm(theta_i) can be
};

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

/// D: the given one, or the largest that the budget allows, at most the paper's 100.
std::size_t ResolveFeatures(const AlgorithmOptions& options, const Uplink& uplink);

/// The given rate, or 1 / sqrt(T).
double ResolveRate(const std::optional<double>& given, const Problem& problem);

/// Throws Error, naming the option, if a setting is out of its range or the uplink over the budget.
void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink);

}  // namespace polykern
