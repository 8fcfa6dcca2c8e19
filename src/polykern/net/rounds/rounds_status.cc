#include "polykern/net/rounds/rounds_status.h"

namespace polykern {

std::string StoreIsBehind(std::uint64_t next, std::uint64_t step) {
  return "step " + std::to_string(next - 1) + " was answered, and the store is at step " +
         std::to_string(step) + ": was it lost, or rolled back?";
}

std::string NameOf(Rule rule) {
  switch (rule) {
    case Rule::kStep:
      return "step";
    case Rule::kTwice:
      return "twice";
    case Rule::kClient:
      return "client";
    case Rule::kLengths:
      return "lengths";
    case Rule::kKernels:
      return "kernels";
    case Rule::kLosses:
      return "losses";
    case Rule::kNumbers:
      return "numbers";
    case Rule::kNorm:
      return "norm";
    case Rule::kCounts:
      return "counts";
    case Rule::kSums:
      return "sums";
    case Rule::kEnded:
      return "ended";
    case Rule::kMessage:
      return "message";
  }
  return "";
}

}  // namespace polykern
