#include "bench/bench_device.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "bench/bench_setting.h"
#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/results/text_table.h"
#include "polykern/sim/simulation.h"

namespace polykern {
namespace {

/// The paper's sizes of inputs and uploads.
std::vector<BenchSetting> DeviceSettings() {
  return {{"air", 14, 51, 100, 1, 0}, {"air-20", 14, 51, 20, 25, 0}, {"air-9", 14, 51, 9, 51, 0},
          {"wec", 48, 51, 100, 1, 0}, {"wec-20", 48, 51, 20, 25, 0}, {"wec-9", 48, 51, 9, 51, 0}};
}

struct DeviceRow {
  BenchSetting setting;
  double nanoseconds = 0;  // a client-step
  double floor = 0;        // of features and sines
};

DeviceRow MeasureOnDevice(const FleetDevice& device, const BenchSetting& setting,
                          const DeviceFloors& floors, std::size_t steps, std::uint64_t seed) {
  const SyntheticFleet stream({.clients = setting.clients,
                               .steps = steps + 1,
                               .dimension = setting.dimension,
                               .seed = seed});
  AlgorithmOptions options;
  options.kernels = setting.kernels;
  options.features = setting.features;
  options.kernels_per_upload = setting.kernels_per_upload;
  const auto algorithm = MakeAlgorithm("pof-mkl", options, {setting.dimension, steps, seed});
  const auto data = device.Load(stream, {0, setting.clients}, {});
  Clients clients(*algorithm, 0, setting.clients);
  Workers workers(1);
  Simulation::Options simulation_options;
  simulation_options.device = data.get();
  simulation_options.carries_states = false;
  Simulation simulation(*algorithm, stream, clients, workers, simulation_options);
  simulation.Step();  // the first one also waits for what was started before it
  const Stopwatch watch;
  while (!simulation.done()) simulation.Step();
  const double passed = watch.Seconds();
  const auto features = static_cast<double>(setting.kernels * setting.features);
  const auto adds = static_cast<double>(setting.dimension + 2);
  return {setting, 1e9 * passed / static_cast<double>(setting.clients * steps),
          1e9 * features * (adds / floors.multiply_adds + floors.sine)};
}

std::string DeviceJson(const FleetDevice& device, const DeviceFloors& floors, std::size_t steps,
                       const std::vector<DeviceRow>& rows) {
  nlohmann::ordered_json json = {{"device", device.name()},
                                 {"multiply_adds_per_second", floors.multiply_adds},
                                 {"seconds_per_sine", floors.sine},
                                 {"steps", steps},
                                 {"settings", nlohmann::ordered_json::array()}};
  for (const DeviceRow& row : rows) {
    json["settings"].push_back({{"name", row.setting.name},
                                {"dimension", row.setting.dimension},
                                {"kernels", row.setting.kernels},
                                {"features", row.setting.features},
                                {"kernels_per_upload", row.setting.kernels_per_upload},
                                {"clients", row.setting.clients},
                                {"nanoseconds_per_client_step", row.nanoseconds},
                                {"floor_nanoseconds", row.floor}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

std::string MeasureDevice(const FleetDevice& device, std::size_t clients, std::size_t steps,
                          std::uint64_t seed, BenchFormat format) {
  const DeviceFloors floors = device.MeasureFloors();
  std::vector<DeviceRow> rows;
  for (BenchSetting setting : DeviceSettings()) {
    setting.clients = clients;
    rows.push_back(MeasureOnDevice(device, setting, floors, steps, seed));
  }
  if (format == BenchFormat::kJson) return DeviceJson(device, floors, steps, rows);
  const std::vector<std::string> header = {
      "setting", "d", "N", "D", "M", "K", "ns", "floor", "ours/floor", "client-steps/s"};
  std::vector<std::vector<std::string>> cells;
  for (const DeviceRow& row : rows) {
    const BenchSetting& s = row.setting;
    cells.push_back({s.name, std::to_string(s.dimension), std::to_string(s.kernels),
                     std::to_string(s.features), std::to_string(s.kernels_per_upload),
                     std::to_string(s.clients), Fixed(row.nanoseconds, 2), Fixed(row.floor, 2),
                     Fixed(row.nanoseconds / row.floor, 2),
                     Fixed(1e3 / row.nanoseconds, 1) + " M"});
  }
  const std::string limits = device.name() + ": " + Fixed(2e-12 * floors.multiply_adds, 1) +
                             " TFLOP/s of multiply-adds, " + Fixed(1e12 * floors.sine, 3) +
                             " ps for a sine with its cosine.\n";
  if (format == BenchFormat::kText) return FormatTable(header, cells) + "\n" + limits;
  std::string text;
  const auto line = [&](const std::vector<std::string>& parts) {
    for (const std::string& part : parts) text += "| " + part + " ";
    text += "|\n";
  };
  line(header);
  line(std::vector<std::string>(header.size(), "---"));
  for (const auto& row : cells) line(row);
  return text + "\n" + limits;
}

}  // namespace polykern
