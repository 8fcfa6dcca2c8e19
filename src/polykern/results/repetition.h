#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "polykern/results/row.h"

namespace polykern {

/// Puts the repetitions of a row together, in their order. Of a row that diverged, the finished
/// repetitions count, or the steps of the first one if there are none.
RowResult Summarize(const Row& row, const std::vector<Repetition>& runs, std::size_t clients);

/// A repetition as JSON, every bit of it but the predictions, and back. Texts of older versions are
/// read as well; nothing comes of one that lacks what it must have.
std::string RepetitionText(const Repetition& repetition);
std::optional<Repetition> ParseRepetition(const std::string& text);

}  // namespace polykern
