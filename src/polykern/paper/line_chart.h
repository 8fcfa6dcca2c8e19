#pragma once

#include <string>
#include <vector>

namespace polykern {

/// One line of a chart.
struct ChartLine {
  std::string name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};  ///< as many as x; what is not a number leaves a gap
  bool dashed = false;
};

struct LineChart {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<ChartLine> lines = {};
};

/// The chart as a picture of its own: axes with ticks, a legend, lines that differ by colour and by
/// marks, on white. Never fails; a chart without a number has empty axes.
std::string SvgText(const LineChart& chart);

}  // namespace polykern
