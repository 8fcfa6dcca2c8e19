#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace polykern {

/// Throws Error, naming the field, unless this has every field that a report shows, of the right
/// kind (docs/result.md).
void CheckResult(const nlohmann::ordered_json& result, const std::string& name);

}  // namespace polykern
