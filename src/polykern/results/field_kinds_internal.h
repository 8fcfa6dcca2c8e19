#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polykern/results/result_schema_internal.h"

// Words for the declarations of fields, and for their values.

namespace polykern {

inline Field Text(const char* name) {
  return {.name = name, .type = FieldType::kText};
}
inline Field Number(const char* name, Null null = Null::kNever) {
  return {.name = name, .type = FieldType::kNumber, .null = null};
}
inline Field Truth(const char* name) {
  return {.name = name, .type = FieldType::kTruth};
}
/// Lists of any length.
inline Field Texts(const char* name) {
  return {.name = name, .type = FieldType::kText, .shape = {name}};
}
inline Field Numbers(const char* name, Null null = Null::kNever) {
  return {.name = name, .type = FieldType::kNumber, .null = null, .shape = {name}};
}
/// Lists as long as others.
inline Field Texts(const char* name, std::vector<std::string> shape) {
  return {.name = name, .type = FieldType::kText, .shape = std::move(shape)};
}
inline Field Numbers(const char* name, std::vector<std::string> shape, Null null = Null::kNever) {
  return {.name = name, .type = FieldType::kNumber, .null = null, .shape = std::move(shape)};
}
inline Field Object(const char* name, const ObjectType& type, Null null = Null::kNever) {
  return {.name = name, .type = FieldType::kObject, .null = null, .object = &type};
}
inline Field Optional(Field field) {
  field.optional = true;
  return field;
}

/// Leaves an optional field out.
inline nlohmann::ordered_json Nothing() {
  return nlohmann::ordered_json::value_t::discarded;
}
inline nlohmann::ordered_json If(bool there, const nlohmann::ordered_json& value) {
  return there ? value : Nothing();
}
template <typename T>
inline nlohmann::ordered_json NumberOrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
inline nlohmann::ordered_json FiniteOrNull(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace polykern
