#include "polykern/core/version.h"

namespace polykern {

const char* Version() {
  return POLYKERN_VERSION;
}

}  // namespace polykern
