#include "polykern/algorithms/paper/perfedavg.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/network.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using twin::Step;
using twin::Vector;

/// The network as nested sums; gradients by differences, exact up to rounding where the network is
/// linear in a parameter.
class SlowPerFedAvg {
 public:
  SlowPerFedAvg(const AlgorithmOptions& options, std::vector<std::size_t> layers, Vector w_at_start)
      : w(std::move(w_at_start)), o_(options), layers_(std::move(layers)) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Vector sum(w.size());
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      predictions.push_back(Output(w, step.x[k]));
      const auto gradient = [&](const Vector& at) { return Gradient(at, step.x[k], step.y[k]); };
      const Vector v = Moved(w, -o_.inner_rate, gradient(w));
      const Vector g = gradient(v);
      sum = Moved(sum, 1, g);
      if (!o_.hessian_free) continue;
      sum = Moved(sum, -o_.inner_rate / 0.002, gradient(Moved(w, 0.001, g)));
      sum = Moved(sum, o_.inner_rate / 0.002, gradient(Moved(w, -0.001, g)));
    }
    if (predictions.empty()) return predictions;
    w = Moved(w, -o_.meta_rate / static_cast<double>(predictions.size()), sum);
    return predictions;
  }

  Vector w;

 private:
  static Vector Moved(Vector from, double by, const Vector& along) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] += by * along[i];
    return from;
  }

  double Output(const Vector& at, Vector values) const {
    std::size_t next = 0;
    for (std::size_t l = 1; l < layers_.size(); ++l) {
      Vector out(layers_[l]);
      for (double& value : out) {
        for (const double in : values) value += at[next++] * in;
      }
      for (double& value : out) value += at[next++];
      if (l + 1 < layers_.size()) {
        for (double& value : out) value = std::max(value, 0.0);
      }
      values = out;
    }
    return values[0];
  }

  Vector Gradient(const Vector& at, const Vector& x, double y) const {
    constexpr double kStep = 1e-6;
    const double slope = twin::SlopeOf(o_.MakeLoss(), Output(at, x), y);
    Vector gradient;
    for (std::size_t i = 0; i < at.size(); ++i) {
      Vector moved = at;
      moved[i] = at[i] + kStep;
      const double above = Output(moved, x);
      moved[i] = at[i] - kStep;
      gradient.push_back(slope * (above - Output(moved, x)) / (2 * kStep));
    }
    return gradient;
  }

  AlgorithmOptions o_;
  std::vector<std::size_t> layers_;
};

TEST(PerFedAvg, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    for (const bool hessian_free : {false, true}) {
      AlgorithmOptions options = twin::TestOptions(loss);
      options.budget = 40;  // 3-7-1, 36 parameters
      options.hessian_free = hessian_free;
      options.inner_rate = 0.05;
      options.meta_rate = 0.05;
      const auto algorithm = NewPerFedAvg({nullptr, options, twin::kProblem});
      twin::Federation real(*algorithm);
      const auto& start = real.broadcast().model;
      EXPECT_EQ(start.size(), 36U);
      SlowPerFedAvg slow(options, {3, 7, 1}, real.server->Save());
      // Differences of gradients and the network's kinks make errors a little larger.
      twin::ExpectSamePredictions(real, slow, loss, 1e-4);
      EXPECT_LT(twin::RelativeError(real.broadcast().model, slow.w), 1e-4);
    }
  }
}

TEST(PerFedAvg, TheTwoVariantsDiffer) {
  const auto run = [](bool hessian_free) {
    AlgorithmOptions options = twin::TestOptions();
    options.budget = 40;
    options.hessian_free = hessian_free;
    options.inner_rate = options.meta_rate = 0.05;
    const auto algorithm = NewPerFedAvg({nullptr, options, twin::kProblem});
    twin::Federation real(*algorithm);
    for (const Step& step : twin::DrawSteps(50)) real.Run(step);
    return real.server->Save();
  };
  EXPECT_NE(run(false), run(true));
}

TEST(PerFedAvg, StartsFromTheSeed) {
  const auto start = [](std::uint64_t seed) {
    return NewPerFedAvg({nullptr, {}, {3, 10, seed}})->NewServer()->broadcast().model;
  };
  EXPECT_EQ(start(1), start(1));
  EXPECT_NE(start(1), start(2));
}

TEST(PerFedAvg, DescribesItself) {
  const auto algorithm = NewPerFedAvg({nullptr, {}, {15, 10, 0}});
  EXPECT_EQ(algorithm->name(), "perfedavg");
  EXPECT_EQ(algorithm->shape().blocks, 1U);
  EXPECT_EQ(algorithm->shape().update_size(), 761U);
  EXPECT_EQ(algorithm->experts(), 0U);
  EXPECT_EQ(algorithm->state_size(), 0U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

TEST(ChooseLayers, GivesThePapersNetworks) {
  EXPECT_THAT(ChooseLayers(15, 1000), ElementsAre(15, 20, 20, 1));  // Naval
  EXPECT_THAT(ChooseLayers(14, 1000), ElementsAre(14, 20, 20, 1));  // Air
  EXPECT_THAT(ChooseLayers(48, 1000), ElementsAre(48, 19, 1));      // WEC
  EXPECT_THAT(ChooseLayers(520, 1000), ElementsAre(520, 1, 1));     // UJI
}

TEST(ChooseLayers, FillsTheBudgetAndKeepsToIt) {
  for (std::size_t inputs : {1U, 8U, 47U, 48U, 300U}) {
    for (std::size_t budget = inputs + 3; budget < 2500; budget += 7) {
      const auto layers = ChooseLayers(inputs, budget);
      EXPECT_LE(Network::CountParameters(layers), budget);
      auto larger = layers;
      if (layers.size() == 3 && layers[1] < 20) {
        ++larger[1];
      } else {
        larger.insert(larger.end() - 1, 20);
      }
      EXPECT_GT(Network::CountParameters(larger), budget);
    }
  }
}

TEST(ChooseLayers, RefusesABudgetThatHoldsNoUnit) {
  EXPECT_NO_THROW(ChooseLayers(997, 1000));
  EXPECT_THAT([] { ChooseLayers(998, 1000); },
              testing::ThrowsMessage<Error>(
                  AllOf(HasSubstr("budget is 1000"), HasSubstr("1001 numbers"), HasSubstr("998"))));
  EXPECT_THROW(ChooseLayers(1, 0), Error);
}

}  // namespace
}  // namespace polykern
