// Linked into test programs: POLYKERN_TARGET=AVX2 makes the library use that vector unit alone.
// A target this machine does not have ends the program with 77, which CTest takes for "skipped".
#include <cstdlib>
#include <iostream>
#include <string>

#include <hwy/targets.h>

namespace {

[[maybe_unused]] const bool kForced = [] {
  const char* name = std::getenv("POLYKERN_TARGET");
  if (name == nullptr) return false;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (std::string(hwy::TargetName(target)) != name) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::cout << "Vector unit: " << name << "\n";
    return true;
  }
  std::cout << "This machine has no " << name << "\n";
  std::exit(77);
}();

}  // namespace
