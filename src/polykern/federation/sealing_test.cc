#include "polykern/federation/sealing.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/updates_testing.h"

namespace polykern {
namespace {

/// The mask of a client's message: any number of the ring after the other, known to client and
/// server alone.
Random MaskOf(std::uint64_t client, std::uint64_t step) {
  return {99, Purpose::kTest, client, step};
}

/// Takes the sum of the masks away from the sum of the messages.
class MaskOpener final : public Opener {
 public:
  MaskOpener(const ModelShape& sealed, std::size_t lanes) : shape_(sealed), lanes_(lanes) {}

  void Add(const Updates& sealed, std::size_t lane) override {
    for (std::size_t c = 0; c < sealed.size(); ++c) {
      const auto blocks = sealed.BlocksOf(c);
      lanes_[lane].push_back({sealed.clients[c], sealed.step, {blocks.begin(), blocks.end()}});
    }
  }

  void Open(std::span<const std::span<std::int64_t>> sums) override {
    for (auto& lane : lanes_) {
      for (const Sent& sent : lane) {
        Random mask = MaskOf(sent.client, sent.step);
        for (const std::uint32_t block : sent.blocks) {
          for (std::size_t i = 0; i < shape_.width; ++i) {
            Subtract(mask.Bits(), sums[0][block * shape_.width + i]);
          }
        }
        for (std::size_t i = 0; i < shape_.losses_per_update; ++i) {
          Subtract(mask.Bits(), sums[1][shape_.loss_per_block ? sent.blocks[i] : i]);
        }
      }
      lane.clear();
    }
    for (const auto part : sums) {
      for (std::int64_t& sum : part) sum = shape_.ring.Unwrap(static_cast<std::uint64_t>(sum));
    }
  }

 private:
  struct Sent {
    std::uint64_t client;
    std::uint64_t step;
    std::vector<std::uint32_t> blocks;
  };
  static void Subtract(std::uint64_t mask, std::int64_t& sum) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) - mask);
  }

  ModelShape shape_;
  std::vector<std::vector<Sent>> lanes_;
};

class Masks final : public Sealing {
 public:
  explicit Masks(unsigned bits) : bits_(bits) {}

  ModelShape SealedShape(const ModelShape& shape) const override {
    ModelShape sealed = shape;
    sealed.ring = {bits_, ExactSum::kUnit};
    return sealed;
  }

  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override {
    CheckUpdates(shape, learnt);
    const Ring ring = SealedShape(shape).ring;
    sealed = learnt;
    sealed.values.clear();
    sealed.losses.clear();
    for (std::size_t c = 0; c < learnt.size(); ++c) {
      Random mask = MaskOf(learnt.clients[c], learnt.step);
      const auto seal = [&](float value) {
        const auto units = std::nearbyint(static_cast<double>(value) / ring.unit);
        const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(units));
        sealed.integers.push_back(ring.Wrap(static_cast<std::int64_t>(number + mask.Bits())));
      };
      for (std::size_t at = learnt.first[c] * shape.width; at < learnt.first[c + 1] * shape.width;
           ++at) {
        seal(learnt.values[at]);
      }
      for (std::size_t i = 0; i < shape.losses_per_update; ++i) {
        seal(learnt.losses[c * shape.losses_per_update + i]);
      }
    }
    return sealed;
  }

  std::unique_ptr<Opener> NewOpener(const ModelShape& shape, std::size_t lanes) const override {
    return std::make_unique<MaskOpener>(SealedShape(shape), lanes);
  }

 private:
  unsigned bits_;
};

std::unique_ptr<Algorithm> Make(std::string_view name) {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  options.kernels_per_upload = 3;
  options.exploration = 0.4;
  options.learning_rate = options.weight_rate = 0.01;  // sums stay below 2, which 32 bits hold
  return MakeAlgorithm(name, options, {kDimension, 100, 17});
}

