#include "polykern/scalar/client_step_internal.h"

namespace polykern::scalar {

void ClientStep::PredictCohort() {
  predictions_.clear();
  kernel_predictions_.clear();
  for (std::size_t c = 0; c < clients(); ++c) {
    const Prediction prediction = PredictClient(c);
    predictions_.push_back(prediction.value);
    kernel_predictions_.insert(kernel_predictions_.end(), prediction.kernels.begin(),
                               prediction.kernels.end());
  }
}

void ClientStep::LearnLabels(std::span<const double> labels) {
  kernel_losses_.clear();
  updates_.Clear();
  updates_.step = broadcast().step;
  updates_.clients.assign(samples().clients.begin(), samples().clients.end());
  updates_.probability.assign(clients(), 1);
  for (std::size_t c = 0; c < clients(); ++c) {
    LearnClient(c, labels[c]);
    updates_.first.push_back(updates_.blocks.size());
  }
}

Floats ClientStep::F(std::size_t c) const {
  Floats f;
  for (std::size_t i = 0; i < kernels_; ++i) {
    f.push_back(ThetaDotZ(Theta(i), WavesOf(bank(), i, X(c))));
  }
  return f;
}

void ClientStep::SendGradient(std::size_t c, std::size_t i, float f, double label, double rate) {
  const auto along_z = static_cast<float>(rate * loss().Slope(static_cast<double>(f), label));
  const auto along_theta = static_cast<float>(rate * 2 * options_.regularization);
  Floats step = Z(c, i);
  for (std::size_t j = 0; j < step.size(); ++j) {
    step[j] = along_z * step[j] + along_theta * Theta(i)[j];
  }
  Send(i, step);
}

}  // namespace polykern::scalar
