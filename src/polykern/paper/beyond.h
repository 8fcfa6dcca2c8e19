#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/paper/paper_run.h"
#include "polykern/results/text_table.h"

namespace polykern {

// What came after the paper, on its data sets: an exhibit with nothing published to compare with.
// Pure functions.

/// The name of the exhibit.
inline constexpr std::string_view kBeyond = "beyond";

/// An algorithm of it, and its run on a data set.
struct BeyondRun {
  std::string algorithm = {};
  std::string data = {};  ///< the recipe's name
  PaperRun run = {};
};

/// The runs that it shows of a data set, weights reset: those that stay alone first, pof-gram last.
std::vector<WantedRun> BeyondWanted();
std::vector<BeyondRun> BeyondRuns(const std::string& data, const FindRun& find);

/// For readers: a row for each algorithm, a column for each data set; as text or Markdown.
std::string ReadableBeyond(std::span<const BeyondRun> runs, bool markdown);

/// For programs: a row for each run, every number in full.
TextTable FullBeyond(std::span<const BeyondRun> runs);

}  // namespace polykern