/// Everything that ten clients and their server end with after 25 steps in two lanes, in which some
/// are absent.
std::vector<std::uint64_t> RunFederation(const Algorithm& algorithm, const Sealing& sealing) {
  constexpr std::size_t kMembers = 10;
  Clients clients(algorithm, 0, kMembers);
  ClientRound round(algorithm, CpuEngine(), sealing);
  Coordinator coordinator(algorithm, kMembers, 2, 0, sealing);
  Random random(5, Purpose::kTest);
  std::vector<std::uint64_t> bits;
  const auto append = [&](const std::vector<double>& numbers) {
    for (const std::uint64_t each : BitsOf(numbers)) bits.push_back(each);
  };
  for (int step = 0; step < 25; ++step) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      std::vector<float> x(5 * kDimension);
      std::vector<double> y(5);
      std::vector<std::uint8_t> present(5);
      for (float& value : x) value = static_cast<float>(random.Uniform());
      for (double& value : y) value = random.Uniform();
      for (std::uint8_t& value : present) value = random.Uniform() < 0.7 ? 1 : 0;
      round.Predict(coordinator.broadcast(), clients, 5 * lane, x, present);
      append({round.predictions().begin(), round.predictions().end()});
      coordinator.Receive(round.Learn(y), lane);
    }
    coordinator.Commit();
  }
  append(coordinator.Save());
  append(clients.Save());
  return bits;
}

class MaskedSums : public testing::TestWithParam<std::string_view> {};

TEST_P(MaskedSums, GiveTheBitsOfAFederationThatSealsNothing) {
  const auto algorithm = Make(GetParam());
  EXPECT_EQ(RunFederation(*algorithm, Masks(64)), RunFederation(*algorithm, PlainSealing()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MaskedSums,
                         testing::Values("pof-mkl", "pof-adagrad", "vm-kofl", "em-kofl", "fomd-oms",
                                         "fed-poe", "perfedavg", "local"),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(SmallMaskedSums, FitIntoARingOf32Bits) {
  const auto algorithm = Make("pof-mkl");
  EXPECT_EQ(RunFederation(*algorithm, Masks(32)), RunFederation(*algorithm, PlainSealing()));
}

/// What one client of pof-mkl sends in the first step.
Updates FirstMessage(const Algorithm& algorithm, const Sealing& sealing) {
  Clients clients(algorithm, 0, 1);
  ClientRound round(algorithm, CpuEngine(), sealing);
  const Broadcast start = algorithm.NewServer()->broadcast();
  const std::vector<float> x(kDimension, 0.5F);
  round.Predict(start, clients, 0, x, std::vector<std::uint8_t>{1});
  const Updates sent = round.Learn(std::vector<double>{1});
  CheckUpdates(round.sent_shape(), sent);
  return sent;
}

TEST(Sealing, LeavesNoFloatInWhatIsSent) {
  const auto algorithm = Make("pof-mkl");
  const Updates plain = FirstMessage(*algorithm, PlainSealing());
  const Updates sealed = FirstMessage(*algorithm, Masks(64));
  EXPECT_TRUE(plain.integers.empty());
  EXPECT_TRUE(sealed.values.empty());
  EXPECT_EQ(sealed.integers.size(), plain.values.size());
  EXPECT_EQ(sealed.blocks, plain.blocks);
}

TEST(Sealing, LetsACoordinatorRefuseWhatIsNotSealedAsItsOwn) {
  const auto algorithm = Make("pof-mkl");
  Coordinator open(*algorithm, 1);
  Coordinator sealed(*algorithm, 1, 1, 0, Masks(32));
  EXPECT_THROW(open.Receive(FirstMessage(*algorithm, Masks(64))), BrokenRule);
  EXPECT_THROW(sealed.Receive(FirstMessage(*algorithm, PlainSealing())), BrokenRule);
  EXPECT_THROW(sealed.Receive(FirstMessage(*algorithm, Masks(64))), BrokenRule) << "too many bits";
  EXPECT_EQ(open.participants() + sealed.participants(), 0U);
  open.Receive(FirstMessage(*algorithm, PlainSealing()));
  sealed.Receive(FirstMessage(*algorithm, Masks(32)));
  open.Commit();
  sealed.Commit();
  EXPECT_EQ(BitsOf(sealed.Save()), BitsOf(open.Save()));
}

TEST(Sealing, IsRefusedWhereTheServerNeedsSingleUpdates) {
  const auto algorithm = Make("pof-newton");
  EXPECT_THAT([&] { Coordinator(*algorithm, 1, 1, 0, Masks(64)); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("pof-newton needs single updates")));
}

TEST(Sealing, SealsNothingThatDoesNotFit) {
  const auto algorithm = Make("pof-mkl");
  Updates learnt = From(*algorithm, 0, 3, 2, 600);  // above what exact sums hold
  Updates sealed;
  EXPECT_THROW(Masks(64).Seal(algorithm->shape(), learnt, sealed), BrokenRule);
}

}  // namespace
}  // namespace polykern
