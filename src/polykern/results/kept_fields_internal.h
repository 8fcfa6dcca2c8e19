#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "polykern/results/row.h"

namespace polykern {

// How each type of a kept field is written and read. Numbers by their bits, so that every bit
// survives, of numbers that are not finite as well.
template <typename T>
nlohmann::json ToKept(const T& value) {
  return value;
}
inline nlohmann::json ToKept(double number) {
  return std::bit_cast<std::uint64_t>(number);
}
inline nlohmann::json ToKept(const std::vector<double>& numbers) {
  nlohmann::json bits = nlohmann::json::array();
  for (const double number : numbers) bits.push_back(ToKept(number));
  return bits;
}

template <typename T>
void FromKept(const nlohmann::json& kept, T& value) {
  value = kept.get<T>();
}
inline void FromKept(const nlohmann::json& kept, double& number) {
  number = std::bit_cast<double>(kept.get<std::uint64_t>());
}
inline void FromKept(const nlohmann::json& kept, std::vector<double>& numbers) {
  numbers.clear();
  for (const nlohmann::json& bits : kept) FromKept(bits, numbers.emplace_back());
}

/// Writes what is kept: fields of a JSON object; several under one name are a list.
class KeptWriter {
 public:
  template <typename T>
  void Field(const char* name, const T& value) {
    json_[name] = ToKept(value);
  }
  /// A field that texts lack which people have: `absent` is what they mean by it, and what is not
  /// written.
  template <typename T>
  void NewField(const char* name, const T& value, const T& absent) {
    if (value != absent) Field(name, value);
  }
  template <typename... T>
  void List(const char* name, const T&... values) {
    json_[name] = nlohmann::json::array({ToKept(values)...});
  }
  void Optional(const char* name, const std::optional<Divergence>& value) {
    if (value) List(name, value->repetition, value->step, value->message);
  }

  std::string Text() const {
    return json_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  nlohmann::json json_ = nlohmann::json::object();
};

/// Reads it. Throws nlohmann::json::exception if a field is not there or is something else.
class KeptReader {
 public:
  explicit KeptReader(const std::string& text) : json_(nlohmann::json::parse(text)) {}

  template <typename T>
  void Field(const char* name, T& value) {
    FromKept(json_.at(name), value);
  }
  template <typename T>
  void NewField(const char* name, T& value, const T& absent) {
    value = absent;
    if (json_.contains(name)) Field(name, value);
  }
  template <typename... T>
  void List(const char* name, T&... values) {
    std::size_t i = 0;
    (FromKept(json_.at(name).at(i++), values), ...);
  }
  void Optional(const char* name, std::optional<Divergence>& value) {
    if (!json_.contains(name)) return;
    value.emplace();
    List(name, value->repetition, value->step, value->message);
  }

 private:
  nlohmann::json json_;
};

}  // namespace polykern
