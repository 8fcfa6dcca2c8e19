#include "polykern/paper/line_chart.h"

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Every element is closed in its turn, and no text holds a bare < or &: slow and obvious.
bool WellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&' && !std::regex_search(xml.begin() + static_cast<std::ptrdiff_t>(i), xml.end(),
                                            std::regex("^&(amp|lt|gt|quot);"))) {
      return false;
    }
    if (xml[i] != '<') continue;
    const std::size_t end = xml.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos || tag.empty()) return false;
    const std::string name = tag.substr(0, tag.find_first_of(" />", 1));
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return false;
      open.pop_back();
    } else if (tag[0] != '?' && tag.back() != '/') {
      open.push_back(name);
    }
    i = end;
  }
  return open.empty();
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

LineChart TwoLines() {
  return {.title = "a < b & \"c\"",
          .x_label = "step",
          .y_label = "regret",
          .lines = {{.name = "one", .x = {0, 50, 100}, .y = {0, 2, 4}},
                    {.name = "two>", .x = {0, 50, 100}, .y = {4, 1, 0}, .dashed = true}}};
}

TEST(LineChart, IsWellFormedWhateverTheTextsHold) {
  EXPECT_TRUE(WellFormed(SvgText(TwoLines())));
  LineChart chart = TwoLines();
  chart.lines[0].name = "bell\a</svg>";
  EXPECT_TRUE(WellFormed(SvgText(chart)));
  EXPECT_THAT(SvgText(chart), Not(HasSubstr("\a")));
  EXPECT_FALSE(WellFormed("<svg><a></svg>"));  // the check can fail
  EXPECT_FALSE(WellFormed("<svg>a & b</svg>"));
}

TEST(LineChart, PutsPointsWhereTheAxesSay) {
  const std::string svg = SvgText(TwoLines());
  // x from 0 to 100 on 80..600, y from 0 to 4 on 400..50.
  EXPECT_THAT(svg, HasSubstr("d=\"M80.00 400.00L340.00 225.00L600.00 50.00\""));
  EXPECT_THAT(svg, HasSubstr("d=\"M80.00 50.00L340.00 312.50L600.00 400.00\""));
  EXPECT_EQ(CountOf(svg, "stroke-dasharray"), 2U);  // the line, and the legend's
  EXPECT_THAT(svg, HasSubstr(">two&gt;</text>"));
}

TEST(LineChart, TicksAreRoundNumbersThatCoverTheValues) {
  LineChart chart = TwoLines();
  chart.lines[1].y = {-0.031, 0.02, 0.047};
  chart.lines[0].y = chart.lines[1].y;
  const std::string svg = SvgText(chart);
  for (const char* tick : {">-0.04<", ">-0.02<", ">0.00<", ">0.02<", ">0.04<", ">0.06<"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
}

TEST(LineChart, LeavesAGapWhereThereIsNoNumber) {
  LineChart chart = TwoLines();
  chart.lines.resize(1);
  chart.lines[0] = {.name = "gap", .x = {0, 1, 2, 3, 4}, .y = {1, 2, std::nan(""), 2, 1}};
  const std::string svg = SvgText(chart);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_TRUE(std::regex_search(svg, std::regex("d=\"M[^M]*L[^M]*M[^M]*L[^M\"]*\"")));
}

TEST(LineChart, OfNothingOrOfAConstantHasAxes) {
  EXPECT_TRUE(WellFormed(SvgText({})));
  for (const double value : {0.0, 3.0, -2.0, 1e9}) {
    LineChart chart;
    chart.lines = {{.name = "flat", .x = {1, 2}, .y = {value, value}}};
    const std::string svg = SvgText(chart);
    EXPECT_TRUE(WellFormed(svg));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(LineChart, TellsNineLinesApartByColourMarkAndFilling) {
  LineChart chart;
  for (int i = 0; i < 9; ++i) {
    chart.lines.push_back({.name = "line " + std::to_string(i), .x = {1}, .y = {1.0 * i}});
  }
  const std::string svg = SvgText(chart);
  // What stands in the legend before each name: the mark, less its place.
  std::vector<std::string> marks;
  for (int i = 0; i < 9; ++i) {
    const std::size_t name = svg.find(">line " + std::to_string(i) + "<");
    const std::size_t text = svg.rfind("<text", name);
    const std::size_t mark = svg.rfind('<', text - 1);
    marks.push_back(
        std::regex_replace(svg.substr(mark, text - mark), std::regex("[0-9.]+[ ,\"]"), ""));
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(marks[i], marks[j]) << i << " and " << j;
  }
}

TEST(LineChart, MarksLongLinesAFewTimes) {
  LineChart chart;
  ChartLine line{.name = "long"};
  for (int i = 0; i < 1000; ++i) {
    line.x.push_back(i);
    line.y.push_back(i);
  }
  chart.lines = {line};
  const std::size_t marks = CountOf(SvgText(chart), "<circle");
  EXPECT_GE(marks, 8U);
  EXPECT_LE(marks, 10U);  // one of them in the legend
}

}  // namespace
}  // namespace polykern
