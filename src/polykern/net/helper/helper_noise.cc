#include "polykern/net/helper/helper_noise.h"

#include <cassert>
#include <sstream>

#include <openssl/crypto.h>

namespace polykern {

HelperNoise::HelperNoise(const NoiseTerms& terms) : terms_(terms), noise_(terms.numbers) {
  const std::uint64_t sigma = terms.Sigma();
  SystemBits bits;
  DiscreteGaussian gaussian(sigma * sigma, bits);
  DrawNoise(gaussian, noise_);
}

HelperNoise::~HelperNoise() {
  OPENSSL_cleanse(noise_.data(), noise_.size() * sizeof(std::uint64_t));
}

std::vector<std::uint64_t> HelperNoise::Answer(const ReleaseHistory& streams) const {
  assert(noise_.size() == streams.numbers());
  std::vector<std::uint64_t> answer(streams.numbers());
  Correlate(ReleaseWeights(terms_.releases), streams, answer);
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] -= noise_[i];
  return answer;
}

std::string EpsilonWords(double epsilon, double delta) {
  std::ostringstream words;
  words << "epsilon " << epsilon << " at delta " << delta;
  return words.str();
}

std::string WordsOf(const NoiseTerms& terms) {
  if (!terms.noisy()) return "no noise";
  std::ostringstream words;
  words << EpsilonWords(terms.epsilon, terms.delta) << " in " << terms.releases << " releases of "
        << terms.numbers << " numbers in units of " << terms.ring.unit << ", "
        << terms.samples_per_event << (terms.samples_per_event == 1 ? " sample" : " samples")
        << " for each row";
  return words.str();
}

}  // namespace polykern
