#pragma once

#include "polykern/net/store/store.h"

namespace polykern {

/// Stores without a disk, for tests: each is empty when it is opened and gone when it is closed.
/// They must have no place.
StoreKind MemoryStoreKind();

}  // namespace polykern
