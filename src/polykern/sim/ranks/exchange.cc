#include "polykern/sim/ranks/exchange.h"

#include <algorithm>
#include <bit>

#include "polykern/core/error.h"

namespace polykern {

void SumOverRanks(Communicator& ranks, std::span<const std::span<std::int64_t>> parts,
                  const std::string& failure, std::vector<std::int64_t>& scratch) {
  scratch.clear();
  for (const auto& part : parts) scratch.insert(scratch.end(), part.begin(), part.end());
  scratch.push_back(failure.empty() ? 0 : 1);
  ranks.Sum(scratch);
  auto from = scratch.begin();
  for (const auto& part : parts) {
    std::copy_n(from, part.size(), part.begin());
    from += static_cast<std::ptrdiff_t>(part.size());
  }
  if (scratch.back() == 0) return;
  std::vector<Words> failures;
  ranks.AllGather(WordsOf(failure), failures);
  throw Error(
      TextOf(*std::ranges::find_if(failures, [](const Words& text) { return !text.empty(); })));
}

void BroadcastFromOwner(Communicator& ranks, std::vector<double>& numbers) {
  std::vector<std::int64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<std::int64_t>(number));
  ranks.Sum(bits);
  std::ranges::transform(bits, numbers.begin(),
                         [](std::int64_t all) { return std::bit_cast<double>(all); });
}

Words WordsOf(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string TextOf(std::span<const std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words) text += static_cast<char>(word);
  return text;
}

}  // namespace polykern
