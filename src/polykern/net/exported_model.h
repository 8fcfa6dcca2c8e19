#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/configuration.h"
#include "polykern/net/wire.h"

namespace polykern {

/// A federation's model on its own, with all that is needed to predict. A plain value.
struct ExportedModel {
  ConfigurationTexts configuration = {};
  ModelChange model = {};            ///< every block
  std::vector<double> weights = {};  ///< of the experts, the clients' mean; empty: all alike
};

/// To bytes with a checksum, and back. Pure functions; any thread may call anything. The same model
/// gives the same bytes. Reading takes any bytes, and throws Error for what is damaged, something
/// else, or of a newer version; whether the model fits its configuration is not judged.
std::string EncodeExport(const ExportedModel& model);
ExportedModel DecodeExport(std::string_view bytes);

/// The same in letters (base64), as a federation's configuration has it.
std::string ExportToText(const ExportedModel& model);
ExportedModel ExportFromText(std::string_view text);

/// The same of a file, which errors name.
ExportedModel ReadExport(const std::string& path);

}  // namespace polykern
