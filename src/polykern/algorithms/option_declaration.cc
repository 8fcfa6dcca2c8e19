#include "polykern/algorithms/option_declaration.h"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace polykern {

bool OptionRange::Holds(double value) const {
  return std::isfinite(value) && (low_open ? value > low : value >= low) &&
         (high_open ? value < high : value <= high);
}

std::string OptionRange::Rule() const {
  std::ostringstream rule;
  rule << std::setprecision(15);  // whole numbers as such
  if (std::isfinite(high)) {
    rule << "it must lie in " << (low_open ? '(' : '[') << low << ", " << high
         << (high_open ? ')' : ']');
  } else {
    rule << (low_open ? "it must be above " : "it must be at least ") << low;
  }
  return rule.str();
}

bool UsesOption(std::string_view algorithm, const OptionDeclaration& option) {
  if (option.users.empty()) return true;
  const std::string among = " " + std::string(option.users) + " ";
  return among.find(" " + std::string(algorithm) + " ") != std::string::npos;
}

}  // namespace polykern
