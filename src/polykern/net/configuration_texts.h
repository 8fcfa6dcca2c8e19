#pragma once

#include <string>

#include "polykern/net/configuration.h"

namespace polykern {

/// A configuration to texts and back. Pure functions; any thread may call anything.

/// Of the algorithm's options, those that it uses and that differ from their absent values.
ConfigurationTexts ToTexts(const FederationConfiguration& configuration);

/// The same configuration, every bit of it, from texts of this version or an earlier one. Throws
/// Error for a name it does not know, one that is missing, and a value it cannot read.
FederationConfiguration FromTexts(const ConfigurationTexts& texts);

/// Texts of any version as ToTexts writes them; texts that cannot be read stay as they are.
ConfigurationTexts Canonical(const ConfigurationTexts& texts);

/// A value for people: of a long one how long it is.
std::string Shown(const std::string& value);

/// What differs, in words: "seed: 1 -> 2"; empty if nothing does. Texts that mean the same, of
/// whatever version, do not differ.
std::string Differences(const ConfigurationTexts& old, const ConfigurationTexts& now);

}  // namespace polykern
