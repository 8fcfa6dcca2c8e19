#pragma once

#include <string>

#include "polykern/net/configuration.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// What a federation takes over from the one that it begins from.
struct EarlierFederation {
  FederationConfiguration settings = {};  ///< but for what belongs to that one alone
  std::string model = {};                 ///< for FederationConfiguration::from
  double rho = 0;                         ///< privacy that its rows have lost, see RhoSpent
};

/// Throws Error if no step is committed there. Of the federations that it began from itself, those
/// are left out that are too many (kMostEarlierFederations).
EarlierFederation ReadEarlier(const StoreContents& store);

/// A budget of noise carries over: of the epsilon that is declared for both federations together,
/// the new one gets what the other has left. Its rows may come again, so rho adds up. Throws Error
/// if nothing is left, or the new one promises no epsilon.
void ChargeBudget(const EarlierFederation& earlier, FederationConfiguration& made);

}  // namespace polykern
