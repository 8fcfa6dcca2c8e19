// POF-MKL with rates c / sqrt(t), which needs no horizon. Its slow version is in tests/golden.

#include <functional>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Vector;

Matrix PredictionsOf(std::size_t horizon, std::size_t steps, Schedule schedule) {
  AlgorithmOptions options;
  options.kernels = twin::kKernels;
  options.features = twin::kFeatures;
  options.kernels_per_upload = 3;
  options.exploration = 0.4;
  options.schedule = schedule;
  const auto algorithm =
      NewPofMkl({twin::Bank(), options, {twin::kDimension, horizon, twin::kSeed}});
  twin::Federation federation(*algorithm);
  Matrix predictions;
  for (const twin::Step& step : twin::DrawSteps(steps)) {
    predictions.push_back(federation.Run(step));
  }
  return predictions;
}

TEST(PofMklAnytime, APrefixOfARunHasTheBitsOfAShorterRun) {
  const Matrix endless = PredictionsOf(0, 60, Schedule::kAnytime);
  const Matrix shorter = PredictionsOf(25, 25, Schedule::kAnytime);
  EXPECT_EQ(Matrix(endless.begin(), endless.begin() + 25), shorter);
  EXPECT_EQ(PredictionsOf(60, 60, Schedule::kAnytime), endless);
  EXPECT_NE(PredictionsOf(60, 25, Schedule::kConstant), PredictionsOf(25, 25, Schedule::kConstant))
      << "constant rates do depend on the horizon";
}

TEST(PofMklAnytime, UnsetRatesAreOneOverTheRootOfTheStep) {
  AlgorithmOptions options = twin::TestOptions();
  options.schedule = Schedule::kAnytime;
  options.learning_rate.reset();
  options.weight_rate.reset();
  const auto unset = NewPofMkl({twin::Bank(), options, {twin::kDimension, 0, twin::kSeed}});
  options.learning_rate = options.weight_rate = 1;
  const auto given = NewPofMkl({twin::Bank(), options, {twin::kDimension, 0, twin::kSeed}});
  twin::Federation a(*unset);
  twin::Federation b(*given);
  for (const twin::Step& step : twin::DrawSteps(30)) EXPECT_EQ(a.Run(step), b.Run(step));
}

TEST(PofMklAnytime, MakesNoUseOfTheoremTwo) {
  AlgorithmOptions options = twin::TestOptions();
  options.schedule = Schedule::kAnytime;
  EXPECT_EQ(NewPofMkl({twin::Bank(), options, {twin::kDimension, 0, 0}})->weight_rate(), 0);
}

/// What an adversary lets the kernels lose, 0 .. 1, when the client has these weights.
using Adversary = std::function<double(std::size_t t, std::size_t kernel, const Vector& weights)>;

/// One client that plays `steps` steps against the adversary, with c = 1. All frequencies are 0, so
/// f_i is the last number of theta_i. With Huber's loss of a label 0, delta = 1/100 and f up to 50
/// the loss 0.02 f - 0.0001 is linear but near 0: nothing is won by the loss being curved.
double RegretAgainst(const Adversary& adversary, std::size_t kernels, std::size_t steps) {
  AlgorithmOptions options;
  options.kernels = kernels;
  options.regularization = 0;
  options.loss = LossKind::kHuber;
  options.huber_delta = 0.01;
  options.schedule = Schedule::kAnytime;
  const auto bank = std::make_shared<const KernelBank>(std::vector<float>(kernels), kernels, 1, 1);
  const auto algorithm = NewPofMkl({bank, options, {1, 0, 0}});
  Vector state(kernels);
  double* const states[] = {state.data()};
  const std::uint64_t ids[] = {0};
  const float x[] = {0};
  const double labels[] = {0};
  const auto step = algorithm->NewCpuStep();
  Broadcast broadcast;
  broadcast.model.resize(2 * kernels);
  double mine = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    const Vector weights = twin::WeightsOf(state, 1 / std::sqrt(static_cast<double>(t + 1)));
    broadcast.step = t;
    for (std::size_t i = 0; i < kernels; ++i) {
      broadcast.model[2 * i + 1] = static_cast<float>(50 * adversary(t, i, weights));
    }
    const Samples samples{ids, x, states, {}};
    step->Predict(broadcast, samples);
    mine += algorithm->loss().Value(step->predictions()[0], 0);
    step->Learn(labels);
    for (const double loss : step->kernel_losses()) EXPECT_TRUE(loss >= 0 && loss <= 1) << loss;
  }
  return mine - *std::ranges::min_element(state);
}

TEST(PofMklAnytime, KeepsTheRegretBoundOfDecreasingRates) {
  // Let P_t(eta) = -ln(sum_i exp(-eta L_i) / N) / eta with the losses L_i of steps 1 .. t. The
  // weights of step t are those of rate eta_t, so by Hoeffding's lemma, for losses in [0, 1],
  //   sum_i w_i l_i <= P_t(eta_t) - P_t-1(eta_t) + eta_t / 8.
  // P falls with eta, and the rates fall with t: P_t-1(eta_t) >= P_t-1(eta_t-1). So over all steps
  // the sum of the first two is at most P_T(eta_T) <= min L_i + ln N / eta_T, and the regret
  //   R_T <= ln N / eta_T + sum_t eta_t / 8
  // (De Rooij et al. 2014, Lemma 2 and the remark on Hoeffding's bound; the loss is convex, so
  // y_hat loses no more than the mean). With eta_t = 1 / sqrt(t), of which sum_t < 2 sqrt(T), that
  // is (ln N + 1/4) sqrt(T), at every T.
  const auto heaviest = [](const Vector& w) {
    return static_cast<std::size_t>(std::ranges::max_element(w) - w.begin());
  };
  const std::vector<Adversary> adversaries = {
      [&](std::size_t, std::size_t i, const Vector& w) { return i == heaviest(w) ? 1.0 : 0.0; },
      [&](std::size_t, std::size_t i, const Vector& w) { return i == heaviest(w) ? 1.0 : 0.5; },
      [](std::size_t t, std::size_t i, const Vector&) { return (i + t) % 2 == 0 ? 1.0 : 0.0; },
      [](std::size_t, std::size_t i, const Vector&) { return i == 0 ? 0.0 : 1.0; },
      // The best kernel changes half-way.
      [](std::size_t t, std::size_t i, const Vector&) { return (t < 500) == (i == 0) ? 0.0 : 1.0; },
  };
  for (const std::size_t kernels : {2U, 10U}) {
    for (const std::size_t steps : {100U, 1000U}) {
      const auto root = std::sqrt(static_cast<double>(steps));
      double worst = 0;
      for (std::size_t which = 0; which < adversaries.size(); ++which) {
        const double regret = RegretAgainst(adversaries[which], kernels, steps);
        EXPECT_LE(regret, (std::log(kernels) + 0.25) * root)
            << "adversary " << which << ", " << kernels << " kernels, " << steps << " steps";
        worst = std::max(worst, regret);
      }
      EXPECT_GT(worst, 0.2 * root) << "no adversary was strong enough to say anything";
    }
  }
}

}  // namespace
}  // namespace polykern
