#include <cmath>
#include <memory>
#include <tuple>

#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/core/experts.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/scalar/scalar_engine.h"
#include "slow_pof_mkl.h"

namespace polykern {
namespace {

constexpr std::size_t kKernels = 51;
constexpr std::size_t kClients = 6;
constexpr std::size_t kDimension = 7;
constexpr std::size_t kSteps = 200;
constexpr double kTolerance = 1e-5;

/// Relative to the size of what is compared: ||a - b|| / ||b||.
double RelativeError(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-12);
}

/// Frequencies nobody drew: every kernel looks along the axes, the longer its index the faster.
KernelBank HandMadeBank(std::size_t features) {
  std::vector<float> rho(kKernels * features * kDimension);
  for (std::size_t i = 0; i < kKernels; ++i) {
    for (std::size_t j = 0; j < features; ++j) {
      const std::size_t axis = (i + j) % kDimension;
      rho[(i * features + j) * kDimension + axis] =
          0.25F * static_cast<float>(i + 1) * (j % 2 == 0 ? 1.0F : -0.5F);
    }
  }
  return {std::move(rho), kKernels, features, kDimension};
}

std::vector<slow::Matrix> InDouble(const KernelBank& bank) {
  std::vector<slow::Matrix> rho(bank.kernels());
  for (std::size_t i = 0; i < bank.kernels(); ++i) {
    for (std::size_t j = 0; j < bank.features(); ++j) {
      const auto row = bank.Frequencies(i).subspan(j * bank.dimension(), bank.dimension());
      rho[i].emplace_back(row.begin(), row.end());
    }
  }
  return rho;
}

using Parameters = std::tuple<std::size_t, double, LossKind, bool, Schedule, const Engine*>;

class PofMklGolden : public testing::TestWithParam<Parameters> {};

TEST_P(PofMklGolden, AgreesWithTheSlowVersionOver200Steps) {
  const auto [per_upload, xi, loss, hand_made, schedule, engine] = GetParam();
  AlgorithmOptions options;
  options.kernels_per_upload = per_upload;
  options.exploration = xi;
  options.loss = loss;
  options.regularization = 1e-3;
  // The constant rate of the paper, for a step that the slowest bins (1 / p = 510) survive.
  options.learning_rate =
      1 / std::sqrt(200.0) * std::min(1.0, 20 * xi * static_cast<double>(per_upload) / 51);
  options.weight_rate = 0.5;
  options.schedule = schedule;
  const bool anytime = schedule == Schedule::kAnytime;
  if (anytime) *options.learning_rate *= 5;  // 0.35 of the constant one after 200 steps
  const std::size_t features = ResolveFeatures(options, {"pof-mkl", per_upload, 0});
  const auto bank = std::make_shared<const KernelBank>(
      hand_made ? HandMadeBank(features)
                : KernelBank(MakeDictionary("gaussian", kKernels), kDimension, features, 7));

  const auto algorithm = NewPofMkl({bank, options, {kDimension, 0, 0}});
  Clients clients(*algorithm, 0, kClients);
  ClientRound round(*algorithm, *engine);
  Coordinator coordinator(*algorithm, kClients);
  const char* loss_name = loss == LossKind::kSquared ? "squared"
                          : loss == LossKind::kHuber ? "huber"
                                                     : "logistic";
  slow::Federation reference(
      InDouble(*bank), kClients,
      {per_upload, xi, *options.learning_rate, 0.5, 1e-3, loss_name, options.huber_delta, anytime});

  Random random(3, Purpose::kTest);
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<std::uint8_t> present(kClients);
  for (std::size_t t = 0; t < kSteps; ++t) {
    slow::Matrix x(kClients, slow::Vector(kDimension));
    slow::Vector y(kClients);
    slow::Vector uniforms(kClients);
    std::vector<float> flat;
    for (std::size_t k = 0; k < kClients; ++k) {
      for (double& value : x[k]) {
        flat.push_back(static_cast<float>(random.Uniform() - 0.5));
        value = double{flat.back()};
      }
      y[k] = 0.5 + 0.4 * std::sin(3 * x[k][0] + 5 * x[k][1] * static_cast<double>(k % 3));
      if (loss == LossKind::kLogistic) y[k] = y[k] > 0.5 ? 1 : 0;
      uniforms[k] = random.Uniform();
      present[k] = k == 0 || random.Uniform() < 0.8 ? 1 : 0;  // some are absent, never all
    }
    round.Predict(coordinator.broadcast(), clients, 0, flat, present, uniforms);
    ours.insert(ours.end(), round.predictions().begin(), round.predictions().end());
    coordinator.Receive(round.Learn(y));
    coordinator.Commit();
    const slow::Vector expected = reference.Step(x, y, uniforms, present);
    theirs.insert(theirs.end(), expected.begin(), expected.end());
  }

  EXPECT_LT(RelativeError(ours, theirs), kTolerance);
  EXPECT_GT(std::abs(ours.back()), 1e-3) << "nothing was learnt, so nothing was compared";
  for (std::size_t i = 0; i < kKernels; ++i) {
    const auto theta =
        std::span(coordinator.broadcast().model).subspan(i * 2 * features, 2 * features);
    EXPECT_LT(RelativeError({theta.begin(), theta.end()}, reference.theta()[i]), kTolerance)
        << "kernel " << i;
  }
  for (std::size_t k = 0; k < kClients; ++k) {
    std::vector<double> weights(kKernels);
    HedgeWeights(clients.State(k), anytime ? 0.5 / std::sqrt(kSteps) : 0.5, weights);
    EXPECT_LT(RelativeError(weights, reference.WeightsOf(k)), kTolerance) << "client " << k;
  }
}

std::string NameOf(const testing::TestParamInfo<Parameters>& test) {
  const auto [per_upload, xi, loss, hand_made, schedule, engine] = test.param;
  const char* loss_name = loss == LossKind::kSquared ? "Squared"
                          : loss == LossKind::kHuber ? "Huber"
                                                     : "Logistic";
  return "M" + std::to_string(per_upload) + "Xi" + std::to_string(std::lround(10 * xi)) +
         loss_name + (hand_made ? "HandMade" : "Drawn") +
         (schedule == Schedule::kAnytime ? "Anytime" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PofMklGolden,
    testing::Combine(testing::Values(1, 5, 25, 51), testing::Values(1.0, 0.5, 0.1),
                     testing::Values(LossKind::kSquared, LossKind::kHuber, LossKind::kLogistic),
                     testing::Bool(), testing::Values(Schedule::kConstant),
                     testing::Values(&CpuEngine())),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Anytime, PofMklGolden,
    testing::Combine(testing::Values(5, 51), testing::Values(0.5),
                     testing::Values(LossKind::kSquared, LossKind::kHuber, LossKind::kLogistic),
                     testing::Values(false), testing::Values(Schedule::kAnytime),
                     testing::Values(&CpuEngine())),
    NameOf);

// Few features: it is slow.
INSTANTIATE_TEST_SUITE_P(ScalarEngine, PofMklGolden,
                         testing::Combine(testing::Values(25, 51), testing::Values(0.5),
                                          testing::Values(LossKind::kSquared, LossKind::kHuber,
                                                          LossKind::kLogistic),
                                          testing::Bool(), testing::Values(Schedule::kConstant),
                                          testing::Values(&ScalarEngine())),
                         NameOf);

}  // namespace
}  // namespace polykern
