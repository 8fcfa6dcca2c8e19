#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

namespace {

std::atomic<std::size_t> allocations = 0;

void* Allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* place = std::aligned_alloc(alignment, rounded);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

}  // namespace

// Every allocation of this test program is counted. GCC takes the pair below for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  return Allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size,
                   const std::nothrow_t&) noexcept {  // temporary buffers of sorts
  return std::malloc(size);
}
void operator delete(void* place) noexcept {
  std::free(place);
}
void operator delete(void* place, std::size_t) noexcept {
  std::free(place);
}
void operator delete(void* place, std::align_val_t) noexcept {
  std::free(place);
}
void operator delete(void* place, std::size_t, std::align_val_t) noexcept {
  std::free(place);
}

namespace polykern {
namespace {

TEST(Simulation, DoesNotAllocateInTheStepLoop) {
  FleetOptions fleet;
  fleet.clients = 150;
  fleet.steps = 60;
  const SyntheticFleet stream(fleet);
  for (const std::size_t per_upload : {1U, 25U, 51U}) {
    for (const double xi : {1.0, 0.3}) {
      AlgorithmOptions options;
      options.kernels_per_upload = per_upload;
      options.exploration = xi;
      const auto algorithm = MakeAlgorithm("pof-mkl", options, {stream.dimension(), 60, 1});
      Clients clients(*algorithm, 0, stream.clients());
      Workers workers(1);
      Simulation simulation(*algorithm, stream, clients, workers, {});
      for (int warm = 0; warm < 20; ++warm) simulation.Step();
      const std::size_t before = allocations;
      for (int step = 0; step < 20; ++step) simulation.Step();
      EXPECT_EQ(allocations - before, 0U) << "M = " << per_upload << ", xi = " << xi;
    }
  }
}

TEST(Simulation, DoesNotAllocateInTheStepLoopOfRegressions) {
  FleetOptions fleet;
  fleet.clients = 150;
  fleet.steps = 120;
  const SyntheticFleet stream(fleet);
  for (const std::string_view name : {"pof-newton", "local-rls"}) {
    for (const bool local : {false, true}) {
      AlgorithmOptions options;
      options.kernels = 11;
      options.features = 10;
      options.budget = 60;
      options.experts = local ? Experts::kFederatedAndLocal : Experts::kFederated;
      options.local_memory = 64;
      options.local_kernels = 2;
      options.forgetting = local ? kAutoForgetting : 0.99;
      const auto algorithm = MakeAlgorithm(name, options, {stream.dimension(), 120, 1});
      Clients clients(*algorithm, 0, stream.clients());
      Workers workers(1);
      Simulation simulation(*algorithm, stream, clients, workers, {});
      for (int warm = 0; warm < 40; ++warm) simulation.Step();
      std::size_t before = allocations;
      for (int step = 0; step < 80; ++step) {
        simulation.Step();
        EXPECT_EQ(allocations - before, 0U) << name << ", step " << simulation.step();
        before = allocations;
      }
    }
  }
}

}  // namespace
}  // namespace polykern
