#pragma once

#include <memory>
#include <string>

#include "polykern/net/store/store.h"

namespace polykern {

// A store's URL is a scheme, a colon and a place: sqlite:PATH is one file,
// postgresql://USER@HOST/DATABASE tables of a database, memory: is gone when it is closed. Whatever
// has no scheme that is known here is the path of a SQLite file.

/// Opens the store, or makes it. Throws Error that names each difference if it was made with
/// another configuration, unless nobody has used it yet. Stores that are damaged, of a newer
/// version, in use by another process, or none at all throw Error before anything is written.
std::unique_ptr<Store> OpenStore(const std::string& url, const StoreConfiguration& configuration);
/// Opens a store that exists, whatever its configuration.
std::unique_ptr<Store> OpenStore(const std::string& url);

/// What is in a store, without changing it, also while a server uses it.
StoreContents ReadStore(const std::string& url);

/// False if there is none, or one in which nothing is yet: its server was stopped while it made it.
/// Throws Error for one that cannot be read.
bool HasStore(const std::string& url);

/// store.db in a folder; anything else is itself.
std::string StorePath(const std::string& folder_or_url);

}  // namespace polykern
