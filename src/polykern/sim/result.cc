#include "polykern/sim/result.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/data/checksum.h"
#include "polykern/data/synthetic.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 1000;
constexpr std::size_t kMostQuantiles = 201;

/// Raised with every new field of a run, so that runs kept without it are made again.
constexpr int kFields = 2;

std::string Hex(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << value;
  return text.str();
}

/// A curve of at most kMostPoints points, each for a window of equally many steps: the window's
/// mean error, and the regret at its end. No error (null) if nobody took part.
Json Curves(const RowResult& row) {
  const std::size_t steps = row.step_mse.size();
  const std::size_t window = std::max<std::size_t>(1, (steps + kMostPoints - 1) / kMostPoints);
  Json step = Json::array();
  Json mse = Json::array();
  Json regret = Json::array();
  for (std::size_t start = 0; start < steps; start += window) {
    const std::size_t end = std::min(steps, start + window);
    std::vector<double> numbers;
    for (std::size_t t = start; t < end; ++t) {
      if (!std::isnan(row.step_mse[t])) numbers.push_back(row.step_mse[t]);
    }
    step.push_back(end);
    mse.push_back(numbers.empty() ? Json() : Json(SpreadOf(numbers).mean));
    regret.push_back(row.has_regret ? Json(row.step_regret[end - 1]) : Json());
  }
  return {{"step", step}, {"mse", mse}, {"regret", regret}};
}

/// Sorted, and of more than kMostQuantiles numbers the quantiles at even distances, the least and
/// the most among them.
Json Quantiles(std::vector<double> numbers) {
  if (numbers.empty()) return {};
  std::ranges::sort(numbers);
  const std::size_t count = std::min(numbers.size(), kMostQuantiles);
  Json quantiles = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    quantiles.push_back(numbers[count == 1 ? 0 : i * (numbers.size() - 1) / (count - 1)]);
  }
  return quantiles;
}

/// Four digits after the point are more than a colour shows.
double Rounded(double weight) {
  return std::round(1e4 * weight) / 1e4;
}

Json WeightsJson(const RowResult& row, const Stream& stream) {
  const WeightPlan& plan = row.weight_plan;
  const ClientWeights& weights = row.weights;
  if (weights.last.empty()) return {};
  const std::size_t kernels = weights.last.size() / plan.clients.size();
  Json names = Json::array();
  for (const Kernel& kernel : MakeDictionary(row.row.options.dictionary, kernels)) {
    names.push_back(KernelText(kernel));
  }
  const auto rows = [&](std::span<const double> numbers) {
    Json list = Json::array();
    for (std::size_t at = 0; at < numbers.size(); at += kernels) {
      Json one = Json::array();
      for (const double weight : numbers.subspan(at, kernels)) one.push_back(Rounded(weight));
      list.push_back(std::move(one));
    }
    return list;
  };
  Json sites = Json::array();
  for (const std::size_t client : plan.clients) sites.push_back(stream.SiteOf(client));
  Json trace = Json::array();
  const std::size_t step_size = plan.traced.size() * kernels;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    trace.push_back(rows(std::span(weights.trace).subspan(i * step_size, step_size)));
  }
  return {{"kernels", names},      {"clients", plan.clients},
          {"sites", sites},        {"last", rows(weights.last)},
          {"traced", plan.traced}, {"steps", plan.steps},
          {"trace", trace}};
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json IfAny(std::size_t count) {
  return count > 0 ? Json(count) : Json();
}

/// The value of an option; null: none is set.
Json OptionJson(const OptionDeclaration& option, const AlgorithmOptions& options) {
  return std::visit(
      [&](auto field) {
        const auto& value = options.*field;
        if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
          return Json(NameOf(value));
        } else if constexpr (requires { value.has_value(); }) {
          return OrNull(value);
        } else {
          return Json(value);
        }
      },
      option.field);
}

/// Of the algorithm, but for M and D, which stand beside it, and of the experiment. `frozen`: by
/// the layout of 0.1.0, so without later options that have their absent value.
Json OptionsJson(const Row& row, const ExperimentOptions& options, bool frozen) {
  Json json = Json::object();
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    if (option.key == "kernels_per_upload" || option.key == "features") continue;
    if (frozen && option.since > 2 && OptionText(option, row.options) == option.absent) continue;
    json[std::string(option.key)] = OptionJson(option, row.options);
  }
  json["exploration"] = ExplorationOf(row.algorithm, row.options);
  json["weights"] = options.carry_weights ? "carried" : "reset";
  json["participation"] = options.participation;
  json["seed"] = options.seed;
  return json;
}

Json RowJson(const RowResult& r, const Source& source, const ExperimentOptions& options) {
  const double samples = static_cast<double>(std::max<std::uint64_t>(r.samples, 1));
  Json json = {{"algorithm", r.row.algorithm},
               {"kernels_per_upload", IfAny(r.kernels)},
               {"features", IfAny(r.features)},
               {"clients", source.stream->clients()},
               {"steps", source.stream->steps()},
               {"repetitions", r.repetitions},
               {"mse", r.mse.mean},
               {"mse_std", r.mse.deviation},
               {"regret_mean", r.has_regret ? Json(r.regret.mean) : Json()},
               {"regret_std", r.has_regret ? Json(r.regret.deviation) : Json()},
               {"regret_bound", OrNull(r.regret_bound)},
               {"losses_in_unit_range", r.unit_losses},
               {"client_runs_over_bound", r.over_bound},
               {"uplink_numbers", r.uplink_numbers},
               {"uplink_bytes", r.uplink_bytes},
               {"downlink_bytes", r.downlink_bytes},
               {"seconds", r.seconds},
               {"microseconds_per_sample", 1e6 * r.seconds / samples},
               {"fingerprint", Hex(r.fingerprint)},
               {"options", OptionsJson(r.row, options, false)},
               {"curves", Curves(r)},
               {"client_regret", Quantiles(r.client_regret)},
               {"client_weights", WeightsJson(r, *source.stream)}};
  if (r.divergence) {
    json["diverged"] = {{"repetition", r.divergence->repetition + 1},
                        {"step", r.divergence->step + 1},
                        {"reason", r.divergence->message}};
  }
  return json;
}

