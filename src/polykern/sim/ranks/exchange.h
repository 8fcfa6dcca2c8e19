#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polykern/sim/ranks/communicator.h"

namespace polykern {

// What ranks do together beyond a communicator's own calls. All ranks call each of these alike, on
// the communicator's thread.

/// Adds numbers up over all ranks, in place and in one exchange. `failure` says what went wrong on
/// this rank; empty: nothing. If anything did, all ranks throw Error with the text of the lowest
/// rank that failed. `scratch` is only kept from call to call to be reused.
void SumOverRanks(Communicator& ranks, std::span<const std::span<std::int64_t>> parts,
                  const std::string& failure, std::vector<std::int64_t>& scratch);

/// Numbers that one rank has, and that are 0 on all others, become the same on all.
void BroadcastFromOwner(Communicator& ranks, std::vector<double>& numbers);

/// A text on its way to another rank, and back.
Words WordsOf(const std::string& text);
std::string TextOf(std::span<const std::uint32_t> words);

}  // namespace polykern
