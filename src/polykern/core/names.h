#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>

namespace polykern {

/// What users call a value of an enum. An enum whose values have names comes with a function
/// `NamesOf(Enum)` that returns all of them, in the order they are shown; it is found by the
/// argument's type, its value does not matter.
template <typename Enum>
struct Name {
  Enum value;
  std::string_view text;
};

template <typename Enum>
std::string_view NameOf(Enum value) {
  for (const Name<Enum>& name : NamesOf(value)) {
    if (name.value == value) return name.text;
  }
  assert(false && "a value without a name");
  return {};
}

/// The value of that name; none if there is no such name.
template <typename Enum>
std::optional<Enum> ValueOf(std::string_view text) {
  for (const Name<Enum>& name : NamesOf(Enum{})) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

/// "a, b, c"
template <typename Enum>
std::string AllNames() {
  std::string all;
  for (const Name<Enum>& name : NamesOf(Enum{})) {
    all += (all.empty() ? "" : ", ") + std::string(name.text);
  }
  return all;
}

}  // namespace polykern
