#include "polykern/scalar/scalar_engine.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

using twin::Vector;

/// A change to options that every algorithm takes.
struct Variant {
  std::string name;
  std::function<void(AlgorithmOptions&)> change;
};

std::vector<Variant> Variants() {
  return {
      {"as they are", [](auto&) {}},
      {"all kernels sent",
       [](auto& o) {
         o.kernels_per_upload = twin::kKernels;
         o.exploration = 1;
         o.hessian_free = true;
         o.experts = Experts::kFederated;
         o.weighting = Weighting::kHedge;
       }},
      {"one of them, anytime",
       [](auto& o) {
         o.kernels_per_upload = 1;
         o.exploration = 1;
         o.schedule = Schedule::kAnytime;
         o.weighting = Weighting::kAggregating;
         o.forgetting = 1;
       }},
      {"clients that find out how fast to forget",
       [](auto& o) {
         o.forgetting = kAutoForgetting;
         o.local_kernels = 5;
       }},
      {"noisy sums",
       [](auto& o) {
         o.epsilon = 0.5;
         o.local_kernels = 2;
       }},
      {"a shared draw",
       [](auto& o) {
         o.shared_draws = true;
         o.features = 4;
       }},
      {"laplacian kernels, whose angles are long",
       [](auto& o) {
         o.dictionary = "laplacian";
         o.features = 6;
       }},
  };
}

AlgorithmOptions OptionsOf(const Variant& variant, LossKind loss) {
  AlgorithmOptions options = twin::TestOptions(loss);
  options.kernels_per_upload = 2;
  options.exploration = 0.4;
  options.learning_rate = 0.1;
  options.meta_rate = 0.05;
  options.forgetting = 0.98;
  options.local_memory = 32;
  variant.change(options);
  return options;
}

/// Predictions, states and the server after each of 40 steps; `engine` takes the clients.
Vector Everything(const Algorithm& algorithm, const Engine& engine, LossKind loss) {
  twin::Federation federation(algorithm, engine);
  Vector all;
  const auto append = [&](const auto& numbers) {
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  for (const twin::Step& step : twin::DrawSteps(40, loss)) {
    append(federation.Run(step));
    append(federation.broadcast().model);
  }
  for (const Vector& state : federation.states) append(state);
  append(federation.server->Save());
  return all;
}

class EveryEngine : public testing::TestWithParam<std::string_view> {
 protected:
  /// Calls check(algorithm, loss) for every variant and every loss.
  template <class Check>
  void ForEachSetting(const Check& check) const {
    for (const Variant& variant : Variants()) {
      for (const LossKind loss : twin::kLosses) {
        if (!SuitsLoss(GetParam(), loss)) continue;
        SCOPED_TRACE(variant.name);
        check(*MakeAlgorithm(GetParam(), OptionsOf(variant, loss), twin::kProblem), loss);
      }
    }
  }
};

TEST_P(EveryEngine, HasTheScalarBitsOnEveryUnitWithFusedMultiplyAdd) {
  const auto targets = FusedTargets();
  if (targets.empty()) GTEST_SKIP() << "this machine has no fused multiply-add";
  ForEachSetting([&](const Algorithm& algorithm, LossKind loss) {
    const Vector expected = Everything(algorithm, ScalarEngine(), loss);
    OnEveryTarget([&] { EXPECT_EQ(Everything(algorithm, CpuEngine(), loss), expected); }, targets);
  });
}

TEST_P(EveryEngine, PredictsAlikeOnUnitsWithout) {
  // A feature is off by up to 2e-7 there, and 15 steps from the same start add few of these up.
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  std::erase_if(targets, IsFused);
  if (targets.empty()) GTEST_SKIP() << "all vector units here have fused multiply-add";
  ForEachSetting([&](const Algorithm& algorithm, LossKind loss) {
    OnEveryTarget(
        [&] {
          twin::Federation cpu(algorithm, CpuEngine());
          twin::Federation scalar(algorithm, ScalarEngine());
          for (const twin::Step& step : twin::DrawSteps(15, loss)) {
            const Vector ours = cpu.Run(step);
            const Vector expected = scalar.Run(step);
            for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 1e-4);
          }
        },
        targets);
  });
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryEngine,
                         testing::ValuesIn(AlgorithmNames().begin(), AlgorithmNames().end()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(ScalarEngine, HasTheCpusBitsAtAnglesOfEverySize) {
  const auto targets = FusedTargets();
  if (targets.empty()) GTEST_SKIP() << "this machine has no fused multiply-add";
  AlgorithmOptions options;
  options.features = 9;
  options.single_bandwidth = 1e-4;
  const auto algorithm = MakeAlgorithm("ofskl", options, {2, 10, 1});
  Broadcast broadcast;
  for (std::size_t j = 0; j < algorithm->shape().width; ++j) {
    broadcast.model.push_back(0.3F - 0.1F * static_cast<float>(j));
  }
  const std::vector<std::uint64_t> ids = {0, 1, 2, 3, 4};
  const std::vector<float> x = {0, 0, 1e-6F, 0, 0.5F, -2, 300, 40, -1e6F, 7};
  const std::vector<double*> states(5);
  const auto slow = ScalarEngine().NewStep(*algorithm);
  slow->Predict(broadcast, {ids, x, states, {}});
  OnEveryTarget(
      [&] {
        const auto fast = CpuEngine().NewStep(*algorithm);
        fast->Predict(broadcast, {ids, x, states, {}});
        EXPECT_THAT(fast->predictions(), testing::ElementsAreArray(slow->predictions()));
      },
      targets);
}

/// An algorithm that nobody knows.
class Nameless final : public Algorithm {
 public:
  Nameless() : Algorithm({}) {}
  std::string_view name() const override { return "nameless"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return 0; }
  std::size_t state_size() const override { return 0; }
  std::unique_ptr<Server> NewServer() const override { return nullptr; }
  std::unique_ptr<CohortStep> NewCpuStep() const override { return nullptr; }

 private:
  ModelShape shape_;
  Loss loss_;
};

TEST(ScalarEngine, SaysWhichAlgorithmItDoesNotHave) {
  EXPECT_THAT([] { ScalarEngine().NewStep(Nameless()); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("nameless")));
}

}  // namespace
}  // namespace polykern
