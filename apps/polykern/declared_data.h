#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// What a server is told about data that it will never see.
struct DeclaredData {
  std::vector<std::string> columns = {};   ///< the inputs in order
  std::vector<DeclaredRange> ranges = {};  ///< of each of them, with scaling range
  std::string target = {};
  std::string target_range = {};  ///< LOW:HIGH
  std::string scaling = {};       ///< none, norm or range; empty: range if there are ranges
  bool has_norm = false;          ///< the configuration's norm was given
};

/// Fills in the configuration's columns, target and scaling. Throws Error for what is wrong,
/// missing, or without effect.
void Declare(DeclaredData data, FederationConfiguration& configuration);

}  // namespace polykern
