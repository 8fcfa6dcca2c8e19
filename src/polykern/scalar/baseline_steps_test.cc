// The client halves of the algorithms that POF-MKL is compared with, against their rules in double.

#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "polykern/algorithms/paper/perfedavg.h"
#include "polykern/core/network.h"
#include "polykern/core/random.h"
#include "polykern/scalar/step_scene_testing.h"

namespace polykern::scalar {
namespace {

using testing::ElementsAre;
using twin::Vector;

/// A name and a loss, with labels that suit it.
class Baselines : public testing::TestWithParam<std::tuple<std::string, LossKind>> {
 protected:
  StepScene MakeScene(const AlgorithmOptions& options, std::size_t clients = 2) const {
    StepScene scene(std::get<0>(GetParam()), options, clients);
    if (options.loss == LossKind::kLogistic) {
      for (double& label : scene.y) label = label > 0.5 ? 1 : 0;
    }
    return scene;
  }
  AlgorithmOptions options_ = twin::TestOptions(std::get<1>(GetParam()));
};

std::string TestName(const testing::TestParamInfo<std::tuple<std::string, LossKind>>& test) {
  std::string name = std::get<0>(test.param) + std::to_string(test.index);
  std::erase(name, '-');
  return name;
}

class EveryKernelStep : public Baselines {};

TEST_P(EveryKernelStep, SendsTheGradientOfEveryKernel) {
  for (const double lambda : {0.0, 0.01}) {
    options_.regularization = lambda;
    StepScene scene = MakeScene(options_);
    scene.Run();
    const std::size_t n = scene.bank->kernels();
    for (std::size_t c = 0; c < 2; ++c) {
      double mean = 0;
      ASSERT_EQ(scene.updates.BlocksOf(c).size(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const bool weighted = !scene.broadcast.weights.empty();
        mean +=
            scene.F(c, i) * (weighted ? scene.broadcast.weights[i] : 1.0 / static_cast<double>(n));
        EXPECT_EQ(scene.updates.BlocksOf(c)[i], i);
        ExpectNear(scene.Sent(c * n + i), scene.Gradient(c, i, 0.2));
        EXPECT_NEAR(scene.step->kernel_losses()[c * n + i], scene.L(c, i), 1e-5);
        if (weighted) {
          EXPECT_NEAR(static_cast<double>(scene.updates.losses.at(c * n + i)), scene.L(c, i), 1e-5);
        }
      }
      EXPECT_NEAR(scene.Predicted(c), mean, 1e-5);
    }
    const bool server_weighs = scene.algorithm->name() == "vm-kofl";
    EXPECT_EQ(scene.updates.losses.size(), server_weighs ? 2 * n : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryKernelStep,
                         testing::Combine(testing::Values("ofskl", "ofmkl-avg", "vm-kofl"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

class FomdOmsStep : public Baselines {};

TEST_P(FomdOmsStep, LearnsFromItsTwoKernelsByTheirProbabilities) {
  StepScene scene = MakeScene(options_, 6);
  scene.Run();
  for (std::size_t c = 0; c < 6; ++c) {
    ASSERT_EQ(scene.updates.BlocksOf(c).size(), 2U);
    EXPECT_NEAR(scene.Predicted(c), scene.F(c, scene.updates.BlocksOf(c)[0]), 1e-5);
    for (std::size_t b = 2 * c; b < 2 * c + 2; ++b) {
      const std::size_t i = scene.updates.blocks[b];
      const double held = 5.0 / 6 * scene.broadcast.weights[i] + 1.0 / 6;
      ExpectNear(scene.Sent(b), scene.Gradient(c, i, 0.2 / held), 1e-4);
      EXPECT_NEAR(static_cast<double>(scene.updates.losses[b]), scene.L(c, i), 1e-5);
    }
  }
}

TEST_P(FomdOmsStep, DrawsOneKernelByTheWeightsAndOneUniformlyOfTheRest) {
  constexpr std::size_t kDraws = 600;
  StepScene scene = MakeScene(options_, kDraws);
  for (std::size_t c = 0; c < kDraws; ++c) {
    scene.uniforms[c] = (static_cast<double>(c) + 0.5) / kDraws;
  }
  scene.Run();
  twin::Matrix share(twin::kKernels, Vector(twin::kKernels));
  for (std::size_t c = 0; c < kDraws; ++c) {
    share[scene.updates.blocks[2 * c]][scene.updates.blocks[2 * c + 1]] += 1.0 / kDraws;
  }
  for (std::size_t i = 0; i < twin::kKernels; ++i) {
    Vector expected(twin::kKernels, scene.broadcast.weights[i] / 6);
    expected[i] = 0;
    ExpectNear(share[i], expected, 1.001 / kDraws);  // an interval holds one point more or less
  }
}

INSTANTIATE_TEST_SUITE_P(All, FomdOmsStep,
                         testing::Combine(testing::Values("fomd-oms"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

/// The rule of clients with a theta of their own: losses, and theta = keep theta - eta slope z.
struct SlowPrivate {
  double F(const StepScene& scene, std::size_t c, std::size_t i) const {
    return twin::Dot(theta[i], scene.Z(c, i));
  }
  Vector Learn(const StepScene& scene, std::size_t c, double keep, double lambda) {
    Vector losses;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      const double f = F(scene, c, i);
      losses.push_back(twin::LossOf(scene.algorithm->loss(), f, scene.y[c]) +
                       lambda * twin::Dot(theta[i], theta[i]));
      const double slope = twin::SlopeOf(scene.algorithm->loss(), f, scene.y[c]);
      const Vector z = scene.Z(c, i);
      for (std::size_t j = 0; j < z.size(); ++j) {
        theta[i][j] = keep * theta[i][j] - 0.2 * slope * z[j];
      }
    }
    return losses;
  }
  Vector All() const {
    Vector all;
    for (const Vector& each : theta) all.insert(all.end(), each.begin(), each.end());
    return all;
  }
  explicit SlowPrivate(std::size_t kernels = twin::kKernels)
      : theta(kernels, Vector(twin::kWidth)) {}
  twin::Matrix theta;
};

class LocalStep : public Baselines {};

TEST_P(LocalStep, IsPofMklWithAThetaOfItsOwn) {
  for (const double lambda : {0.0, 0.1}) {
    options_.regularization = lambda;
    StepScene scene = MakeScene(options_);
    std::vector<SlowPrivate> clients(2);
    twin::Matrix losses(2, Vector(twin::kKernels));
    for (int t = 0; t < 6; ++t) {
      scene.Run();
      for (std::size_t c = 0; c < 2; ++c) {
        Vector f;
        for (std::size_t i = 0; i < twin::kKernels; ++i) f.push_back(clients[c].F(scene, c, i));
        EXPECT_NEAR(scene.Predicted(c), twin::Dot(twin::WeightsOf(losses[c], 0.6), f), 1e-5);
        const Vector step = clients[c].Learn(scene, c, 1 - 2 * 0.2 * lambda, lambda);
        for (std::size_t i = 0; i < step.size(); ++i) losses[c][i] += step[i];
        Vector state = losses[c];
        const Vector theta = clients[c].All();
        state.insert(state.end(), theta.begin(), theta.end());
        ExpectNear(scene.states[c], state);
      }
      EXPECT_TRUE(scene.updates.blocks.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LocalStep,
                         testing::Combine(testing::Values("local"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

class FedPoeStep : public Baselines {};

TEST_P(FedPoeStep, MixesTheModelAndAThetaOfItsOwn) {
  StepScene scene = MakeScene(options_);
  std::vector<SlowPrivate> clients(2, SlowPrivate(3));
  // Losses of the federated kernels, of the two mixtures, of the client's own kernels.
  twin::Matrix losses(2, Vector(3 + 2 + 3));
  for (int t = 0; t < 6; ++t) {
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      const auto weights = [&](std::size_t first, std::size_t count) {
        const auto from = losses[c].begin() + static_cast<std::ptrdiff_t>(first);
        return twin::WeightsOf(Vector(from, from + static_cast<std::ptrdiff_t>(count)), 0.6);
      };
      Vector f;
      Vector own;
      for (std::size_t i = 0; i < 3; ++i) {
        f.push_back(scene.F(c, i));
        own.push_back(clients[c].F(scene, c, i));
        ExpectNear(scene.Sent(3 * c + i), scene.Gradient(c, i, 0.2));
      }
      const Vector mixtures = {twin::Dot(weights(0, 3), f), twin::Dot(weights(5, 3), own)};
      EXPECT_NEAR(scene.Predicted(c), twin::Dot(weights(3, 2), mixtures), 1e-5);
      const Vector step = clients[c].Learn(scene, c, 1 - 2 * 0.2 * 0.01, 0.01);
      for (std::size_t i = 0; i < 3; ++i) {
        losses[c][i] += scene.L(c, i);
        losses[c][5 + i] += step[i];
      }
      for (const std::size_t m : {0, 1}) {
        losses[c][3 + m] += twin::LossOf(scene.algorithm->loss(), mixtures[m], scene.y[c]);
      }
      Vector state = losses[c];
      const Vector theta = clients[c].All();
      state.insert(state.end(), theta.begin(), theta.end());
      ExpectNear(scene.states[c], state);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FedPoeStep,
                         testing::Combine(testing::Values("fed-poe"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

class EmKoflStep : public Baselines {};

TEST_P(EmKoflStep, StepsEveryKernelAndSharesTheDrawnOne) {
  StepScene scene = MakeScene(options_);
  std::vector<SlowPrivate> clients(2);
  std::size_t sent = 0;
  for (std::uint64_t t = 0; t < 6; ++t) {
    scene.broadcast.step = t;
    const std::size_t drawn = twin::Draw(
        scene.broadcast.weights, Random(twin::kSeed, Purpose::kSharedKernel, 0, t).Uniform());
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      SlowPrivate& client = clients[c];
      if (t > 0) client.theta[sent] = scene.Theta(0);  // the average of the step before
      EXPECT_NEAR(scene.Predicted(c), client.F(scene, c, drawn), 1e-5);
      ExpectNear(std::span(scene.updates.losses).subspan(c * twin::kKernels, twin::kKernels),
                 client.Learn(scene, c, 1 - 2 * 0.01, 0.01));
      ExpectNear(scene.Sent(c), client.theta[drawn]);
      ExpectNear(std::span(scene.states[c]).subspan(2), client.All());
    }
    EXPECT_THAT(scene.updates.blocks, ElementsAre(0, 0));
    sent = drawn;
  }
}

TEST_P(EmKoflStep, TakesNoAverageThatItHadNoPartIn) {
  StepScene scene = MakeScene(options_);
  scene.broadcast.step = 3;
  scene.states[0][0] = 3;  // took part in the step before; the other one step earlier
  scene.states[1][0] = 2;
  scene.states[0][1] = scene.states[1][1] = 5;
  scene.Run();
  const auto f = scene.step->kernel_predictions();
  for (std::size_t i = 0; i < twin::kKernels; ++i) {
    const double expected = i == 5 ? twin::Dot(scene.Theta(0), scene.Z(0, 5)) : 0;
    EXPECT_NEAR(static_cast<double>(f[i]), expected, 1e-5);
    EXPECT_EQ(f[twin::kKernels + i], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmKoflStep,
                         testing::Combine(testing::Values("em-kofl"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

/// The gradient of a function by central differences.
Vector Differentiate(const std::function<double(const Vector&)>& function, Vector at, double by) {
  Vector gradient;
  for (double& value : at) {
    const double middle = value;
    value = middle + by;
    const double above = function(at);
    value = middle - by;
    gradient.push_back((above - function(at)) / (2 * by));
    value = middle;
  }
  return gradient;
}

class PerFedAvgStep : public Baselines {};

TEST_P(PerFedAvgStep, SendsTheGradientAfterOneStepOfItsOwn) {
  constexpr double kAlpha = 0.1;
  for (const bool second_order : {false, true}) {
    options_.hessian_free = second_order;
    options_.inner_rate = kAlpha;
    options_.budget = 30;
    StepScene scene = MakeScene(options_);
    scene.Run();
    const Network network(ChooseLayers(twin::kDimension, 30));
    for (std::size_t c = 0; c < 2; ++c) {
      const std::vector<float> x(scene.x[c].begin(), scene.x[c].end());
      const auto predict = [&](const Vector& w) {
        Network::Activations activations;
        return network.Forward(w, x, activations);
      };
      const auto loss = [&](const Vector& w) {
        return twin::LossOf(scene.algorithm->loss(), predict(w), scene.y[c]);
      };
      const auto moved = [&](Vector w) {  // w - alpha grad(w)
        const Vector gradient = Differentiate(loss, w, 1e-6);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] -= kAlpha * gradient[i];
        return w;
      };
      const Vector w = scene.Theta(0);
      EXPECT_NEAR(scene.Predicted(c), predict(w), 1e-12);
      const auto meta_loss = [&](const Vector& at) { return loss(moved(at)); };
      ExpectNear(scene.Sent(c), second_order ? Differentiate(meta_loss, w, 1e-4)
                                             : Differentiate(loss, moved(w), 1e-6));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PerFedAvgStep,
                         testing::Combine(testing::Values("perfedavg"),
                                          testing::ValuesIn(twin::kLosses)),
                         TestName);

}  // namespace
}  // namespace polykern::scalar
