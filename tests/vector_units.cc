// Part of every program of a build with tests, so that it runs as on another machine:
//   POLYKERN_HIDDEN="AVX3 AVX3_DL"  the machine seems not to have these vector units;
//   POLYKERN_TARGET=AVX2            the library uses this one alone.
// A target that the machine does not have ends the program with 77, which CTest takes for
// "skipped"; so does the best it has, with which all tests run anyway.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <hwy/targets.h>

namespace {

void Hide(const std::string& names) {
  std::int64_t hidden = 0;
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    std::int64_t found = 0;
    for (std::int64_t target = 1; target <= HWY_SCALAR / 2; target *= 2) {
      if (hwy::TargetName(target) == name) found = target;
    }
    if (found == 0) {
      std::cerr << "POLYKERN_HIDDEN: there is no vector unit " << name << "\n";
      std::exit(1);
    }
    hidden |= found;
  }
  hwy::DisableTargets(hidden);
}

void UseOnly(const std::string& name) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();  // the best first
  for (const std::int64_t target : targets) {
    if (hwy::TargetName(target) != name) continue;
    if (target == targets.front()) {
      std::cout << name << " is what every test uses here\n";
      std::exit(77);
    }
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::cout << "Vector unit: " << name << "\n";
    return;
  }
  std::cout << "This machine has no " << name << "\n";
  std::exit(77);
}

[[maybe_unused]] const bool kDone = [] {
  if (const char* names = std::getenv("POLYKERN_HIDDEN")) Hide(names);
  if (const char* name = std::getenv("POLYKERN_TARGET")) UseOnly(name);
  return true;
}();

}  // namespace
