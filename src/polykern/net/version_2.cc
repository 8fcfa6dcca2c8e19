#include "polykern/net/version_2.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// A name of version 2. Frozen, like everything here: it says what those programs know.
struct OldName {
  std::string_view name;
  std::string_view value = {};    ///< unless another is set; "": then the name is left out
  std::string_view choices = {};  ///< every value it may have, with blanks around; "": any
  std::string_view not_yet = {};  ///< values that came later, with blanks around
};

constexpr std::array kOldNames = std::to_array<OldName>({
    {"algorithm", "",
     " pof-mkl pof-newton pof-adagrad ofskl ofmkl-avg vm-kofl em-kofl fomd-oms perfedavg local "
     "local-rls "},
    {"dictionary", "gaussian",
     " gaussian laplacian matern12 matern32 matern52 cauchy rational-quadratic mixed "},
    {"kernels", "51"},
    {"kernels_per_upload"},
    {"features"},
    {"budget", "1000"},
    {"orthogonal", "no", " yes no "},
    {"shared_draws", "no", " yes no "},
    {"exploration"},
    {"learning_rate"},
    {"weight_rate"},
    {"schedule", "constant", " constant anytime "},
    {"regularization", "1e-06"},
    {"loss", "squared", " squared huber logistic "},
    {"huber_delta", "0.1"},
    {"single_bandwidth", "10"},
    {"hessian_free", "no", " yes no "},
    {"inner_rate", "0.01"},
    {"meta_rate", "0.001"},
    {"projection_radius", "10"},
    {"weighting", "adahedge", " hedge adahedge aggregating "},
    {"ridge", "1e-04"},
    {"forgetting", "1", "", " auto "},
    {"refresh", "0.02"},
    {"server_memory", "4096"},
    {"local_experts", "yes", " yes no "},
    {"local_kernels", "8"},
    {"local_memory"},
    {"dimension"},
    {"horizon"},
    {"seed"},
    {"scaling", "none", " none norm range "},
    {"norm", "1"},
    {"target", "0:1 "},
});

/// experts = "federated" was local_experts = "no".
constexpr std::array kExperts = {std::pair{"federated", "no"}, std::pair{"federated,local", "yes"}};

}  // namespace

ConfigurationTexts ForVersion2(const ConfigurationTexts& texts) {
  ConfigurationTexts old;
  for (const OldName& known : kOldNames) {
    if (!known.value.empty()) old.emplace(known.name, known.value);
  }
  for (const auto& [name, text] : texts) {
    if (name.starts_with("column.")) {
      old[name] = text;
      continue;
    }
    std::string old_name = name;
    std::string old_text = text;
    for (const auto& [now, before] : kExperts) {
      if (name != "experts" || text != now) continue;
      old_name = "local_experts";
      old_text = before;
    }
    const auto* known = std::ranges::find(kOldNames, old_name, &OldName::name);
    if (known == kOldNames.end() ||
        known->not_yet.find(" " + old_text + " ") != std::string_view::npos ||
        (!known->choices.empty() &&
         known->choices.find(" " + old_text + " ") == std::string_view::npos)) {
      throw Error("this federation's " + name + " ('" + text.substr(0, 60) +
                  "') is newer than version 2 of the protocol: update this client");
    }
    old[old_name] = old_text;
  }
  return old;
}

ConfigurationTexts FromVersion2(ConfigurationTexts texts) {
  const auto found = texts.find("local_experts");
  if (found == texts.end() || texts.contains("experts")) return texts;
  for (const auto& [now, before] : kExperts) {
    if (found->second != before) continue;
    texts.emplace("experts", now);
    texts.erase("local_experts");
    break;
  }
  return texts;
}

}  // namespace polykern
