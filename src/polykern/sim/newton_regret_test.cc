// Regret of pof-newton's server (18): every kernel's losses along the way against its best ridge
// solution in hindsight.

#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/successors/newton_server.h"
#include "polykern/data/synthetic.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"

namespace polykern {
namespace {

constexpr std::size_t kClients = 10;
constexpr std::size_t kKernels = 5;
constexpr std::size_t kWidth = 20;

/// All samples of one kernel, and what it lost along the way.
struct Hindsight {
  std::vector<std::vector<double>> a = std::vector(kWidth, std::vector<double>(kWidth));
  std::vector<double> b = std::vector<double>(kWidth);
  double labels = 0;  // sum y^2
  double lost = 0;

  /// theta: what the server had before this message.
  void Add(std::span<const float> message, std::span<const float> theta) {
    const double length =
        std::sqrt(std::inner_product(message.begin(), message.end(), message.begin(), 0.0));
    const double y = LabelOf(length);
    const double f =
        std::inner_product(message.begin(), message.end(), theta.begin(), 0.0) / length;
    lost += (f - y) * (f - y);  // without clipping, which would only help
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double z = static_cast<double>(message[i]) / length;
      for (std::size_t j = 0; j < kWidth; ++j) {
        a[i][j] += z * static_cast<double>(message[j]) / length;
      }
      b[i] += y * z;
    }
    labels += y * y;
  }

  /// min over theta of sum (theta . z - y)^2, nearly: by elimination, with a ridge of 1e-9.
  double BestLoss() const {
    auto m = a;
    auto x = b;
    for (std::size_t i = 0; i < kWidth; ++i) m[i][i] += 1e-9;
    for (std::size_t p = 0; p < kWidth; ++p) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        if (i == p) continue;
        const double share = m[i][p] / m[p][p];
        for (std::size_t j = p; j < kWidth; ++j) m[i][j] -= share * m[p][j];
        x[i] -= share * x[p];
      }
    }
    double explained = 0;
    for (std::size_t i = 0; i < kWidth; ++i) explained += b[i] * x[i] / m[i][i];
    return labels - explained;
  }
};

TEST(PofNewton, HasARegretOfTheServerThatGrowsLikeTheLogarithmOfTime) {
  const SyntheticFleet fleet({.clients = kClients, .steps = 5000, .seed = 4});
  AlgorithmOptions options;
  options.refresh = 0;
  options.kernels = kKernels;
  options.kernels_per_upload = kKernels;
  options.features = kWidth / 2;
  options.experts = Experts::kFederated;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {fleet.dimension(), 0, 5});
  Clients clients(*algorithm, 0, kClients);
  ClientRound round(*algorithm);
  Coordinator coordinator(*algorithm, kClients);
  std::vector<Hindsight> kernels(kKernels);
  SampleBlock block;
  std::vector<double> regrets;
  for (std::size_t t = 1; t <= 5000; ++t) {
    fleet.Read(t - 1, 0, kClients, block);
    round.Predict(coordinator.broadcast(), clients, 0, block.x, block.present);
    const Updates& updates = round.Learn(block.y);
    const std::span model(coordinator.broadcast().model);
    for (std::size_t at = 0; at < updates.blocks.size(); ++at) {
      const std::size_t i = updates.blocks[at];
      kernels[i].Add(std::span(updates.values).subspan(at * kWidth, kWidth),
                     model.subspan(i * kWidth, kWidth));
    }
    coordinator.Receive(updates);
    coordinator.Commit();
    if (t != 50 && t != 158 && t != 500 && t != 1581 && t != 5000) continue;
    const Hindsight* best = &kernels.front();
    for (const Hindsight& kernel : kernels) {
      if (kernel.BestLoss() < best->BestLoss()) best = &kernel;
    }
    regrets.push_back(best->lost - best->BestLoss());
    std::printf("T = %4zu: regret %.3f, best loss %.2f\n", t, regrets.back(), best->BestLoss());
  }
  // Half a decade each: logarithmic growth adds about as much every time, growth like sqrt(T) would
  // multiply what is added by 1.8, linear growth by 3.2.
  ASSERT_EQ(regrets.size(), 5U);
  const double early = regrets[2] - regrets[0];
  const double late = regrets[4] - regrets[2];
  EXPECT_GT(early, 0);
  EXPECT_LT(late, 2 * early);  // sqrt(T): 3.2
  EXPECT_LT(regrets[4], 2 * regrets[2]);
}

}  // namespace
}  // namespace polykern
