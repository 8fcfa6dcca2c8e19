#pragma once

#include <string>
#include <vector>

#include "polykern/paper/paper_data.h"
#include "polykern/paper/paper_runs.h"

namespace polykern {

/// Asks for every run that the exhibits show of the data sets, which must outlive `runs`. Throws
/// Error if none of them shows any.
void WantAll(const std::vector<std::string>& exhibits, const std::vector<PaperData>& data,
             PaperRuns& runs);

/// What `polykern reproduce` leaves: tables, figures and result.json.
struct Reproduction {
  struct File {
    std::string name = {};
    std::string text = {};
  };
  std::vector<File> files = {};  ///< result.json is the last
  std::string shown = {};        ///< the tables, for readers
};

/// Makes all of it from runs that are finished. `markdown`: what is shown is Markdown. `command` is
/// what a user types to get the same again.
Reproduction Reproduce(const std::vector<std::string>& exhibits, const std::vector<PaperData>& data,
                       const PaperRuns& runs, bool markdown, const std::string& command);

}  // namespace polykern
