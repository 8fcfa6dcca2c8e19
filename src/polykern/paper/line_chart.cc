#include "polykern/paper/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

namespace polykern {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 460;
constexpr double kLeft = 80;
constexpr double kRight = 600;  // of the plot; the legend stands beside it
constexpr double kTop = 50;
constexpr double kBottom = 400;
constexpr int kMarks = 8;  // on a line, at most one more

constexpr std::array<const char*, 6> kColours = {"#000000", "#0b5fa5", "#b3261e",
                                                 "#1b7837", "#7b3294", "#a65a00"};

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (static_cast<unsigned char>(c) < ' ') {
      escaped += ' ';  // most control characters are not valid XML
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// The values an axis shows, and its round ticks.
struct Axis {
  double low = 0;
  double high = 1;
  double step = 0.2;
  int digits = 1;  // after the point

  double Part(double value) const { return (value - low) / (high - low); }
};

/// Ticks at 1, 2 or 5 times a power of ten, about five of them, the ends and 0 among them.
Axis MakeAxis(const LineChart& chart, std::vector<double> ChartLine::*values) {
  Axis axis;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ChartLine& line : chart.lines) {
    for (const double value : line.*values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return axis;
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (high - low < 1e-12 * std::max(1.0, std::abs(high))) high = low + std::max(1.0, std::abs(low));
  const double rough = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double ratio = rough / power;
  axis.step = power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  axis.low = std::floor(low / axis.step + 1e-9) * axis.step;
  axis.high = std::ceil(high / axis.step - 1e-9) * axis.step;
  axis.digits = std::max(0, -static_cast<int>(std::floor(std::log10(axis.step) + 1e-9)));
  return axis;
}

class Picture {
 public:
  explicit Picture(const LineChart& chart)
      : x_(MakeAxis(chart, &ChartLine::x)), y_(MakeAxis(chart, &ChartLine::y)) {
    out_ << std::fixed << std::setprecision(2);
    out_ << R"(<?xml version="1.0" encoding="UTF-8"?>)" << '\n'
         << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )" << kWidth << ' ' << kHeight
         << R"(" font-family="sans-serif" font-size="14">)" << '\n'
         << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n';
    Text((kLeft + kRight) / 2, 28, "middle", chart.title);
    Text((kLeft + kRight) / 2, kBottom + 44, "middle", chart.x_label);
    out_ << R"(<text transform="translate(22 )" << (kTop + kBottom) / 2
         << R"lit() rotate(-90)" text-anchor="middle">)lit" << Escaped(chart.y_label)
         << "</text>\n";
    Axes();
    for (std::size_t i = 0; i < chart.lines.size(); ++i) Draw(chart.lines[i], i);
    out_ << "</svg>\n";
  }

  std::string text() const { return out_.str(); }

 private:
  double X(double value) const { return kLeft + x_.Part(value) * (kRight - kLeft); }
  double Y(double value) const { return kBottom - y_.Part(value) * (kBottom - kTop); }

  void Text(double x, double y, const char* anchor, const std::string& text) {
    out_ << R"(<text x=")" << x << R"(" y=")" << y << R"(" text-anchor=")" << anchor << R"(">)"
         << Escaped(text) << "</text>\n";
  }

  void Line(double x1, double y1, double x2, double y2, const char* colour) {
    out_ << R"(<line x1=")" << x1 << R"(" y1=")" << y1 << R"(" x2=")" << x2 << R"(" y2=")" << y2
         << R"(" stroke=")" << colour << R"("/>)" << '\n';
  }

  static std::string Label(const Axis& axis, double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(axis.digits)
         << (std::abs(value) < axis.step / 2 ? 0.0 : value);
    return text.str();
  }

  void Axes() {
    for (double v = x_.low; v < x_.high + x_.step / 2; v += x_.step) {
      Line(X(v), kBottom, X(v), kBottom + 6, "black");
      Text(X(v), kBottom + 22, "middle", Label(x_, v));
    }
    for (double v = y_.low; v < y_.high + y_.step / 2; v += y_.step) {
      Line(kLeft, Y(v), kRight, Y(v), "#dddddd");
      Line(kLeft - 6, Y(v), kLeft, Y(v), "black");
      Text(kLeft - 10, Y(v) + 5, "end", Label(y_, v));
    }
    Line(kLeft, kBottom, kRight, kBottom, "black");
    Line(kLeft, kTop, kLeft, kBottom, "black");
  }

  /// A circle, square, triangle or diamond, filled or hollow.
  void Mark(double x, double y, std::size_t i, const char* colour) {
    constexpr double r = 4.5;
    const char* const fill = i / 4 % 2 == 0 ? colour : "white";
    if (i % 4 == 0) {
      out_ << R"(<circle cx=")" << x << R"(" cy=")" << y << R"(" r=")" << r << '"';
    } else if (i % 4 == 1) {
      out_ << R"(<rect x=")" << x - 4 << R"(" y=")" << y - 4 << R"(" width="8" height="8")";
    } else {
      out_ << R"(<polygon points=")" << x << ',' << y - r << ' ' << x + r << ',';
      if (i % 4 == 2) {
        out_ << y + r << ' ' << x - r << ',' << y + r << '"';
      } else {
        out_ << y << ' ' << x << ',' << y + r << ' ' << x - r << ',' << y << '"';
      }
    }
    out_ << R"( fill=")" << fill << R"(" stroke=")" << colour << R"("/>)" << '\n';
  }

  void Draw(const ChartLine& line, std::size_t i) {
    const char* const colour = kColours[i % kColours.size()];
    const char* const dashes = line.dashed ? R"( stroke-dasharray="7 4")" : "";
    bool pen_down = false;
    out_ << R"(<path fill="none" stroke-width="1.6" stroke=")" << colour << '"' << dashes
         << R"( d=")";
    for (std::size_t p = 0; p < line.x.size(); ++p) {
      const bool number = std::isfinite(line.x[p]) && std::isfinite(line.y[p]);
      if (number) out_ << (pen_down ? 'L' : 'M') << X(line.x[p]) << ' ' << Y(line.y[p]);
      pen_down = number;
    }
    out_ << R"("/>)" << '\n';
    const std::size_t every = std::max<std::size_t>(1, line.x.size() / kMarks);
    for (std::size_t p = every - 1; p < line.x.size(); p += every) {
      if (std::isfinite(line.x[p]) && std::isfinite(line.y[p])) {
        Mark(X(line.x[p]), Y(line.y[p]), i, colour);
      }
    }
    const double y = kTop + 10 + 24 * static_cast<double>(i);
    out_ << R"(<path fill="none" stroke-width="1.6" stroke=")" << colour << '"' << dashes
         << R"( d="M)" << kRight + 20 << ' ' << y << 'L' << kRight + 64 << ' ' << y << R"("/>)"
         << '\n';
    Mark(kRight + 42, y, i, colour);
    Text(kRight + 74, y + 5, "start", line.name);
  }

  Axis x_;
  Axis y_;
  std::ostringstream out_;
};

}  // namespace

std::string SvgText(const LineChart& chart) {
  return Picture(chart).text();
}

}  // namespace polykern
