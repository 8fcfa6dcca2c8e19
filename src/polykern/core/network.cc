#include "polykern/core/network.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace polykern {

Network::Network(std::vector<std::size_t> layers)
    : layers_(std::move(layers)),
      parameters_(CountParameters(layers_)),
      units_(std::accumulate(layers_.begin(), layers_.end(), std::size_t{0})) {
  assert(layers_.size() >= 2 && layers_.back() == 1);
  assert(std::ranges::find(layers_, 0U) == layers_.end());
}

std::size_t Network::CountParameters(std::span<const std::size_t> layers) {
  std::size_t count = 0;
  for (std::size_t l = 1; l < layers.size(); ++l) count += layers[l] * (layers[l - 1] + 1);
  return count;
}

std::vector<double> Network::DrawParameters(Random random) const {
  std::vector<double> parameters;
  parameters.reserve(parameters_);
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const double deviation = std::sqrt(2 / static_cast<double>(layers_[l - 1]));
    for (std::size_t i = 0; i < layers_[l] * layers_[l - 1]; ++i) {
      parameters.push_back(deviation * random.Normal());
    }
    parameters.insert(parameters.end(), layers_[l], 0.0);
  }
  return parameters;
}

double Network::Forward(std::span<const double> parameters, std::span<const float> x,
                        Activations& activations) const {
  assert(parameters.size() == parameters_ && x.size() == layers_.front());
  activations.values.resize(units_);
  std::ranges::copy(x, activations.values.begin());
  const double* weights = parameters.data();
  double* in = activations.values.data();
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const std::size_t inputs = layers_[l - 1];
    const std::size_t outputs = layers_[l];
    const double* biases = weights + outputs * inputs;
    double* out = in + inputs;
    for (std::size_t o = 0; o < outputs; ++o, weights += inputs) {
      out[o] = std::inner_product(in, in + inputs, weights, biases[o]);
      if (l + 1 < layers_.size()) out[o] = std::max(out[o], 0.0);
    }
    weights += outputs;
    in = out;
  }
  return *in;
}

void Network::Backward(std::span<const double> parameters, double slope, Activations& activations,
                       std::span<double> gradient) const {
  assert(parameters.size() == parameters_ && gradient.size() == parameters_);
  activations.errors.assign(units_, 0);
  activations.errors.back() = slope;
  const double* weights = parameters.data() + parameters_;
  double* slopes = gradient.data() + parameters_;
  std::size_t end = units_;  // of the layer's outputs
  for (std::size_t l = layers_.size() - 1; l > 0; --l) {
    const std::size_t inputs = layers_[l - 1];
    const std::size_t outputs = layers_[l];
    const double* out_errors = activations.errors.data() + end - outputs;
    const double* in = activations.values.data() + end - outputs - inputs;
    double* in_errors = activations.errors.data() + end - outputs - inputs;
    weights -= outputs * (inputs + 1);
    slopes -= outputs * (inputs + 1);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double error = out_errors[o];
      for (std::size_t i = 0; i < inputs; ++i) {
        slopes[o * inputs + i] = error * in[i];
        in_errors[i] += error * weights[o * inputs + i];
      }
      slopes[outputs * inputs + o] = error;
    }
    if (l > 1) {
      for (std::size_t i = 0; i < inputs; ++i) {
        if (!(in[i] > 0)) in_errors[i] = 0;
      }
    }
    end -= outputs;
  }
}

}  // namespace polykern
