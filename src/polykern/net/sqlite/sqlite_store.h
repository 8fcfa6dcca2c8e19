#pragma once

#include "polykern/net/store/store.h"

namespace polykern {

/// A store is one SQLite file, with -wal and -lock beside it while in use. It is durable, has one
/// writer, a second one throws Error, and any number of readers. A place is the file's path.
StoreKind SqliteStoreKind();

}  // namespace polykern
