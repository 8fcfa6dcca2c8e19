#include "polykern/net/wire.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/server_weights.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ModelShape kShape{.blocks = 4, .width = 3, .blocks_per_update = 2};

Updates SomeUpdates() {
  Updates updates;
  updates.step = 1ULL << 40;
  updates.clients = {77};
  updates.first = {0, 2};
  updates.blocks = {3, 0};
  updates.values = {1.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 1e30F, 0.1F, -2};
  updates.losses = {0.25F};
  updates.probability = {0.5};
  return updates;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(Wire, CarriesEveryBitOfAnUpdateAndNothingPrivate) {
  const Updates sent = SomeUpdates();
  const auto message = DecodeClientMessage(Encode(sent));
  const auto& got = std::get<Updates>(message);
  EXPECT_EQ(got.step, sent.step);
  EXPECT_EQ(got.blocks, sent.blocks);
  EXPECT_EQ(got.first, sent.first);
  EXPECT_EQ(BytesOf(got.values), BytesOf(sent.values));
  EXPECT_EQ(got.losses, sent.losses);
  EXPECT_THAT(got.clients, ElementsAre(0));  // the connection tells who it is
  EXPECT_TRUE(got.probability.empty());
}

TEST(Wire, CarriesSumsAndWhatTheyGoOver) {
  Updates updates;
  updates.step = 9;
  updates.clients = {0};
  updates.blocks = {1, 4};
  updates.first = {0, 2};
  updates.integers = {0, 1, UINT64_MAX, 1ULL << 63U, 7};
  updates.samples = {3, 1ULL << 40U};
  updates.unknowns = {12, 1ULL << 42U};
  updates.new_unknowns = {4, 0};
  updates.fresh = {{5, 80}};
  updates.clipped = {3};
  const auto back = std::get<Updates>(DecodeClientMessage(Encode(updates)));
  EXPECT_EQ(back.step, 9U);
  EXPECT_EQ(back.blocks, updates.blocks);
  EXPECT_EQ(back.integers, updates.integers);
  EXPECT_EQ(back.samples, updates.samples);
  EXPECT_EQ(back.unknowns, updates.unknowns);
  EXPECT_EQ(back.fresh, updates.fresh);
  EXPECT_EQ(back.new_unknowns, updates.new_unknowns);
  EXPECT_TRUE(back.nonces.empty());
  EXPECT_EQ(back.clipped, updates.clipped);
  EXPECT_TRUE(back.values.empty());
}

TEST(Wire, CarriesWhatMasksNeedInFewBytes) {
  Updates updates;
  updates.step = 900;
  updates.clients = {0};
  updates.first = {0, 0};
  updates.fresh = {{5, 80}};
  const std::size_t plain = Encode(updates).size();
  updates.releases = 100'000;
  updates.nonces = {{1, 2, 0, 0xFF, 0x80, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  const std::string masked = Encode(updates);
  const auto back = std::get<Updates>(DecodeClientMessage(masked));
  EXPECT_EQ(back.releases, updates.releases);
  EXPECT_EQ(back.nonces, updates.nonces);
  EXPECT_LE(masked.size(), plain + 24);
  std::string cut = masked;
  cut.erase(cut.size() - 1);
  EXPECT_THROW(DecodeClientMessage(cut), Error);
}

TEST(Wire, CarriesATurnAndForEachClientWhatCounted) {
  ModelChange change;
  change.step = 5;
  change.blocks = {0, 2};
  change.values = {1, 2};
  change.turn = {0, 3};
  const std::string shared = Encode(change);
  const auto back = std::get<ModelChange>(DecodeServerMessage(WithCounted(shared, 77)));
  EXPECT_EQ(back.step, 5U);
  EXPECT_EQ(back.blocks, change.blocks);
  EXPECT_EQ(back.values, change.values);
  EXPECT_EQ(back.turn, change.turn);
  EXPECT_EQ(back.counted, 77U);
  EXPECT_EQ(std::get<ModelChange>(DecodeServerMessage(shared)).counted, 0U);
}

TEST(ApplyModel, RefusesATurnThatNoClientCouldAnswer) {
  ModelShape shape{.blocks = 1, .width = 1};
  shape.sums = {10, 20};
  ModelChange change{.step = 1, .blocks = {0}, .values = {1}};
  for (const auto& turn : {std::vector<std::uint32_t>{2}, {1, 0}, {1, 1}}) {
    change.turn = turn;
    Broadcast broadcast;
    EXPECT_THROW(ApplyModel(shape, change, broadcast), Error);
    EXPECT_TRUE(broadcast.model.empty());
  }
  change.turn = {0, 1};
  Broadcast broadcast;
  ApplyModel(shape, change, broadcast);
  EXPECT_EQ(broadcast.turn, change.turn);
}

TEST(Wire, CarriesAHello) {
  const auto message = DecodeClientMessage(Encode(Hello{7, 1234, "key", "0.1.0"}));
  EXPECT_EQ(std::get<Hello>(message).version, 7U);
  EXPECT_EQ(std::get<Hello>(message).next_step, 1234U);
  EXPECT_EQ(std::get<Hello>(message).mask_key, "key");
  EXPECT_EQ(std::get<Hello>(message).program, "0.1.0");
  const auto odd = DecodeClientMessage(Encode(Hello{.program = "1\n" + std::string(100, 'x')}));
  EXPECT_EQ(std::get<Hello>(odd).program, "1 " + std::string(38, 'x'));
}

TEST(Wire, CarriesAReportWhoseNumbersCanBe) {
  const auto message = DecodeClientMessage(Encode(ClientReport{1ULL << 40, 0.1, -2.5, 0.4}));
  const auto& report = std::get<ClientReport>(message);
  EXPECT_EQ(report.predictions, 1ULL << 40);
  EXPECT_EQ(report.squared_error, 0.1);
  EXPECT_EQ(report.regret, -2.5);
  EXPECT_EQ(report.naive_error, 0.4);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(DecodeClientMessage(Encode(ClientReport{1, -0.1, 0})), Error);
  EXPECT_THROW(DecodeClientMessage(Encode(ClientReport{1, infinity, 0})), Error);
  EXPECT_THROW(DecodeClientMessage(Encode(ClientReport{1, 0, infinity - infinity})), Error);
  EXPECT_THROW(DecodeClientMessage(Encode(ClientReport{1, 0, 0, infinity})), Error);
  EXPECT_THROW(DecodeClientMessage(Encode(ClientReport{1, 0, 0, -0.1})), Error);
}

TEST(Wire, CarriesRangesWithinTheirLimit) {
  const ClientRanges sent{{-1e300, 0.1, -0.0}, {1e300, 0.2, 5}};
  const auto message = DecodeClientMessage(Encode(sent));
  EXPECT_EQ(std::get<ClientRanges>(message).least, sent.least);
  EXPECT_EQ(std::get<ClientRanges>(message).greatest, sent.greatest);
  for (const std::size_t inputs : {1U, 100U, 1'000'000U}) {
    const std::vector<double> column(inputs + 1, 0.1);
    EXPECT_LE(Encode(ClientRanges{column, column}).size(), LongestRanges(inputs));
  }
  for (const bool has : {false, true}) {
    const auto welcome = DecodeServerMessage(Encode(Welcome{.has_ranges = has}));
    EXPECT_EQ(std::get<Welcome>(welcome).has_ranges, has);
  }
}

TEST(Wire, CarriesWhatAServerSays) {
  Welcome welcome;
  welcome.client = 5;
  welcome.configuration = {{"a", "1"}, {"b", ""}};
  welcome.model = {9, true, {2}, {1, 2, 3}, {0.25, 0.75}};
  const auto got = std::get<Welcome>(DecodeServerMessage(Encode(welcome)));
  EXPECT_EQ(got.client, 5U);
  EXPECT_EQ(got.configuration, welcome.configuration);
  EXPECT_EQ(got.model.step, 9U);
  EXPECT_TRUE(got.model.finished);
  EXPECT_THAT(got.model.blocks, ElementsAre(2));
  EXPECT_THAT(got.model.values, ElementsAre(1, 2, 3));
  EXPECT_THAT(got.model.weights, ElementsAre(0.25, 0.75));
  EXPECT_EQ(std::get<Verdict>(DecodeServerMessage(Encode(Verdict{3, false, "no\nno"}))).reason,
            "no no");
  const auto busy = std::get<Busy>(DecodeServerMessage(Encode(Busy{10, 20, "full"})));
  EXPECT_EQ(busy.latest_milliseconds, 20U);
  EXPECT_EQ(std::get<ModelChange>(DecodeServerMessage(Encode(welcome.model))).step, 9U);
}

TEST(Wire, SaysWhetherAnUpdateWasAcceptedWhateverTheReason) {
  const auto sent = [](const Verdict& verdict) {
    return std::get<Verdict>(DecodeServerMessage(Encode(verdict)));
  };
  EXPECT_TRUE(sent({4, true}).accepted);
  EXPECT_EQ(sent({4, true}).step, 4U);
  EXPECT_EQ(sent({4, true, "never sent"}).reason, "");
  EXPECT_FALSE(sent({4, false, "too late"}).accepted);
  EXPECT_FALSE(sent({4, false, ""}).accepted);
  EXPECT_NE(sent({4, false, ""}).reason, "");
}

TEST(Wire, TakesAnyBytesAndThrowsNothingButError) {
  std::vector<std::string> seeds = {
      Encode(Hello{}),
      Encode(ClientReport{7, 0.25, 3}),
      Encode(ClientRanges{{0, 1}, {2, 3}}),
      Encode(SomeUpdates()),
      Encode(Verdict{1, false, "x"}),
      Encode(Busy{1, 2, "x"}),
      Encode(Welcome{1, 2, {{"key", "value"}}, {3, false, {0, 1}, {1, 2, 3, 4, 5, 6}, {1}}}),
      ""};
  Random random(5, Purpose::kTest);
  std::size_t good = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seeds[random.Below(seeds.size())];
    for (std::uint64_t n = random.Below(4); n > 0 && !bytes.empty(); --n) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    if (random.Below(4) == 0) bytes.resize(random.Below(bytes.size() + 8));
    for (const bool client : {true, false}) {
      try {
        if (client) {
          DecodeClientMessage(bytes);
        } else if (auto message = DecodeServerMessage(bytes);
                   const auto* change = std::get_if<ModelChange>(&message)) {
          Broadcast broadcast;
          ApplyModel(kShape, *change, broadcast);
        }
        ++good;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(good, 1000U);
}

TEST(Wire, RefusesWhatIsNotAMessage) {
  EXPECT_THROW(DecodeClientMessage(""), Error);
  EXPECT_THROW(DecodeClientMessage("\xff\xff\xff"), Error);
  EXPECT_THROW(DecodeServerMessage(""), Error);
  EXPECT_THROW(DecodeServerMessage(std::string(100, '\x12')), Error);
}

TEST(Wire, NoClientsMessageIsLongerThanTheLimit) {
  Updates updates;
  updates.step = std::numeric_limits<std::uint64_t>::max();
  updates.clients = {0};
  updates.blocks.assign(25, std::numeric_limits<std::uint32_t>::max());
  updates.first = {0, 25};
  updates.values.assign(25 * 40, 1.0F);
  updates.losses.assign(51, 1.0F);
  const ModelShape shape{
      .blocks = 51, .width = 40, .blocks_per_update = 25, .losses_per_update = 51};
  EXPECT_LE(Encode(updates).size(), LongestClientMessage(shape));
  EXPECT_GT(Encode(updates).size() + 200, LongestClientMessage(shape));  // and not much shorter
}

class ModelOnTheWire : public testing::Test {
 protected:
  Broadcast full{.step = 4, .model = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

  static void ExpectRefused(const ModelChange& change, const char* words) {
    Broadcast broadcast{.step = 2, .model = std::vector<float>(12, 7)};
    try {
      ApplyModel(kShape, change, broadcast);
      ADD_FAILURE() << "accepted, expected: " << words;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
    EXPECT_EQ(broadcast.step, 2U);
    EXPECT_EQ(broadcast.model, std::vector<float>(12, 7));
  }
};

TEST_F(ModelOnTheWire, ComesWholeAndThenByItsChanges) {
  Broadcast copy;
  ApplyModel(kShape, TakeBlocks(kShape, full, {0, 1, 2, 3}), copy);
  EXPECT_EQ(copy.model, full.model);
  EXPECT_EQ(copy.step, 4U);
  full.step = 5;
  full.model[7] = -1;
  const ModelChange change = TakeBlocks(kShape, full, {2});
  EXPECT_THAT(change.values, ElementsAre(6, -1, 8));
  ApplyModel(kShape, change, copy);
  EXPECT_EQ(copy.model, full.model);
  EXPECT_EQ(copy.step, 5U);
}

TEST_F(ModelOnTheWire, IsRefusedAsAWholeIfAnythingDoesNotFit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused({3, false, {4}, {1, 2, 3}, {}}, "too high");
  ExpectRefused({3, false, {1, 1}, {1, 2, 3, 4, 5, 6}, {}}, "twice");
  ExpectRefused({3, false, {1}, {1, 2}, {}}, "lengths");
  ExpectRefused({3, false, {0, 1, 2, 3, 0}, std::vector<float>(15), {}}, "lengths");
  ExpectRefused({3, false, {1}, {1, nan, 2}, {}}, "finite");
  ExpectRefused({3, false, {1}, {1, 2, 3}, {1}}, "weights");
  Broadcast empty;
  EXPECT_THROW(ApplyModel(kShape, {3, false, {1}, {1, 2, 3}, {}}, empty), Error);
}

TEST_F(ModelOnTheWire, HasAsManyWeightsAsTheLossesAreAbout) {
  EXPECT_EQ(WeightsOf({.blocks = 9, .blocks_per_update = 5}), 0U);
  const ModelShape of_weights = {.blocks = 9, .blocks_per_update = 2, .losses_per_update = 2};
  EXPECT_EQ(WeightsOf(of_weights), 2U) << "that it may send two kernels does not matter";
  ModelShape of_blocks = of_weights;
  of_blocks.loss_per_block = true;
  EXPECT_EQ(WeightsOf(of_blocks), 9U);
  EXPECT_EQ(WeightsOf({.blocks = 1, .blocks_per_update = 1, .losses_per_update = 9}), 9U);
}

TEST(Wire, NoUpdateOfAnyShapeExceedsTheLimit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, Purpose::kTest);
    ModelShape shape{.blocks = 1 + random.Below(100), .width = 1 + random.Below(50)};
    shape.blocks_per_update = random.Below(shape.blocks + 1);
    shape.losses_per_update = random.Below(60);
    Updates updates;
    updates.step = std::numeric_limits<std::uint64_t>::max();
    updates.clients = {0};
    updates.blocks.assign(shape.blocks_per_update, std::numeric_limits<std::uint32_t>::max());
    updates.first = {0, shape.blocks_per_update};
    updates.values.assign(shape.blocks_per_update * shape.width, 1.0F);
    updates.losses.assign(shape.losses_per_update, 1.0F);
    EXPECT_LE(Encode(updates).size(), LongestClientMessage(shape)) << seed;
    EXPECT_LE(Encode(ClientReport{~0ULL, 1e300, 1e300}).size(), LongestClientMessage(shape));
    EXPECT_LE(Encode(Hello{~0U, ~0ULL}).size(), LongestClientMessage(shape));
  }
}

TEST_F(ModelOnTheWire, StaysTheSameOnBothSidesOfRandomChanges) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, Purpose::kTest);
    const ModelShape shape{.blocks = 1 + random.Below(9),
                           .width = 1 + random.Below(4),
                           .losses_per_update = random.Below(3)};
    Broadcast here{.step = 0, .model = std::vector<float>(shape.model_size())};
    here.weights.resize(WeightsOf(shape));
    std::vector<std::uint32_t> blocks(shape.blocks);
    std::iota(blocks.begin(), blocks.end(), 0U);
    Broadcast there;
    for (std::uint64_t step = 1; step < 12; ++step) {
      here.step = step;
      random.Shuffle(blocks);  // the first message brings all, later ones some of them
      const std::size_t count = step == 1 ? shape.blocks : random.Below(shape.blocks + 1);
      const std::vector<std::uint32_t> changed(blocks.begin(),
                                               blocks.begin() + static_cast<std::ptrdiff_t>(count));
      for (const std::uint32_t block : changed) {
        for (std::size_t i = 0; i < shape.width; ++i) {
          here.model[block * shape.width + i] = static_cast<float>(random.Normal());
        }
      }
      for (double& weight : here.weights) weight = random.Uniform();
      const auto message = DecodeServerMessage(Encode(TakeBlocks(shape, here, changed)));
      ApplyModel(shape, std::get<ModelChange>(message), there);
      ASSERT_EQ(there.step, here.step);
      ASSERT_EQ(there.model, here.model);
      ASSERT_EQ(there.weights, here.weights);
    }
  }
}

TEST_F(ModelOnTheWire, SaysOfWhichStepItIsAndWhatIsWrong) {
  const auto complaint = [](const ModelShape& shape, const ModelChange& change) {
    Broadcast empty;
    try {
      ApplyModel(shape, change, empty);
    } catch (const Error& error) {
      EXPECT_TRUE(empty.model.empty() && empty.step == 0);
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(complaint(kShape, {30, false, {0, 1, 2}, std::vector<float>(9), {}}),
            "the model of step 30 cannot be used: it is the first one and lacks kernels");
  EXPECT_EQ(complaint(kShape, {31, false, {}, {1}, {}}),
            "the model of step 31 cannot be used: its parts have inconsistent lengths");
  ModelShape weighted = kShape;
  weighted.losses_per_update = 2;
  const std::vector<std::uint32_t> all = {0, 1, 2, 3};
  EXPECT_EQ(complaint(weighted, {32, false, all, std::vector<float>(12), {1}}),
            "the model of step 32 cannot be used: it has another number of weights");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(complaint(weighted, {33, false, all, std::vector<float>(12), {1, -infinite}}),
            "the model of step 33 cannot be used: it holds a number that is not finite");
  EXPECT_EQ(complaint(weighted, {34, false, all, std::vector<float>(12), {1, 2}}), "nothing");
}

}  // namespace
}  // namespace polykern
