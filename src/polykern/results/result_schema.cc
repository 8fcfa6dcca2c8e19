#include <cstddef>

#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

struct TypeNames {
  const char* name;    // in the schema
  const char* wanted;  // in an error
  bool (*is)(const Json& value);
};

/// In the order of FieldType.
constexpr TypeNames kTypes[] = {
    {"text", "a text", [](const Json& value) { return value.is_string(); }},
    {"number", "a number", [](const Json& value) { return value.is_number(); }},
    {"truth", "true or false", [](const Json& value) { return value.is_boolean(); }},
    {"object", "an object", [](const Json& value) { return value.is_object(); }}};
constexpr TypeNames kListType = {"list", "a list",
                                 [](const Json& value) { return value.is_array(); }};

const TypeNames& NamesOfType(FieldType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

class Checker {
 public:
  explicit Checker(const std::string& name) : name_(name) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(name_ + ": " + what + "; make it again with polykern run or polykern reproduce (" +
                Version() + ")");
  }
  [[noreturn]] void MustBe(const std::string& path, const std::string& what) const {
    Fail("'" + path + "' must be " + what);
  }

  /// A field of the result itself.
  Json& Need(Json& result, const std::string& name, const TypeNames& type) const {
    if (!result.contains(name)) Fail("'" + name + "' is missing");
    if (!type.is(result[name])) MustBe(name, type.wanted);
    return result[name];
  }

  void Object(Json& object, const ObjectType& type, const std::string& path) const {
    if (!object.is_object()) MustBe(path, "an object");
    for (const Field& field : type.fields) {
      if (!object.contains(field.name)) {
        if (field.absent) object[field.name] = *field.absent;
        if (field.absent || field.optional) continue;
        Fail("'" + path + "." + field.name + "' is missing");
      }
      Value(object, field, object[field.name], 0, path + "." + field.name);
    }
  }

 private:
  /// A field's value or, at `level`, an item of its lists.
  void Value(const Json& object, const Field& field, Json& value, std::size_t level,
             const std::string& path) const {
    const bool list = level < field.shape.size();
    const bool null = field.null == Null::kItems
                          ? !list
                          : (field.null == Null::kMayBe && level == 0) ||
                                (field.null == Null::kIfDiverged && object.contains("diverged"));
    if (null && value.is_null()) return;
    const std::string or_null = null ? " or null" : "";
    if (!list) {
      const TypeNames& type = NamesOfType(field.type);
      if (!type.is(value)) MustBe(path, type.wanted + or_null);
      if (field.object != nullptr) Object(value, *field.object, path);
      return;
    }
    const bool any = field.shape[level] == field.name;
    if (any && !value.is_array()) MustBe(path, "a list" + or_null);
    const std::size_t length = object[field.shape[level]].size();
    if (!value.is_array() || value.size() != length) {
      MustBe(path, "a list of " + std::to_string(length) + or_null);
    }
    for (std::size_t i = 0; i < length; ++i) {
      Value(object, field, value[i], level + 1, path + "[" + std::to_string(i) + "]");
    }
  }

  const std::string& name_;
};

void AddToSchema(Json& schema, const ObjectType& type) {
  Json fields = Json::object();
  for (const Field& field : type.fields) {
    Json& one = fields[field.name] = {{"type", NamesOfType(field.type).name}};
    if (field.object != nullptr) {
      one["object"] = field.object->name;
      AddToSchema(schema, *field.object);
    }
    if (field.null == Null::kMayBe) one["null"] = "may be";
    if (field.null == Null::kIfDiverged) one["null"] = "if diverged";
    if (field.null == Null::kItems) one["null"] = "items";
    if (!field.shape.empty()) one["shape"] = field.shape;
    if (field.optional) one["optional"] = true;
  }
  schema[type.name] = {{"open", type.open}, {"fields", std::move(fields)}};
}

}  // namespace

void CheckObject(Json& object, const ObjectType& type, const std::string& path,
                 const std::string& name) {
  Checker(name).Object(object, type, path);
}

void CheckResult(Json& result, const std::string& name) {
  const Checker checker(name);
  if (!result.is_object()) checker.Fail("not a polykern result file");
  checker.Need(result, "polykern", NamesOfType(FieldType::kText));
  checker.Need(result, "command", NamesOfType(FieldType::kText));
  const auto all = [&](Json& list, const ObjectType& type, const std::string& path) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      checker.Object(list[i], type, path + "[" + std::to_string(i) + "]");
    }
  };
  const bool reproduction = result.contains("reproduction");
  if (reproduction) {
    all(checker.Need(result, "data", kListType), DataFields().type(), "data");
  } else {
    checker.Object(checker.Need(result, "data", NamesOfType(FieldType::kObject)),
                   DataFields().type(), "data");
  }
  Json& runs = checker.Need(result, "runs", kListType);
  if (runs.empty()) checker.Fail("'runs' is empty");
  all(runs, RunFields().type(), "runs");
  if (!reproduction) return;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].contains("data")) {
      checker.Fail("'runs[" + std::to_string(i) + "].data' is missing");
    }
  }
  all(checker.Need(result, "reproduction", kListType), ReproductionFields().type(), "reproduction");
}

Json SchemaJson() {
  Json schema = Json::object();
  for (const ObjectType* type :
       {&DataFields().type(), &RunFields().type(), &ReproductionFields().type()}) {
    AddToSchema(schema, *type);
  }
  return schema;
}

}  // namespace polykern
