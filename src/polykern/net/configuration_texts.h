#pragma once

#include <map>
#include <string>

namespace polykern {

/// Names and values: how a federation's configuration is stored and sent. What is not there has its
/// absent value (option_declaration.h), so that stores and messages from before an option keep
/// their meaning.
using ConfigurationTexts = std::map<std::string, std::string>;

}  // namespace polykern
