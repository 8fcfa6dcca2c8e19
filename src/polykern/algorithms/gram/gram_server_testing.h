#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {

// For the tests of pof-gram's server.

inline constexpr double kGramRidge = 0.01;

/// Clients with 20 samples each that answer whatever a server asks for.
class GramServers : public testing::Test {
 protected:
  GramServers() {
    rule_.ridge = kGramRidge;
    rule_.schedule.disclosure = 100;  // whatever is sent is released
    weights_.assign(grid_.experts(), 1 / static_cast<double>(grid_.experts()));
    Random random(9, Purpose::kTest);
    for (LearntSamples& own : samples_) {
      for (int i = 0; i < 20; ++i) {
        for (std::size_t j = 0; j < twin::kDimension; ++j) {
          own.x.push_back(static_cast<float>(random.Uniform()));
        }
        own.y.push_back(0.5 + 0.4 * std::sin(4 * static_cast<double>(own.x.back())));
      }
    }
  }

  /// What client k sends of these experts, over all its samples.
  Updates Answer(std::uint64_t k, const std::vector<std::uint32_t>& turn) {
    Updates updates;
    updates.clients = {k};
    updates.first = {0, turn.size()};
    updates.blocks = turn;
    for (const std::uint32_t expert : turn) {
      sums_.Append(expert, samples_[k], weights_, updates.integers);
      updates.samples.push_back(20);
      updates.unknowns.push_back(80);
      updates.new_unknowns.push_back(updates.new_unknowns.empty() ? 80 : 0);
    }
    updates.fresh = {{20, 80}};
    return updates;
  }
  void Step(Server& server, const std::vector<Updates>& updates, std::size_t inboxes = 1) {
    Commit(server, updates, inboxes);
    server.Open();
  }
  void Commit(Server& server, const std::vector<Updates>& updates, std::size_t inboxes) {
    std::vector<std::unique_ptr<Inbox>> all;
    for (std::size_t i = 0; i < inboxes; ++i) all.push_back(server.NewInbox());
    for (std::size_t i = 0; i < updates.size(); ++i) all[i % inboxes]->Add(updates[i]);
    server.Commit(all, updates.size());
  }
  std::vector<Updates> Answers(const std::vector<std::uint32_t>& turn) {
    std::vector<Updates> updates;
    for (std::uint64_t k = 0; k < kClients; ++k) updates.push_back(Answer(k, turn));
    return updates;
  }
  std::span<const float> Theta(const Server& server, std::size_t expert) const {
    return std::span(server.broadcast().model)
        .subspan(grid_.ThetaStart(expert), grid_.WidthOf(expert));
  }
  /// (6) with the first D features of an expert, as long as a kernel with D has them.
  twin::Vector Z(std::size_t expert, std::span<const float> x) const {
    const twin::Vector all =
        twin::FeaturesOf(bank_, grid_.KernelOf(expert), twin::Vector(x.begin(), x.end()));
    const std::size_t size = grid_.SizeOf(expert);
    twin::Vector z;
    for (std::size_t j = 0; j < 2 * size; ++j) {
      z.push_back(all[j < size ? j : 21 + j - size] * std::sqrt(21.0 / static_cast<double>(size)));
    }
    return z;
  }

  static constexpr std::size_t kClients = 5;
  KernelBank bank_{MakeDictionary("gaussian", 2), twin::kDimension, 21, 5};
  GramGrid grid_{2, 21};
  QuarteredKernels kernels_{bank_};
  GramSums sums_{grid_, kernels_};
  GramServerRule rule_;
  twin::Vector weights_;
  std::vector<LearntSamples> samples_ = std::vector<LearntSamples>(kClients);
};

}  // namespace polykern
