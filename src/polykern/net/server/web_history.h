#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polykern/net/server/server_view.h"

namespace polykern {

/// How a federation went since its server began, for charts: a point a second at first, and half as
/// many whenever there are too many, so that it always spans the whole time. One thread at a time.
class WebHistory {
 public:
  static constexpr std::size_t kMost = 480;

  /// To be called about once a second.
  void Add(const ServerView& view);
  /// A JSON object of lists of the same length.
  std::string ToJson() const;

 private:
  struct Point {
    double minutes = 0;  // since the server began
    std::uint64_t step = 0;
    std::size_t connected = 0;
    std::optional<double> error = {};  // as clients report it
    std::optional<double> skill = {};
    std::optional<double> epsilon = {};  // spent
  };
  std::vector<Point> points_;
  std::size_t every_ = 1;  // of the views that come, one is kept
  std::size_t passed_ = 0;
};

}  // namespace polykern
