#include "polykern/algorithms/engine.h"

#include "polykern/algorithms/algorithm.h"

namespace polykern {
namespace {

class Cpu final : public Engine {
 public:
  std::string_view name() const override { return "cpu"; }
  /// Enough to share a pass over the frequencies, few enough that their messages stay in the second
  /// cache.
  std::size_t cohort_size() const override { return 64; }
  std::unique_ptr<CohortStep> NewStep(const Algorithm& algorithm) const override {
    return algorithm.NewCpuStep();
  }
};

}  // namespace

const Engine& CpuEngine() {
  static const Cpu engine;
  return engine;
}

}  // namespace polykern
