#pragma once

#include <cstdint>

#include "polykern/net/configuration.h"

namespace polykern {

/// The last version of the protocol whose programs write and read every option of every algorithm
/// they know, and refuse any other name.
inline constexpr std::uint32_t kLastVersionWithEveryOption = 2;

/// A configuration's texts for a program of that version: all names that it knows, none other.
/// Throws Error, naming it, for an option or value that is too new for that program.
ConfigurationTexts ForVersion2(const ConfigurationTexts& texts);

/// Such a program's texts by today's names; texts of today stay as they are.
ConfigurationTexts FromVersion2(ConfigurationTexts texts);

}  // namespace polykern
