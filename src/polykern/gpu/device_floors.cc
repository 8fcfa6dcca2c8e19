#include <algorithm>
#include <chrono>

#include "polykern/gpu/gpu_fleet.h"

namespace polykern::gpu {
namespace {

constexpr int kTimes = 5;
constexpr U64 kChains = 8;  // kernels/floors.cu

/// The least of several times, in seconds.
double TimeOf(Queue& queue, const Program& program, const char* kernel, const Grid& grid,
              const FleetArguments& arguments) {
  double least = 1e9;
  float last = 0;
  for (int i = 0; i < kTimes; ++i) {
    queue.Read(&last, arguments.f, sizeof(float));  // nothing runs any more
    const auto start = std::chrono::steady_clock::now();
    queue.Launch(program, kernel, grid, arguments);
    queue.Read(&last, arguments.f, sizeof(float));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    least = std::min(least, passed.count());
  }
  return least;
}

}  // namespace

DeviceFloors MeasureFloors(const Device& device, U64 rounds) {
  KernelShape shape;
  shape.threads = device.threads();
  shape.dimension = shape.kernels = shape.features = shape.per_upload = 1;
  const Grid grid{32 * device.processors()};
  const auto count = static_cast<double>(grid.x * shape.threads * kChains * rounds);
  const Buffer<float> out(device, grid.x * shape.threads);
  FleetArguments a = {};
  a.f = out.data();
  a.slice = rounds;
  const auto queue = device.NewQueue();
  queue->Zero(out.data(), out.bytes());
  const auto program = device.Compile(shape);
  const double adds = TimeOf(*queue, *program, "MultiplyAdds", grid, a);
  const double sines = TimeOf(*queue, *program, "SinesAndCosines", grid, a);
  return {count / adds, sines / count};
}

}  // namespace polykern::gpu
