#pragma once

namespace polykern {

/// The version of this library, as in result.json.
const char* Version();

}  // namespace polykern
