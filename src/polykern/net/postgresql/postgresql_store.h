#pragma once

#include "polykern/net/store/store.h"

namespace polykern {

/// A store in a PostgreSQL database: tables named polykern_* in the schema that the connection
/// uses, so a federation takes a database or a schema of its own. It is durable as far as the
/// database is, has one writer, a second one throws Error, and any number of readers. A place is
/// the rest of a connection URI: //USER@HOST:PORT/DATABASE?OPTIONS. Passwords belong in ~/.pgpass:
/// messages show the host and the database alone.
StoreKind PostgresqlStoreKind();

}  // namespace polykern
