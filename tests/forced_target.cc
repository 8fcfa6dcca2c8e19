// Linked into test programs: POLYKERN_TARGET=AVX2 makes the library use that vector unit alone.
// A target this machine does not have ends the program with 77, which CTest takes for "skipped";
// so does the best it has, with which all tests run anyway.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <hwy/targets.h>

namespace {

[[maybe_unused]] const bool kForced = [] {
  const char* name = std::getenv("POLYKERN_TARGET");
  if (name == nullptr) return false;
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();  // the best first
  for (const std::int64_t target : targets) {
    if (std::string(hwy::TargetName(target)) != name) continue;
    if (target == targets.front()) {
      std::cout << name << " is what every test uses here\n";
      std::exit(77);
    }
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::cout << "Vector unit: " << name << "\n";
    return true;
  }
  std::cout << "This machine has no " << name << "\n";
  std::exit(77);
}();

}  // namespace
