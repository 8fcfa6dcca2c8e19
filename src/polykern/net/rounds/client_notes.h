#pragma once

#include <string>

#include "polykern/net/store/store.h"

namespace polykern {

/// What an operator may note of a client in a store that no server has for itself; Rounds does the
/// same where one has. Both throw Error, and change nothing, if there is no such client.

/// It left for good. Throws Error, too, where masks need every client, and if it is connected.
void ForgetClient(Store& store, const std::string& name);
/// What its operator calls it; empty: nothing.
void LabelClient(Store& store, const std::string& name, const std::string& label);

// In words, for both.

std::string NotAClient(const std::string& name);
std::string IsConnected(const std::string& name);
inline constexpr const char* kNeverForgotten =
    "pairwise masks need every client, so no client can be forgotten; start with a new store "
    "without it";

}  // namespace polykern
