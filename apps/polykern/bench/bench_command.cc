#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_device.h"
#include "bench/bench_gram.h"
#include "bench/bench_growth.h"
#include "bench/bench_newton.h"
#include "bench/bench_race.h"
#include "bench/bench_report.h"
#include "bench/bench_setting.h"
#include "bench/machine_limits.h"
#include "bench/numpy_twin.h"
#include "commands.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/gpu/gpu.h"
#include "polykern/sim/experiment.h"
#include "progress.h"

namespace polykern {
namespace {

/// Everything `polykern bench` can be told.
struct BenchOptions {
  std::vector<std::string> settings = {"all"};
  std::string data_dir = "data";
  bool numpy = false;
  std::string python = "python3";
  bool growth = false;
  std::size_t clients = 0;  ///< above 0: this many against few, and nothing else
  std::size_t steps = 10;   ///< of these clients
  double seconds = 1;       ///< per measurement
  std::string device = "cpu";
  std::size_t threads = 0;
  std::uint64_t seed = 0;
  BenchFormat format = BenchFormat::kText;
};

bool Wanted(const BenchOptions& options, const std::string& name) {
  return std::ranges::find(options.settings, name) != options.settings.end();
}

std::vector<BenchSetting> Chosen(const BenchOptions& options) {
  std::vector<BenchSetting> chosen;
  if (options.clients > 0) return chosen;
  for (const BenchSetting& setting : BenchSettings()) {
    if (Wanted(options, "all") || Wanted(options, setting.name)) chosen.push_back(setting);
  }
  return chosen;
}

void MeasureSetting(const BenchOptions& options, const BenchSetting& setting,
                    const std::string& python, BenchReport& report) {
  BenchJob job;
  if (setting.name == "uji") {
    auto stream = OpenUji(options.data_dir, options.seed);
    if (stream == nullptr) {
      report.left_out.push_back("uji is skipped: its files are not in '" + options.data_dir +
                                "' (polykern data get uji, or --data-dir)");
      return;
    }
    job = MakeBenchJob(setting, std::move(stream), options.seed);
  } else {
    job = MakeBenchJob(setting, options.seed);
  }
  BenchRow row;
  row.setting = setting;
  row.nonzero_inputs = job.nonzero_inputs;
  row.times = TimeJob(job, options.threads, options.seconds);
  if (options.numpy) row.numpy = TimeNumpy(job, python, options.seconds);
  report.rows.push_back(std::move(row));
}

/// A GPU is measured by whole steps alone.
void CheckDevice(const BenchOptions& options) {
  if (options.device == "cpu") return;
  const bool settings = options.settings != std::vector<std::string>{"all"};
  if (!settings && !options.numpy && !options.growth) return;
  throw Error(OptionName("device", options.device) + " measures whole steps alone: leave out " +
              OptionName(settings        ? "settings"
                         : options.numpy ? "numpy"
                                         : "growth"));
}

void Execute(const BenchOptions& options) {
  CheckDevice(options);
  if (const auto device = OpenDevice(options.device)) {
    constexpr std::size_t kClients = std::size_t{1} << 20;
    std::cout << MeasureDevice(*device, options.clients > 0 ? options.clients : kClients,
                               options.steps, options.seed, options.format);
    return;
  }
  const std::string python = options.numpy ? FindNumpy(options.python) : "";
  const std::vector<BenchSetting> settings = Chosen(options);
  BenchReport report;
  report.threads = Workers(options.threads).size();
  report.target = VectorTarget();
  Progress progress;
  const auto wanted = [&](const std::string& name) {
    return options.clients == 0 && (Wanted(options, "all") || Wanted(options, name));
  };
  progress.steps_total = settings.size() + (wanted("newton") ? 1 : 0) + (wanted("gram") ? 1 : 0);
  if (options.growth) {
    for (const GrowthPlan& plan : GrowthPlans()) progress.steps_total += plan.values.size();
  }
  {
    const ProgressBar bar(progress, "bench");
    for (const BenchSetting& setting : settings) {
      MeasureSetting(options, setting, python, report);
      ++progress.steps_done;
    }
    if (wanted("newton")) {
      report.newton = MeasureNewton(options.threads, options.seconds, options.seed);
      ++progress.steps_done;
    }
    if (wanted("gram")) {
      report.gram = MeasureGram(options.seconds, options.seed);
      ++progress.steps_done;
    }
    if (options.growth) {
      const BenchJob base = MakeGrowthBase(options.seed);
      for (const GrowthPlan& plan : GrowthPlans()) {
        report.growth.push_back({plan.parameter, {}});
        for (const std::size_t value : plan.values) {
          report.growth.back().points.push_back(
              MeasureGrowth(base, plan, value, options.seconds, options.seed));
          ++progress.steps_done;
        }
      }
    }
    if (options.clients > 0) {
      report.fleet = MeasureFleet(options.clients, options.steps, options.threads, options.seed);
    }
  }
  std::cout << FormatReport(report, options.format);
}

}  // namespace

void AddBenchCommand(CLI::App& program) {
  auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  CLI::App& bench = *program.add_subcommand(
      "bench",
      "Measure the speed on this machine, and compare it with what the machine can do at best.\n"
      "Example: polykern bench --settings naval,wec --numpy");
  AddConfigOption(bench);
  std::vector<std::string> names = {"all"};
  for (const BenchSetting& setting : BenchSettings()) names.push_back(setting.name);
  names.insert(names.end(), {"newton", "gram"});
  CLI::Option* settings =
      bench
          .add_option("--settings", o.settings,
                      "naval, air, wec, wec-20, wec-9, uji, newton, gram, or all")
          ->delimiter(',')
          ->check(CLI::IsMember(names))
          ->capture_default_str();
  bench.add_option("--data-dir", o.data_dir, "Folder with uji's files")
      ->envname("POLYKERN_DATA")
      ->capture_default_str();
  CLI::Option* numpy =
      bench.add_flag("--numpy", o.numpy, "Also run plain NumPy on the same samples");
  bench.add_option("--python", o.python, "Python interpreter for --numpy")->capture_default_str();
  CLI::Option* growth =
      bench.add_flag("--growth", o.growth, "Measure how time and memory grow with K, N, D and d");
  CLI::Option* clients =
      bench
          .add_option(
              "-k,--clients", o.clients,
              "Measure only a synthetic fleet of this many clients, and one of 10000 to compare")
          ->check(WholeNumber(1))
          ->excludes(settings)
          ->excludes(numpy)
          ->excludes(growth);
  bench.add_option("-s,--steps", o.steps, "Steps of the fleet of --clients")
      ->check(WholeNumber(1))
      ->needs(clients)
      ->capture_default_str();
  AddDeviceOption(bench, o.device);
  bench.get_option("--device")
      ->description("cpu, or gpu: measure only whole steps of many clients on an NVIDIA GPU")
      ->group(settings->get_group());
  bench.add_option("--seconds", o.seconds, "Time for each measurement")
      ->check(CLI::Range(1e-4, 1e4))
      ->capture_default_str();
  bench.add_option("--seed", o.seed, "Seed of samples and features")
      ->check(WholeNumber(0))
      ->capture_default_str();
  bench.add_option("-j,--threads", o.threads, "Threads; 0: all cores")
      ->check(WholeNumber(0) & CLI::Range(0, 1024))
      ->capture_default_str();
  bench
      .add_option_function<std::string>(
          "--format",
          [&o](const std::string& name) {
            o.format = name == "json"       ? BenchFormat::kJson
                       : name == "markdown" ? BenchFormat::kMarkdown
                                            : BenchFormat::kText;
          },
          "text, markdown or json, on standard output (default: text)")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  bench.callback([options] { Execute(*options); });
}

}  // namespace polykern
