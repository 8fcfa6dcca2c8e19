#include "polykern/gpu/fleet_shape.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/pof_gram.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/text.h"

namespace polykern::gpu {
namespace {

constexpr float kLargestAngle = 32768;  // core/sincos-inl.h

/// The fewest bytes of a block's own memory that every GPU has.
constexpr U32 kBlockMemory = 48 << 10;

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(what + " on a GPU yet: choose " + OptionName("device", "cpu"));
}

[[noreturn]] void RefuseAlgorithm(std::string_view name) {
  std::vector<std::string_view> others;
  for (const std::string_view other : AlgorithmNames()) {
    if (TraitsOf(other).client_half != ClientHalf::kOther) others.push_back(other);
  }
  throw Error(std::string(name) + " does not run on a GPU yet, but these do: " + Joined(others) +
              "; choose one with " + OptionName("algorithm") + ", or " +
              OptionName("device", "cpu"));
}

void FillPofMkl(const Algorithm& algorithm, FleetShape& shape) {
  const AlgorithmOptions& options = algorithm.definition().options;
  const Problem& problem = algorithm.definition().problem;
  const auto rate = [&](const std::optional<double>& given) {
    return options.schedule == Schedule::kAnytime
               ? Rate{given.value_or(1), Schedule::kAnytime}
               : Rate{ResolveRate(given, problem), Schedule::kConstant};
  };
  if (TraitsOf(algorithm.name()).plain_gradients) {  // the server knows how far to go
    shape.learning_rate = {1};
    shape.kernels.adahedge = true;
  } else {
    shape.learning_rate = rate(options.learning_rate);
    shape.weight_rate = rate(options.weight_rate);
  }
  shape.exploration = options.exploration.value_or(1);
  shape.kernels.private_weights = true;
  shape.kernels.chooses_kernels = true;
  shape.kernels.explores_only = shape.exploration == 1;
  shape.kernels.per_upload = static_cast<U32>(options.kernels_per_upload.value_or(1));
}

void FillPofGram(const Algorithm& algorithm, FleetShape& shape) {
  const AlgorithmOptions& options = algorithm.definition().options;
  const auto refuse = [](const std::string& what, const std::string& instead) {
    throw Error("pof-gram with " + what + " does not run on a GPU yet: choose " + instead +
                OptionName("device", "cpu"));
  };
  if (algorithm.definition().local_bank != nullptr) {
    refuse("private experts", OptionName("experts", "federated") + ", or ");
  }
  if (options.epsilon > 0) refuse("noise", "");
  if (options.masking != Masking::kNone) refuse("masks", OptionName("masking", "none") + ", or ");
  if (options.forgetting == kAutoForgetting) {
    refuse(OptionName("forgetting", "auto"), OptionName("forgetting", "1") + ", or ");
  }
  if (options.weighting == Weighting::kAggregating) {
    refuse(OptionName("weighting", "aggregating"), OptionName("weighting", "adahedge") + ", or ");
  }
  const KernelBank& bank = *algorithm.definition().bank;
  shape.kernels.sizes = static_cast<U32>(GramGrid(bank.kernels(), bank.features()).sizes());
  shape.kernels.private_weights = true;
  shape.kernels.adahedge = options.weighting == Weighting::kAdaHedge;
  if (!shape.kernels.adahedge) {
    shape.weight_rate = Rate{options.weight_rate.value_or(kUnitRate), Schedule::kConstant};
  }
  shape.pace = GramPaceOf(options);
}

}  // namespace

FleetShape ShapeOf(const Algorithm& algorithm, bool at_start) {
  const AlgorithmDefinition& definition = algorithm.definition();
  FleetShape shape;
  switch (TraitsOf(algorithm.name()).client_half) {
    case ClientHalf::kOther:
      RefuseAlgorithm(algorithm.name());
    case ClientHalf::kChosenKernels:
      FillPofMkl(algorithm, shape);
      break;
    case ClientHalf::kExperts:
      FillPofGram(algorithm, shape);
      break;
    case ClientHalf::kEveryKernel:
      shape.learning_rate = {ResolveRate(definition.options.learning_rate, definition.problem)};
      shape.sends_losses = algorithm.shape().loss_per_block;
      shape.kernels.per_upload = static_cast<U32>(definition.bank->kernels());
  }
  if (algorithm.loss().kind == LossKind::kLogistic) {
    Refuse(OptionName("loss", "logistic") + " does not run");
  }
  shape.kernels.scores_are_losses = shape.kernels.private_weights && at_start;
  shape.kernels.huber = algorithm.loss().kind == LossKind::kHuber;
  shape.kernels.dimension = static_cast<U32>(definition.bank->dimension());
  const bool has_sizes = shape.kernels.sizes > 0;  // then these are experts
  shape.kernels.kernels =
      static_cast<U32>(has_sizes ? algorithm.experts() : definition.bank->kernels());
  shape.kernels.features = static_cast<U32>(definition.bank->features());
  shape.kernels.shared_draw = !definition.bank->SharedFrequencies().empty();
  if (64 * shape.kernels.stride() * sizeof(float) > kBlockMemory - (12 << 10)) {
    Refuse(std::to_string(definition.bank->dimension()) + " inputs do not fit");
  }
  return shape;
}

U32 KernelShape::feature_tile() const {
  const U32 whole = sizes > 0 ? 8 : 4;  // pof-gram adds up every eighth number together
  const U32 fitting = (16U << 10) / (4 * (stride() + 2)) / whole * whole;
  return std::clamp(fitting, 4U, padded_features());
}

U32 KernelShape::past_rows() const {
  return std::clamp((12U << 10) / (4 * stride()), 16U, 128U);
}

bool MayHaveLargeAngles(const Algorithm& algorithm, float longest_sample) {
  const KernelBank& bank = *algorithm.definition().bank;
  for (std::size_t i = 0; i < bank.kernels(); ++i) {
    if (!(bank.LongestFrequency(i) * longest_sample <= 0.99F * kLargestAngle)) return true;
  }
  return false;
}

namespace {

void CopyRows(std::span<const float> rows, std::size_t dimension, std::size_t stride, float* to) {
  for (std::size_t row = 0; row * dimension < rows.size(); ++row) {
    std::ranges::copy(rows.subspan(row * dimension, dimension), to + row * stride);
  }
}

}  // namespace

std::vector<float> PackFrequencies(const Algorithm& algorithm, const KernelShape& shape) {
  const KernelBank& bank = *algorithm.definition().bank;
  const std::size_t size = std::size_t{shape.padded_features()} * shape.stride();
  std::vector<float> packed((shape.shared_draw ? 1 : bank.kernels()) * size);
  for (std::size_t i = 0; i * size < packed.size(); ++i) {
    const auto rows = shape.shared_draw ? bank.SharedFrequencies() : bank.Frequencies(i);
    CopyRows(rows, shape.dimension, shape.stride(), packed.data() + i * size);
  }
  return packed;
}

void PackModel(std::span<const float> model, const KernelShape& shape, std::span<float> packed) {
  for (std::size_t part = 0; part < 2 * std::size_t{shape.kernels}; ++part) {
    std::ranges::copy(model.subspan(part * shape.features, shape.features),
                      packed.begin() + static_cast<std::ptrdiff_t>(part * shape.padded_features()));
  }
}

}  // namespace polykern::gpu
