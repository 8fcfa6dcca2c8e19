#pragma once

#include "polykern/net/store/store.h"

namespace polykern {

/// Stores without a disk, for tests: each is empty when opened, and lost when closed.
/// They must have no place.
StoreKind MemoryStoreKind();

}  // namespace polykern
