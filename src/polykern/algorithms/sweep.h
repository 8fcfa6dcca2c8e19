#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/options.h"

namespace polykern {

/// Options of the algorithms as a user types them, where a number may be a list: "0.1,0.2". Every
/// value makes settings of its own, and two lists make the product of both. "1,pof-newton=5" gives
/// one algorithm other values than the rest. A plain value; threads may share a constant one.
class Sweep {
 public:
  /// Throws Error, naming the option, as SweepComplaint has it. What was set before is forgotten.
  void Set(const OptionDeclaration& option, std::string_view text);

  /// Whether the algorithm has values of the option here.
  bool Has(std::string_view algorithm, std::string_view key) const;

  /// The settings of one algorithm: of each value that it uses, in the order of kAlgorithmOptions,
  /// the last option changing fastest. `base` has what is not set. Where others have a list, an
  /// algorithm that does not use the option keeps `base`'s.
  std::vector<AlgorithmOptions> Of(std::string_view algorithm, const AlgorithmOptions& base) const;

  /// Throws Error, naming the option, if a value is for an algorithm that is not among these.
  void CheckAlgorithms(std::span<const std::string> names) const;

 private:
  struct Value {
    std::string algorithm = {};  // "": every algorithm without its own
    std::string text = {};
  };
  friend std::string SweepComplaint(const OptionDeclaration& option, std::string_view text);
  static std::string Parse(const OptionDeclaration& option, std::string_view text,
                           std::vector<Value>& values);
  std::vector<std::string> ValuesOf(std::string_view algorithm,
                                    const OptionDeclaration& option) const;

  std::map<std::string, std::vector<Value>, std::less<>> values_;
};

/// What is wrong with such a text; "": nothing. An option that is not a number takes no list.
std::string SweepComplaint(const OptionDeclaration& option, std::string_view text);

}  // namespace polykern
