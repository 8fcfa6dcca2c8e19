#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/core/random.h"

namespace polykern {

/// A small fully connected network with one output: ReLU after every layer but the last. Its
/// parameters are one vector, layer after layer: the weights (outputs x inputs), then the biases.
/// Immutable; threads may share it, each with its own activations.
class Network {
 public:
  /// What Forward leaves for Backward; reused from call to call.
  struct Activations {
    std::vector<double> values;  ///< of every layer, the inputs first
    std::vector<double> errors;  ///< d f / d value, likewise
  };

  /// Units of each layer, the inputs first; at least two layers, none empty, the last of 1.
  explicit Network(std::vector<std::size_t> layers);
  static std::size_t CountParameters(std::span<const std::size_t> layers);

  const std::vector<std::size_t>& layers() const { return layers_; }
  std::size_t parameters() const { return parameters_; }

  /// Weights for ReLU units: normal with variance 2 / inputs of the layer (He et al. 2015);
  /// biases 0.
  std::vector<double> DrawParameters(Random random) const;

  /// The output for one sample.
  double Forward(std::span<const double> parameters, std::span<const float> x,
                 Activations& activations) const;
  /// slope * d output / d parameters at what Forward saw last. A unit at 0 passes nothing on.
  void Backward(std::span<const double> parameters, double slope, Activations& activations,
                std::span<double> gradient) const;

 private:
  std::vector<std::size_t> layers_;
  std::size_t parameters_;
  std::size_t units_;
};

}  // namespace polykern
