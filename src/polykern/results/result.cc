#include "polykern/results/result.h"

#include <cassert>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "polykern/algorithms/registry.h"
#include "polykern/core/version.h"
#include "polykern/io/checksum.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

}  // namespace

std::string ResultJson(const Source& source, const SourceOptions& source_options,
                       const ExperimentOptions& options, const std::vector<RowResult>& rows,
                       const std::string& command) {
  Json runs = Json::array();
  for (const RowResult& row : rows) {
    runs.push_back(RunFields().Write({row, *source.stream, options}));
  }
  const Json result = {{"polykern", Version()},
                       {"command", command},
                       {"data", DataFields().Write({source, source_options})},
                       {"runs", runs}};
  // Names from files may hold bytes that are not UTF-8: replaced, not refused.
  return ReadableJson(result.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::vector<RunValue> RunValues(const RowResult& row, const Stream& stream,
                                const ExperimentOptions& options) {
  std::vector<RunValue> values;
  const Json run = RunFields().Write({row, stream, options});
  for (const auto& [name, value] : run.items()) {
    if (value.is_structured()) continue;
    RunValue& one = values.emplace_back(name);
    if (value.is_boolean()) one.value = value.get<bool>();
    if (value.is_number_float()) one.value = value.get<double>();
    assert(!value.is_number_integer() || value.is_number_unsigned());  // counts, no signs
    if (value.is_number_unsigned()) one.value = value.get<std::uint64_t>();
    if (value.is_string()) one.value = value.get<std::string>();
  }
  return values;
}

std::string ReproductionJson(const std::vector<Comparison>& comparisons) {
  Json list = Json::array();
  for (const Comparison& one : comparisons) list.push_back(ReproductionFields().Write(one));
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  Json json = DataFields().Write({source, options});
  json.erase("folder");
  for (const Field& field : DataFields().type().fields) {  // what older versions did not write
    if (field.absent && json.contains(field.name) && json[field.name] == *field.absent) {
      json.erase(field.name);
    }
  }
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
  const std::optional<std::size_t>& features = row.options.features;
  // Kept runs are found by this text, byte by byte: it stays as it was when the first of them were
  // kept, in version 0.1.0 with its second set of fields. What is new must not change the text of a
  // run that could be made before.
  const Json settings = {{"polykern", "0.1.0"},
                         {"fields", 2},
                         {"algorithm", row.algorithm},
                         {"kernels_per_upload", UplinkOf(row.algorithm, row.options).kernels},
                         {"features", features ? Json(*features) : Json()},
                         {"repetitions", options.repetitions},
                         {"options", OptionsJson(row, options, Layout::kFrozen)}};
  return settings.dump();
}

}  // namespace polykern
