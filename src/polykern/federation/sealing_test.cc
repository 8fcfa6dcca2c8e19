#include "polykern/federation/sealing.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/updates_testing.h"

namespace polykern {
namespace {

constexpr std::size_t kMembers = 40;

/// The mask of a client's part of a sum: any number of the ring after the other.
Random MaskOf(std::uint64_t client, std::uint64_t step, std::uint64_t kind) {
  return {99 + kind, Purpose::kTest, client, step};
}

class Masks final : public Sealing {
 public:
  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override {
    if (learnt.blocks.empty()) return learnt;
    sealed = learnt;
    auto number = sealed.integers.begin();
    for (std::size_t c = 0; c < learnt.size(); ++c) {
      for (const std::uint32_t kind : learnt.BlocksOf(c)) {
        Random mask = MaskOf(learnt.clients[c], learnt.step, kind);
        for (std::size_t i = 0; i < shape.sums[kind]; ++i) *number++ += mask.Bits();
      }
      sealed.nonces.push_back({static_cast<std::uint8_t>(learnt.clients[c])});
    }
    return sealed;
  }
};

void TakeOff(Release& release) {
  for (const Contribution& each : release.contributions) {
    Random mask = MaskOf(each.client, each.step, release.kind);
    for (std::int64_t& sum : release.sums) {
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) - mask.Bits());
    }
  }
}

/// What each client has learnt from.
class History final : public SampleHistory {
 public:
  void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to, std::uint64_t,
            LearntSamples& samples) const override {
    const LearntSamples& own = all.at(client);
    for (std::uint64_t i = from; i < to; ++i) {
      samples.y.push_back(own.y[i]);
      for (std::size_t j = 0; j < kDimension; ++j) {
        samples.x.push_back(own.x[i * kDimension + j]);
      }
    }
  }
  std::map<std::uint64_t, LearntSamples> all;
};

std::unique_ptr<Algorithm> Make(std::string_view name, std::size_t expected = kMembers) {
  AlgorithmOptions options;
  options.kernels = 7;
  return MakeAlgorithm(name, options, {kDimension, 100, 17, expected});
}

/// Everything that clients and their server end with after 40 steps in two lanes, in which some
/// clients are absent; and whether masks were taken off.
struct Played {
  std::vector<std::uint64_t> bits;
  std::uint64_t opened = 0;
};
Played RunFederation(const Algorithm& algorithm, const Sealing* sealing) {
  Clients clients(algorithm, 0, kMembers);
  History history;
  ClientRound round(algorithm, CpuEngine(), sealing != nullptr ? *sealing : PlainSealing());
  round.ReadFrom(history);
  Coordinator coordinator(algorithm, kMembers, 2, 0);
  if (sealing != nullptr) coordinator.TakeMasked();
  Random random(5, Purpose::kTest);
  Played played;
  const auto append = [&](const std::vector<double>& numbers) {
    for (const std::uint64_t each : BitsOf(numbers)) played.bits.push_back(each);
  };
  for (int step = 0; step < 40; ++step) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      constexpr std::size_t kHalf = kMembers / 2;
      std::vector<float> x(kHalf * kDimension);
      std::vector<double> y(kHalf);
      std::vector<std::uint8_t> present(kHalf);
      for (float& value : x) value = static_cast<float>(random.Uniform());
      for (double& value : y) value = random.Uniform();
      for (std::uint8_t& value : present) value = random.Uniform() < 0.7 ? 1 : 0;
      for (std::size_t k = 0; k < kHalf; ++k) {
        if (present[k] == 0) continue;
        LearntSamples& own = history.all[kHalf * lane + k];
        own.y.push_back(y[k]);
        const auto row = std::span(x).subspan(k * kDimension, kDimension);
        own.x.insert(own.x.end(), row.begin(), row.end());
      }
      round.Predict(coordinator.broadcast(), clients, kHalf * lane, x, present);
      append({round.predictions().begin(), round.predictions().end()});
      coordinator.Receive(round.Learn(y), lane);
    }
    coordinator.Commit();
    for (Release& release : coordinator.releases()) {
      TakeOff(release);
      ++played.opened;
    }
    coordinator.Open();
    EXPECT_TRUE(coordinator.discarded().empty());
  }
  append(coordinator.Save());
  append(clients.Save());
  return played;
}

TEST(MaskedSums, GiveTheBitsOfAFederationThatSealsNothing) {
  const auto algorithm = Make("pof-gram");
  const Masks masks;
  const Played masked = RunFederation(*algorithm, &masks);
  EXPECT_GT(masked.opened, 3U);
  EXPECT_EQ(masked.bits, RunFederation(*algorithm, nullptr).bits);
}

/// What one client of pof-gram answers to the first step.
Updates FirstMessage(const Algorithm& algorithm, const Sealing& sealing) {
  Clients clients(algorithm, 0, 1);
  History history;
  const std::vector<float> x(kDimension, 0.5F);
  history.all[0] = {x, {1}};
  ClientRound round(algorithm, CpuEngine(), sealing);
  round.ReadFrom(history);
  const auto server = algorithm.NewServer();
  round.Predict(server->broadcast(), clients, 0, x, std::vector<std::uint8_t>{1});
  return round.Learn(std::vector<double>{1});
}

TEST(MaskedSums, AreToldFromThoseThatAreNot) {
  const auto algorithm = Make("pof-gram", 400);  // so many that there is a turn in the first step
  Coordinator open(*algorithm, 1);
  Coordinator masked(*algorithm, 1);
  masked.TakeMasked();
  EXPECT_THROW(open.Receive(FirstMessage(*algorithm, Masks())), BrokenRule);
  EXPECT_THROW(masked.Receive(FirstMessage(*algorithm, PlainSealing())), BrokenRule);
  EXPECT_EQ(open.participants() + masked.participants(), 0U);
  open.Receive(FirstMessage(*algorithm, PlainSealing()));
  masked.Receive(FirstMessage(*algorithm, Masks()));
}

TEST(MaskedSums, AreNotTakenFromClientsThatKnowTheFuture) {
  const auto algorithm = Make("pof-gram", 400);
  Coordinator masked(*algorithm, 1);
  masked.TakeMasked();
  Updates sent = FirstMessage(*algorithm, Masks());
  sent.releases = 1;
  EXPECT_THROW(masked.Receive(sent), BrokenRule);
  masked.AllowReleases(1);  // the helper knows of it: the server has gone back to an older state
  masked.Receive(sent);
}

TEST(MaskedSums, AreRefusedOfAlgorithmsThatSendNone) {
  for (const std::string_view name : {"pof-mkl", "pof-newton", "local"}) {
    const auto algorithm = Make(name);
    Coordinator coordinator(*algorithm, 1);
    EXPECT_THAT([&] { coordinator.TakeMasked(); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("pof-gram")))
        << name;
  }
}

}  // namespace
}  // namespace polykern
