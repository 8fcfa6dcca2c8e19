#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/core/text.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// For tests only: a text that the option may have.
inline std::string RandomOptionText(const OptionDeclaration& option, Random& random) {
  std::vector<std::string> texts = OptionChoices(option);
  if (option.key == "dictionary") texts = {"gaussian", "mixed"};
  if (texts.empty()) {
    texts = {"yes", "no", std::string(option.zero.empty() ? "no" : option.zero),
             std::to_string(1 + random.Below(200)), ExactText(std::ldexp(random.Uniform(), -3))};
    std::erase_if(texts, [&](const std::string& text) {
      AlgorithmOptions options;
      try {
        SetOption(option, text, options);
        CheckRange(option, options);
        return false;
      } catch (const Error&) {  // of another type, or out of the range
        return true;
      }
    });
  }
  return texts.at(random.Below(texts.size()));
}

/// For tests only: a configuration that could be, with about half of all options set.
inline FederationConfiguration RandomConfiguration(std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  FederationConfiguration c;
  c.algorithm = AlgorithmNames()[random.Below(AlgorithmNames().size())];
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    if (random.Below(2) == 0) SetOption(option, RandomOptionText(option, random), c.options);
  }
  c.problem = {1 + random.Below(6), 1 + random.Below(1000), random.Bits()};
  c.scaling = std::vector<std::string>{"none", "norm", "range"}[random.Below(3)];
  c.norm = c.scaling == "norm" ? 0.5 + random.Uniform() : 1;
  if (c.scaling == "range" || random.Below(2) == 0) {
    for (std::size_t i = 0; i < c.problem.dimension; ++i) {
      const double low = 100 * random.Normal();
      c.columns.push_back({"column " + std::to_string(i), low, low + 1 + random.Uniform()});
    }
  }
  if (c.scaling != "none") c.target = {"y", -random.Uniform() - 1e-9, random.Uniform()};
  if (random.Below(8) == 0) c.labels = c.scaling == "none" ? "range" : "none";
  return c;
}

}  // namespace polykern
