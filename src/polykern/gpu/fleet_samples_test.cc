#include "polykern/gpu/fleet_samples.h"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "polykern/core/double_sum.h"
#include "polykern/data/stream.h"
#include "polykern/data/synthetic.h"
#include "polykern/gpu/emulated_device.h"
#include "polykern/gpu/gpu_fleet.h"
#include "polykern/sim/yardsticks.h"

namespace polykern::gpu {
namespace {

/// Three clients, four steps, two inputs: x = step + client / 10, and -1; y = client. Client 2
/// misses step 1.
struct PlainSamples {
  PlainSamples() {
    for (std::size_t step = 0; step < 4; ++step) {
      for (std::size_t client = 0; client < 3; ++client) {
        x.push_back(static_cast<float>(step) + 0.1F * static_cast<float>(client));
        x.push_back(-1);
        y.push_back(static_cast<double>(client));
        present.push_back(step == 1 && client == 2 ? 0 : 1);
      }
    }
  }
  ArrayStream Of(std::span<const std::uint8_t> there) const {
    const ArrayView xs{reinterpret_cast<const std::byte*>(x.data()), false, {24, 8, 4}};
    const ArrayView ys{reinterpret_cast<const std::byte*>(y.data()), true, {24, 8, 8}};
    return ArrayStream({4, 3, 2}, xs, ys, there);
  }

  std::vector<float> x;
  std::vector<double> y;
  std::vector<std::uint8_t> present;
};

class UploadedSamples : public testing::Test {
 protected:
  const std::unique_ptr<const Device> device_ = NewEmulatedDevice();
  const PlainSamples plain_;
};

TEST_F(UploadedSamples, LieStepAfterStep) {
  const ArrayStream stream = plain_.Of(plain_.present);
  const FleetSamples samples(*device_, stream, {0, 3}, {});
  EXPECT_FALSE(samples.made_there());
  EXPECT_EQ(samples.stride(), 4U);
  const TileSamples tile(*device_, samples, 3);
  EXPECT_EQ(tile.x.size(), 0U);
  FleetArguments a = {};
  samples.Describe(a);
  EXPECT_EQ(a.clients, 3U);
  EXPECT_EQ(a.all_clients, 3U);
  EXPECT_EQ(a.steps, 4U);
  a.step = 1;
  a.offset = 1;
  EXPECT_FALSE(samples.Place(tile, a));
  EXPECT_EQ(a.x[0], 1.1F);  // memory of the emulated device is ours
  EXPECT_EQ(a.x[1], -1);
  EXPECT_EQ(a.x[2], 0);  // padding
  EXPECT_EQ(a.x[4], 0);  // x of an absent client
  EXPECT_EQ(a.y[0], 1);
  ASSERT_NE(a.has_sample, nullptr);
  EXPECT_EQ(a.has_sample[0], 1);
  EXPECT_EQ(a.has_sample[1], 0);
}

TEST_F(UploadedSamples, NeedNoListIfNobodyIsEverAbsent) {
  const ArrayStream stream = plain_.Of({});
  const FleetSamples samples(*device_, stream, {0, 3}, {});
  FleetArguments a = {};
  samples.Place(TileSamples(*device_, samples, 3), a);
  EXPECT_EQ(a.has_sample, nullptr);
}

TEST_F(UploadedSamples, AreThoseOfARanksClients) {
  const ArrayStream stream = plain_.Of({});
  const FleetSamples samples(*device_, stream, {1, 2}, {7, 0.5});
  FleetArguments a = {};
  samples.Describe(a);
  EXPECT_EQ(a.clients, 2U);
  EXPECT_EQ(a.first_id, 1U);
  EXPECT_EQ(a.all_clients, 3U);
  EXPECT_EQ(a.attendance_seed, 7U);
  EXPECT_EQ(a.participation, 0.5);
  a.step = 3;
  samples.Place(TileSamples(*device_, samples, 2), a);
  EXPECT_EQ(a.x[0], 3.1F);
  EXPECT_EQ(a.y[1], 2);
}

TEST_F(UploadedSamples, KnowTheLongest) {
  const ArrayStream stream = plain_.Of({});
  const FleetSamples samples(*device_, stream, {0, 3}, {});
  EXPECT_NEAR(static_cast<double>(samples.longest()), 1.001 * std::sqrt(3.2 * 3.2 + 1), 1e-5);
}

TEST_F(UploadedSamples, LeaveYardsticksToTheCpu) {
  const ArrayStream stream = plain_.Of({});
  const FleetSamples samples(*device_, stream, {0, 3}, {});
  std::array<DoubleSum, 4> sums;
  std::int64_t labels = -1;
  EXPECT_FALSE(samples.MeasureLabels(sums, labels));
  EXPECT_EQ(labels, -1);
}

TEST(SyntheticSamples, AreMadeThere) {
  const auto device = NewEmulatedDevice();
  const SyntheticFleet stream(
      {.clients = 70, .steps = 4, .sites = 3, .dimension = 6, .drift = 1, .seed = 9});
  const FleetSamples samples(*device, stream, {10, 60}, {});
  ASSERT_TRUE(samples.made_there());
  const TileSamples tile(*device, samples, 60);
  FleetArguments a = {};
  samples.Describe(a);
  a.step = 2;
  a.offset = 5;
  a.count = 40;
  ASSERT_TRUE(samples.Place(tile, a));
  KernelShape shape;
  shape.threads = device->threads();
  shape.dimension = 6;
  shape.kernels = shape.features = shape.per_upload = 1;
  device->NewQueue()->Launch(*device->Compile(shape), "MakeSamples", {1}, a);
  SampleBlock expected;
  stream.Read(2, 15, 40, expected);
  for (std::size_t c = 0; c < 40; ++c) {
    EXPECT_EQ(a.y[c], expected.y[c]);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(a.x[c * 8 + j], expected.x[c * 6 + j]);
  }
}

TEST(SyntheticSamples, HaveTheYardsticksOfTheCpu) {
  const auto device = NewFleetDevice(NewEmulatedDevice());
  const SyntheticFleet stream({.clients = 150, .steps = 9, .dimension = 3, .drift = 2, .seed = 4});
  const WeightPlan plan(stream);
  const auto alone = RunAlone();
  Workers workers(1);
  for (const double participation : {1.0, 0.8}) {
    const Attendance attendance{6, participation};
    const auto data = device->Load(stream, {0, 150}, attendance);
    const Yardsticks cpu = MeasureYardsticks(stream, attendance, plan, {0, 150}, workers, *alone);
    const Yardsticks gpu =
        MeasureYardsticks(stream, attendance, plan, {0, 150}, workers, *alone, data.get());
    EXPECT_EQ(gpu.running_mean, cpu.running_mean);
    EXPECT_EQ(gpu.last_label, cpu.last_label);
    EXPECT_EQ(gpu.variance, cpu.variance);
    EXPECT_EQ(gpu.client, cpu.client);
  }
}

}  // namespace
}  // namespace polykern::gpu
