#pragma once

namespace polykern {

/// Whose certificate it is. Each has one role, by its extended key usage, and passes for no other.
enum class Role { kClient, kServer, kHelper };

}  // namespace polykern
