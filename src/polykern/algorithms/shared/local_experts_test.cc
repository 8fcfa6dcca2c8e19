#include "polykern/algorithms/shared/local_experts.h"

#include <algorithm>
#include <set>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern {
namespace {

using twin::Vector;

/// One client's experts: the real ones beside regressions that are solved anew.
class ExpertScene {
 public:
  explicit ExpertScene(std::vector<LocalRule> rules)
      : rules_(rules), experts(*bank, std::move(rules), 1), state(experts.StateSize()) {}

  /// Takes a sample with this base, and compares what the experts say first.
  void Take(const Vector& x, double base, double y, bool based = true) {
    const std::vector<float> numbers(x.begin(), x.end());
    const std::vector<std::uint64_t> clients = {0};
    std::vector<double*> states = {state.data()};
    const Samples samples{clients, numbers, states, {}, nullptr};
    features_.Evaluate(samples);
    std::vector<float> predictions(experts.experts());
    experts.Predict(0, base, state, features_, predictions);
    for (std::size_t i = 0; i < experts.experts(); ++i) {
      const LocalRule& rule = rules_[i % rules_.size()];
      const Vector z = twin::FeaturesOf(*bank, i, x);
      const double from = rule.alone ? 0.5 : base;
      double expected = base;
      if (static_cast<double>(samples_[i].size()) >= rule.listening * twin::kWidth) {
        expected = from + twin::Dot(twin::RidgeSolution(samples_[i], rule.ridge, twin::kWidth), z);
        corrected += std::abs(expected - base);
      }
      EXPECT_NEAR(predictions[i], std::clamp(expected, 0.0, 1.0), 1e-5) << "expert " << i;
      if (based || rule.alone) samples_[i].push_back({z, y - from});
    }
    experts.Learn(0, base, y, features_, state, scratch_, based);
  }

 private:
  std::vector<LocalRule> rules_;
  std::shared_ptr<const PackedKernels> packed_ = std::make_shared<PackedKernels>(*twin::Bank());
  CohortFeatures features_{*packed_};
  std::vector<std::vector<twin::Weighted>> samples_ =
      std::vector<std::vector<twin::Weighted>>(twin::kKernels);
  std::vector<double> scratch_;

 public:
  std::shared_ptr<const KernelBank> bank = twin::Bank();
  LocalExperts experts;
  Vector state;
  double corrected = 0;
};

double BaseAt(const twin::Step& step) {
  return 0.3 + 0.4 * step.x[0][0];
}

TEST(LocalExperts, CorrectTheBaseByWhatItLeftOver) {
  ExpertScene scene(std::vector<LocalRule>{{.ridge = 0.2}});
  for (const twin::Step& step : twin::DrawSteps(60)) scene.Take(step.x[0], BaseAt(step), step.y[0]);
  EXPECT_GT(scene.corrected, 1);
}

TEST(LocalExperts, ListenBeforeTheySpeak) {
  ExpertScene scene(std::vector<LocalRule>{{.ridge = 0.2, .listening = 2}});
  const auto steps = twin::DrawSteps(40);
  for (const twin::Step& step : steps) {
    scene.Take(step.x[0], BaseAt(step), step.y[0]);
    if (step.t < 2 * twin::kWidth) {
      EXPECT_EQ(scene.corrected, 0) << "step " << step.t;
    }
  }
  EXPECT_GT(scene.corrected, 0.1);
}

TEST(LocalExperts, ThatStayAloneLearnBeforeThereIsABase) {
  ExpertScene scene(std::vector<LocalRule>{{.ridge = 0.2}, {.ridge = 0.5, .alone = true}});
  for (const twin::Step& step : twin::DrawSteps(30)) {
    scene.Take(step.x[0], BaseAt(step), step.y[0], step.t >= 15);
  }
  EXPECT_GT(scene.corrected, 1);
}

TEST(LocalExperts, ScaleWithTheirLabels) {
  ExpertScene once(std::vector<LocalRule>{{.ridge = 0.2}});
  ExpertScene thrice(std::vector<LocalRule>{{.ridge = 0.2}});
  for (const twin::Step& step : twin::DrawSteps(30)) {
    const double left_over = (step.y[0] - 0.5) / 4;
    once.Take(step.x[0], 0.5, 0.5 + left_over / 3);
    thrice.Take(step.x[0], 0.5, 0.5 + left_over);
  }
  once.experts.ScaleLabels(3, once.state);
  for (std::size_t i = 0; i < once.state.size(); ++i) {
    EXPECT_NEAR(once.state[i], thrice.state[i], 1e-5 * std::max(1.0, std::abs(once.state[i])));
  }
}

TEST(LocalExperts, AllForgetWhatIsAskedFor) {
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(LocalExperts::ForgettingOf(0.9, i, 3), 0.9);
}

TEST(LocalExperts, NeighboursDifferInWhatTheyForget) {
  for (const std::size_t rules : {1U, 2U}) {
    std::set<double> all;
    for (std::size_t i = 0; i < 16; ++i) {
      const double own = LocalExperts::ForgettingOf(kAutoForgetting, i, rules);
      all.insert(own);
      EXPECT_NE(own, LocalExperts::ForgettingOf(kAutoForgetting, i + rules, rules))
          << "expert " << i << " of " << rules << " rules and the next bandwidth's";
    }
    EXPECT_EQ(all.size(), std::size(LocalExperts::kFactors));
  }
}

TEST(LocalExperts, HaveAsManyFeaturesAsFit) {
  const auto bytes = [](std::size_t kernels, std::size_t features) {
    const std::size_t width = 2 * features;
    return 8 * kernels * (1 + width + width * width);
  };
  for (const std::size_t kernels : {1U, 7U, 51U}) {
    for (const std::size_t most : {1U, 3U, 40U}) {
      for (std::size_t room = 0; room < 200'000; room = room * 3 / 2 + 50) {
        const std::size_t fit = LocalExperts::FittingFeatures(kernels, room, most);
        EXPECT_LE(fit, most);
        EXPECT_TRUE(fit == 0 || bytes(kernels, fit) <= room);
        EXPECT_TRUE(fit == most || bytes(kernels, fit + 1) > room);
      }
    }
  }
}

}  // namespace
}  // namespace polykern
