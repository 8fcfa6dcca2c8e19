#include <array>
#include <span>

#include "polykern/core/error.h"
#include "polykern/sim/result.h"
#include "polykern/sim/result_check-inl.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

enum class Kind {
  kText,
  kNumber,
  kNumberOrNull,
  kTruth,
  kList,
  kListOrNull,
  kObject,
  kObjectOrNull
};

struct Field {
  const char* name;
  Kind kind;
};

constexpr Field kDataFields[] = {{"name", Kind::kText},      {"target", Kind::kText},
                                 {"clients", Kind::kNumber}, {"steps", Kind::kNumber},
                                 {"sites", Kind::kList},     {"dimension", Kind::kNumber}};
constexpr Field kRunFields[] = {{"algorithm", Kind::kText},
                                {"kernels_per_upload", Kind::kNumberOrNull},
                                {"features", Kind::kNumberOrNull},
                                {"clients", Kind::kNumber},
                                {"steps", Kind::kNumber},
                                {"repetitions", Kind::kNumber},
                                {"mse", Kind::kNumberOrNull},
                                {"mse_std", Kind::kNumberOrNull},
                                {"regret_mean", Kind::kNumberOrNull},
                                {"regret_std", Kind::kNumberOrNull},
                                {"regret_bound", Kind::kNumberOrNull},
                                {"uplink_numbers", Kind::kNumber},
                                {"uplink_bytes", Kind::kNumber},
                                {"downlink_bytes", Kind::kNumber},
                                {"seconds", Kind::kNumber},
                                {"microseconds_per_sample", Kind::kNumber},
                                {"options", Kind::kObject},
                                {"curves", Kind::kObject},
                                {"client_regret", Kind::kListOrNull},
                                {"client_weights", Kind::kObjectOrNull}};
constexpr Field kOptionFields[] = {{"exploration", Kind::kNumber},
                                   {"budget", Kind::kNumber},
                                   {"weights", Kind::kText},
                                   {"weight_rate", Kind::kNumberOrNull}};
constexpr Field kCurveFields[] = {
    {"step", Kind::kList}, {"mse", Kind::kList}, {"regret", Kind::kList}};
constexpr Field kWeightFields[] = {{"kernels", Kind::kList}, {"clients", Kind::kList},
                                   {"sites", Kind::kList},   {"last", Kind::kList},
                                   {"traced", Kind::kList},  {"steps", Kind::kList},
                                   {"trace", Kind::kList}};
constexpr Field kReproductionFields[] = {{"table", Kind::kText},
                                         {"row", Kind::kText},
                                         {"kernels_per_upload", Kind::kNumberOrNull},
                                         {"data", Kind::kText},
                                         {"weights", Kind::kText},
                                         {"published", Kind::kNumber},
                                         {"published_std", Kind::kNumberOrNull},
                                         {"measured", Kind::kNumber},
                                         {"measured_std", Kind::kNumber},
                                         {"deviation", Kind::kNumber},
                                         {"reproduced", Kind::kTruth},
                                         {"note", Kind::kText}};

/// What a field should have been; empty if it is that.
std::string Expected(const Json& value, Kind kind) {
  const bool null = value.is_null();
  switch (kind) {
    case Kind::kText:
      return value.is_string() ? "" : "a text";
    case Kind::kNumber:
      return value.is_number() ? "" : "a number";
    case Kind::kNumberOrNull:
      return null || value.is_number() ? "" : "a number or null";
    case Kind::kTruth:
      return value.is_boolean() ? "" : "true or false";
    case Kind::kList:
      return value.is_array() ? "" : "a list";
    case Kind::kListOrNull:
      return null || value.is_array() ? "" : "a list or null";
    case Kind::kObject:
      return value.is_object() ? "" : "an object";
    case Kind::kObjectOrNull:
      return null || value.is_object() ? "" : "an object or null";
  }
  return "";
}

