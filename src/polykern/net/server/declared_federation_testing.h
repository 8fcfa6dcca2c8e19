#pragma once

#include "polykern/net/server/declared_federation.h"

namespace polykern {

// For the tests of declared federations.

inline DeclaredFederation Wind() {
  DeclaredFederation wind;
  wind.algorithm = "pof-newton";
  wind.options = {{"ridge", "0.5"}};
  wind.columns = {"speed", "gust"};
  wind.ranges = {{"speed", 0, 30}, {"gust", 0, 60}};
  wind.target = "power";
  wind.target_range = {"", 0, 3000};
  wind.seed = 7;
  return wind;
}

}  // namespace polykern
