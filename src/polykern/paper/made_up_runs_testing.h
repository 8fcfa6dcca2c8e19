#pragma once

#include <string>

#include "polykern/paper/paper_run.h"
#include "polykern/paper/published_figures.h"
#include "polykern/results/result.h"

namespace polykern {

/// For tests only: runs that measure what the paper has published of a data set, times a factor.
inline FindRun AsPublished(const std::string& data, double factor = 1) {
  return [=](const Row& wanted, bool /*carried*/) {
    PaperRun run;
    for (const PaperRow& row : PaperRows()) {
      if (RowSettings(row.row, {}) != RowSettings(wanted, {})) continue;
      const PaperFigures& paper = row.published.at(data);
      run.mse = {1e-3 * factor * paper.mse.mean, 1e-3 * paper.mse.deviation};
      if (paper.regret) run.regret = {factor * paper.regret->mean, paper.regret->deviation};
    }
    run.steps = 500;
    run.repetitions = 20;
    run.microseconds_per_sample = 2;
    run.curve_steps = {250, 500};
    run.curve_regret = {5, 8};
    return run;
  };
}

}  // namespace polykern
