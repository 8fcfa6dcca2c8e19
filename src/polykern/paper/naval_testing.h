#pragma once

#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"
#include "polykern/paper/paper_runs.h"
#include "polykern/paper/published_figures.h"

namespace polykern {

/// For tests only: any numbers in the form of Naval's file.
inline std::string NavalText() {
  std::ostringstream text;
  Random random(1, Purpose::kTest, 0, 0);
  for (std::size_t row = 0; row < 23 * 500; ++row) {
    for (int column = 1; column <= 18; ++column) {
      text << (column > 1 ? " " : "") << static_cast<int>(1000 * random.Uniform());
    }
    text << '\n';
  }
  return text.str();
}

/// Runs on such a file.
class PaperRunsOfNaval : public testing::Test {
 protected:
  PaperRunsOfNaval() {
    folder_.Write("naval/data.txt", NavalText());
    options_.repetitions = 2;
    options_.seed = 3;
    options_.threads = 2;
  }

  PaperRuns New() { return On(*alone_); }
  PaperRuns On(Communicator& ranks) {
    return {options_, folder_.path(), RunStore(folder_.At("runs")), RunStore(folder_.At("partial")),
            ranks};
  }
  static WantedRun Ofskl() { return {PaperRows()[2].row, false}; }
  static WantedRun Pof(bool carried) { return {PaperPofMkl(51, 1), carried}; }

  TestFolder folder_;
  ExperimentOptions options_;
  std::unique_ptr<Communicator> alone_ = RunAlone();
  const PaperData naval_ = {&FindRecipe("naval"), "naval as it is here"};
};

}  // namespace polykern
