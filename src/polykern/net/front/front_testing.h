#pragma once

#include <cstdint>
#include <memory>

#include "polykern/net/configuration_texts.h"
#include "polykern/net/front/postgresql_front.h"
#include "polykern/net/postgresql/database_testing.h"

namespace polykern {

/// The same, for front ends.
class FrontsInADatabase : public InADatabase {
 protected:
  std::unique_ptr<Front> Join(std::uint64_t number) const {
    return JoinFronts({.place = place_, .number = number}, ToTexts(configuration_));
  }
};

}  // namespace polykern