class Checker {
 public:
  explicit Checker(std::string name) : name_(std::move(name)) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(name_ + ": " + what + "; make it again with polykern run or polykern reproduce (" +
                Version() + ")");
  }

  const Json& Need(const Json& object, const std::string& path, const char* field,
                   Kind kind) const {
    const std::string where = path + field;
    if (!object.contains(field)) Fail("'" + where + "' is missing");
    const std::string expected = Expected(object[field], kind);
    if (!expected.empty()) Fail("'" + where + "' must be " + expected);
    return object[field];
  }

  void NeedAll(const Json& object, const std::string& path, std::span<const Field> fields) const {
    if (!object.is_object()) Fail("'" + path + "' must be an object");
    const std::string inside = path + ".";
    for (const Field& field : fields) Need(object, inside, field.name, field.kind);
  }

  void NeedLength(const Json& list, const std::string& path, std::size_t length) const {
    if (list.is_array() && list.size() == length) return;
    Fail("'" + path + "' must be a list of " + std::to_string(length));
  }

  /// Numbers, or null where `null` says so.
  void NeedNumbers(const Json& list, const std::string& path, bool null) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_number() || (null && list[i].is_null())) continue;
      Fail("'" + path + "[" + std::to_string(i) + "]' must be a number");
    }
  }

 private:
  std::string name_;
};

void CheckWeights(const Checker& checker, const Json& weights, const std::string& path) {
  checker.NeedAll(weights, path, kWeightFields);
  const std::size_t kernels = weights["kernels"].size();
  const auto rows = [&](const Json& list, const std::string& where, std::size_t count) {
    checker.NeedLength(list, where, count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string one = where + "[" + std::to_string(i) + "]";
      checker.NeedLength(list[i], one, kernels);
      checker.NeedNumbers(list[i], one, false);
    }
  };
  checker.NeedLength(weights["sites"], path + ".sites", weights["clients"].size());
  rows(weights["last"], path + ".last", weights["clients"].size());
  checker.NeedLength(weights["trace"], path + ".trace", weights["steps"].size());
  for (std::size_t i = 0; i < weights["steps"].size(); ++i) {
    rows(weights["trace"][i], path + ".trace[" + std::to_string(i) + "]", weights["traced"].size());
  }
}

void CheckRun(const Checker& checker, const Json& run, const std::string& path) {
  checker.NeedAll(run, path, kRunFields);
  for (const char* error : {"mse", "mse_std"}) {  // of a run that diverged they may be infinite
    if (!run.contains("diverged")) checker.Need(run, path + ".", error, Kind::kNumber);
  }
  checker.NeedAll(run["options"], path + ".options", kOptionFields);
  checker.NeedAll(run["curves"], path + ".curves", kCurveFields);
  const Json& curves = run["curves"];
  for (const char* name : {"step", "mse", "regret"}) {
    const std::string where = path + ".curves." + name;
    checker.NeedLength(curves[name], where, curves["step"].size());
    checker.NeedNumbers(curves[name], where, std::string_view(name) != "step");
  }
  if (run["client_regret"].is_array()) {
    checker.NeedNumbers(run["client_regret"], path + ".client_regret", false);
  }
  if (run["client_weights"].is_object()) {
    CheckWeights(checker, run["client_weights"], path + ".client_weights");
  }
}

}  // namespace

void CheckResult(const Json& result, const std::string& name) {
  const Checker checker(name);
  if (!result.is_object()) checker.Fail("it is no result of polykern, but some other JSON");
  checker.Need(result, "", "polykern", Kind::kText);
  checker.Need(result, "", "command", Kind::kText);
  const bool reproduction = result.contains("reproduction");
  const Json& data = checker.Need(result, "", "data", reproduction ? Kind::kList : Kind::kObject);
  if (!reproduction) checker.NeedAll(data, "data", kDataFields);
  for (std::size_t i = 0; reproduction && i < data.size(); ++i) {
    checker.NeedAll(data[i], "data[" + std::to_string(i) + "]", kDataFields);
  }
  const Json& runs = checker.Need(result, "", "runs", Kind::kList);
  if (runs.empty()) checker.Fail("'runs' is empty");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string path = "runs[" + std::to_string(i) + "]";
    CheckRun(checker, runs[i], path);
    if (reproduction) checker.Need(runs[i], path + ".", "data", Kind::kText);
  }
  if (!reproduction) return;
  const Json& entries = checker.Need(result, "", "reproduction", Kind::kList);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    checker.NeedAll(entries[i], "reproduction[" + std::to_string(i) + "]", kReproductionFields);
  }
}

}  // namespace polykern
