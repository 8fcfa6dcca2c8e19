#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "polykern/net/rounds/front.h"

namespace polykern {

struct PostgresqlFrontOptions {
  std::string place = {};    ///< what follows postgresql: in the store's URL
  std::uint64_t number = 0;  ///< NewFrontNumber
};

/// For a front end that begins: 31 random bits, not 0.
std::uint64_t NewFrontNumber();

/// A place among the front ends of a federation in PostgreSQL. Makes the tables if there are none.
/// Throws Error that names each difference if they are of another configuration, and if one process
/// has the store for itself.
std::unique_ptr<Front> JoinFronts(const PostgresqlFrontOptions& options,
                                  const StoreConfiguration& configuration);

/// PostgreSQL's stores, where clients are noted beside front ends.
StoreKind SharedPostgresqlKind();

}  // namespace polykern
