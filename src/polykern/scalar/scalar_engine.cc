#include "polykern/scalar/scalar_engine.h"

#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/scalar/client_step_internal.h"

namespace polykern {
namespace {

struct ScalarEntry {
  std::string_view algorithm;
  std::unique_ptr<CohortStep> (*make)(const Algorithm&);
};

constexpr ScalarEntry kScalarSteps[] = {
    {"pof-mkl", scalar::NewPofMklStep},      {"pof-newton", scalar::NewPofNewtonStep},
    {"pof-gram", scalar::NewPofGramStep},    {"pof-adagrad", scalar::NewPofMklStep},
    {"ofskl", scalar::NewEveryKernelStep},   {"ofmkl-avg", scalar::NewEveryKernelStep},
    {"vm-kofl", scalar::NewEveryKernelStep}, {"em-kofl", scalar::NewEmKoflStep},
    {"fomd-oms", scalar::NewFomdOmsStep},    {"fed-poe", scalar::NewFedPoeStep},
    {"perfedavg", scalar::NewPerFedAvgStep}, {"local", scalar::NewLocalStep},
    {"local-rls", scalar::NewLocalRlsStep},
};

class Scalar final : public Engine {
 public:
  std::string_view name() const override { return "scalar"; }
  std::size_t cohort_size() const override { return 1; }
  std::unique_ptr<CohortStep> NewStep(const Algorithm& algorithm) const override {
    for (const ScalarEntry& entry : kScalarSteps) {
      if (entry.algorithm != algorithm.name()) continue;
      const bool tracks = algorithm.definition().options.forgetting == kAutoForgetting &&
                          algorithm.definition().problem.ahead == 1 &&
                          UsesOption(entry.algorithm, *FindOption("forgetting"));
      auto step = entry.make(algorithm);
      return tracks ? scalar::NewTrackingStep(algorithm, std::move(step)) : std::move(step);
    }
    throw Error("the scalar engine does not have " + std::string(algorithm.name()));
  }
};

}  // namespace

const Engine& ScalarEngine() {
  static const Scalar engine;
  return engine;
}

}  // namespace polykern
