#include "version_text.h"

#include "polykern/core/version.h"

namespace polykern {

std::string VersionText(const std::string& program) {
  const std::string package = POLYKERN_PACKAGE_VERSION;
  return program + ' ' + Version() + (package.empty() ? "" : " (package " + package + ')');
}

}  // namespace polykern
