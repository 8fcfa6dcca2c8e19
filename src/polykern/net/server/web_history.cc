#include "polykern/net/server/web_history.h"

#include <nlohmann/json.hpp>

namespace polykern {

void WebHistory::Add(const ServerView& view) {
  if (passed_++ % every_ != 0) return;
  if (points_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(kMost / 2);
    every_ *= 2;
  }
  const RoundsStatus& r = view.rounds;
  Point point{view.uptime_seconds / 60, r.step, r.connected};
  if (r.reporting > 0) point.error = r.reported_squared_error;
  point.skill = r.reported_skill;
  if (view.opener.noise) point.epsilon = view.opener.noise->spent;
  points_.push_back(point);
}

std::string WebHistory::ToJson() const {
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json lists;
  for (const char* name : {"minutes", "step", "connected", "mse", "skill", "epsilon"}) {
    lists[name] = Json::array();
  }
  for (const Point& point : points_) {
    lists["minutes"].push_back(point.minutes);
    lists["step"].push_back(point.step);
    lists["connected"].push_back(point.connected);
    lists["mse"].push_back(number(point.error));
    lists["skill"].push_back(number(point.skill));
    lists["epsilon"].push_back(number(point.epsilon));
  }
  return lists.dump();
}

}  // namespace polykern
