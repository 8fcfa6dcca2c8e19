#include "polykern/gpu/gpu.h"

#include <memory>
#include <string>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/workers.h"

namespace polykern {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// The GPU of this machine; null, and why not, if there is none.
struct FoundGpu {
  FoundGpu() {
    try {
      device = OpenGpu();
    } catch (const Error& error) {
      why = error.what();
    }
  }
  std::unique_ptr<FleetDevice> device;
  std::string why;
};

TEST(Device, IsCpuOrGpu) {
  EXPECT_EQ(OpenDevice("cpu"), nullptr);
  try {
    OpenDevice("tpu");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "device is \"tpu\"; it must be cpu or gpu");
  }
}

TEST(Gpu, ThatIsMissingIsMissedInOneLine) {
  const FoundGpu found;
  if (found.device != nullptr) GTEST_SKIP() << "this machine has " << found.device->name();
  EXPECT_THAT(found.why, AnyOf(HasSubstr("no NVIDIA driver"), HasSubstr("finds no GPU")));
  EXPECT_THAT(found.why, HasSubstr("choose device=cpu"));
  EXPECT_EQ(found.why.find('\n'), std::string::npos);
}

std::uint64_t FingerprintOn(const FleetDevice* device, const std::string& name) {
  const SyntheticFleet stream({.clients = 900, .steps = 20, .dimension = 7, .drift = 1});
  AlgorithmOptions options;
  options.kernels = 21;
  options.features = 10;
  if (name == "pof-mkl") options.kernels_per_upload = 4;
  const auto algorithm = MakeAlgorithm(name, options, {7, 20, 3});
  Clients clients(*algorithm, 0, 900);
  Workers workers(1);
  std::unique_ptr<FleetData> data;
  Simulation::Options simulation_options;
  simulation_options.participation = 0.8;
  if (device != nullptr) {
    data = device->Load(stream, {0, 900}, {0, 0.8});
    simulation_options.device = data.get();
  }
  Simulation simulation(*algorithm, stream, clients, workers, simulation_options);
  while (!simulation.done()) simulation.Step();
  return simulation.Fingerprint();
}

TEST(Gpu, HasTheCpusBits) {
  const FoundGpu found;
  if (found.device == nullptr) GTEST_SKIP() << found.why;
  for (const std::string name : {"pof-mkl", "ofmkl-avg", "vm-kofl"}) {
    EXPECT_EQ(FingerprintOn(found.device.get(), name), FingerprintOn(nullptr, name)) << name;
  }
}

}  // namespace
}  // namespace polykern