Json DataJson(const Source& source, const SourceOptions& options) {
  Json sites = Json::array();
  for (const std::string& site : source.stream->site_names()) sites.push_back(site);
  Json ranges = Json::object();
  for (const DeclaredRange& declared : options.ranges) {
    ranges[declared.column] = {declared.range.low, declared.range.high};
  }
  Json json = {{"name", source.name},
               {"files", source.files},
               {"folder", source.files.empty() ? "" : options.data_dir},
               {"target", source.target},
               {"inputs", source.inputs},
               {"unused_columns", source.unused_columns},
               {"site_column", options.site},
               {"client_column", options.client},
               {"categorical", options.categorical},
               {"missing", options.missing == MissingPolicy::kDrop ? "drop" : "error"},
               {"ranges", ranges},
               {"major_share", options.major_share},
               {"rows", source.rows},
               {"dropped_rows", source.dropped_rows},
               {"clipped_values", source.clipped_values},
               {"dimension", source.stream->dimension()},
               {"clients", source.stream->clients()},
               {"steps", source.stream->steps()},
               {"sites", sites},
               {"scaling", source.scaling},
               {"split", source.split},
               {"seed", options.seed}};
  if (source.name == "synthetic") {
    json["noise"] = options.noise.value_or(FleetOptions().noise);
    json["drift"] = options.drift.value_or(FleetOptions().drift);
  }
  return json;
}

}  // namespace

const char* Version() {
  return POLYKERN_VERSION;
}

std::string ResultJson(const Source& source, const SourceOptions& source_options,
                       const ExperimentOptions& options, const std::vector<RowResult>& rows,
                       const std::string& command) {
  Json runs = Json::array();
  for (const RowResult& row : rows) runs.push_back(RowJson(row, source, options));
  const Json result = {{"polykern", Version()},
                       {"command", command},
                       {"data", DataJson(source, source_options)},
                       {"runs", runs}};
  // Names from files may hold bytes that are not UTF-8: replaced, not refused.
  return ReadableJson(result.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string ReadableJson(const std::string& indented) {
  std::string text;
  std::size_t list = std::string::npos;  // where in `text` a list began that holds no other so far
  bool quoted = false;
  for (std::size_t i = 0; i < indented.size(); ++i) {
    const char c = indented[i];
    text += c;
    if (quoted) {
      if (c == '\\') text += indented[++i];
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      list = c == '[' ? text.size() : std::string::npos;
    } else if (c == ']' && list != std::string::npos) {
      // Texts hold no line ends of their own: JSON writes them as \n.
      std::string line;
      for (std::size_t at = list; at < text.size(); ++at) {
        if (text[at] != '\n') {
          line += text[at];
          continue;
        }
        while (at + 1 < text.size() && text[at + 1] == ' ') ++at;
        if (!line.empty() && text[at + 1] != ']') line += ' ';
      }
      text.replace(list, std::string::npos, line);
      list = std::string::npos;
    }
  }
  return text;
}

std::string SampleSettings(const Source& source, const SourceOptions& options) {
  Json json = DataJson(source, options);
  json.erase("folder");
  Json sums = Json::array();
  for (const std::string& file : source.files) {
    const fs::path path =
        source.files == options.data ? fs::path(file) : fs::path(options.data_dir) / file;
    if (!fs::is_regular_file(path)) return "";
    sums.push_back(Sha256OfFile(path.string()));
  }
  json["sha256"] = sums;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string RowSettings(const Row& row, const ExperimentOptions& options) {
  const Json settings = {{"polykern", Version()},
                         {"fields", kFields},
                         {"algorithm", row.algorithm},
                         {"kernels_per_upload", UplinkOf(row.algorithm, row.options).kernels},
                         {"features", OrNull(row.options.features)},
                         {"repetitions", options.repetitions},
                         {"options", OptionsJson(row, options, true)}};
  return settings.dump();
}

void CheckWritable(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string what = error ? error.message() : std::strerror(EACCES);
  if (error || !fs::is_directory(folder) || access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error("cannot write to the folder '" + folder +
                "': " + (!error && !fs::is_directory(folder) ? "it is not a folder" : what) +
                "; choose another with " + OptionName("out"));
  }
}

void WriteFileAtomically(const std::string& folder, const std::string& name,
                         const std::string& text) {
  CheckWritable(folder);
  const fs::path path = fs::path(folder) / name;
  const fs::path temporary = fs::path(folder) / ("." + name + ".tmp" + std::to_string(getpid()));
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  const int reason = errno;
  std::error_code error;
  if (file) fs::rename(temporary, path, error);
  if (!file || error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error("cannot write '" + path.string() +
                "': " + (error ? error.message() : std::strerror(reason)));
  }
}

}  // namespace polykern
