#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "polykern/data/source.h"
#include "polykern/results/comparison.h"
#include "polykern/results/experiment_options.h"
#include "polykern/results/row.h"

namespace polykern {

// result.json's schema. A field is declared once, in result_fields.cc: by its declaration it is
// written, checked when it is read, and known to the report's page.

enum class FieldType { kText, kNumber, kTruth, kObject };

/// Where a field may have null.
enum class Null {
  kNever,
  kMayBe,       ///< instead of its value
  kIfDiverged,  ///< in a run that diverged: numbers that are not finite
  kItems        ///< among the items of its list
};

struct ObjectType;

struct Field {
  std::string name = {};
  FieldType type = FieldType::kText;
  Null null = Null::kNever;
  /// Of a list, a list of lists, ..: for each level the field, declared before or this one, whose
  /// list is as long.
  std::vector<std::string> shape = {};
  const ObjectType* object = nullptr;  ///< what an object holds
  bool optional = false;               ///< only where there is something to say
  /// What a result means that lacks the field because it is older. Every field that was not in
  /// 0.1.0 has one, and it never changes.
  std::optional<nlohmann::ordered_json> absent = {};

  Field AbsentMeans(nlohmann::ordered_json value) && {
    absent.emplace(std::move(value));
    return std::move(*this);
  }
};

struct ObjectType {
  std::string name = {};  ///< of the page's type
  std::vector<Field> fields = {};
  bool open = false;  ///< may hold other fields as well
};

/// An object of result.json that is made from a `From`.
template <typename From>
class ObjectOf {
 public:
  using Json = nlohmann::ordered_json;
  struct Entry {
    Field field;
    /// The value; discarded JSON leaves an optional field out. Null: other code adds the field.
    Json (*get)(const From& from);
  };

  ObjectOf(std::string name, const std::vector<Entry>& entries) : type_{std::move(name)} {
    for (const Entry& entry : entries) {
      type_.fields.push_back(entry.field);
      getters_.push_back(entry.get);
    }
  }

  const ObjectType& type() const { return type_; }

  Json Write(const From& from) const {
    Json object = Json::object();
    for (std::size_t i = 0; i < getters_.size(); ++i) {
      if (getters_[i] == nullptr) continue;
      Json value = getters_[i](from);
      if (!value.is_discarded()) object[type_.fields[i].name] = std::move(value);
    }
    return object;
  }

 private:
  ObjectType type_;
  std::vector<Json (*)(const From&)> getters_;
};

struct DataView {
  const Source& source;
  const SourceOptions& options;
};
struct RunView {
  const RowResult& result;
  const Stream& stream;
  const ExperimentOptions& options;
};

/// The objects of result.json. Constant.
const ObjectOf<DataView>& DataFields();
const ObjectOf<RunView>& RunFields();
const ObjectOf<Comparison>& ReproductionFields();

/// "curves" of a run: at most 1000 points.
const ObjectType& CurvesType();
nlohmann::ordered_json CurvesJson(const RowResult& row);

/// "options" of a run: every setting.
enum class Layout {
  kToday,
  kFrozen,  ///< as 0.1.0 wrote it: options that came later only where they are not absent
};
nlohmann::ordered_json OptionsJson(const Row& row, const ExperimentOptions& options, Layout layout);

/// Throws Error, naming the field, unless this has all fields, of the right kinds. Gives what is
/// lacking because the result is older its absent value.
void CheckResult(nlohmann::ordered_json& result, const std::string& name);

/// The same of one object; `path` is what it is called.
void CheckObject(nlohmann::ordered_json& object, const ObjectType& type, const std::string& path,
                 const std::string& name);

/// The schema for the page: for each object its fields.
nlohmann::ordered_json SchemaJson();

}  // namespace polykern
