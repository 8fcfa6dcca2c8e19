#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polykern/net/store/store.h"

namespace polykern {

// A store's URL is a scheme, a colon and a place: sqlite:PATH is one file,
// postgresql://USER@HOST/DATABASE tables of a database, memory: is gone when it is closed. Whatever
// has no scheme that is known here is the path of a SQLite file.

/// Opens the store, or makes it. Throws Error that names each difference if it was made with
/// another configuration, unless it is unused. Stores that are damaged, of a newer
/// version, in use by another process, or none at all throw Error before anything is written.
std::unique_ptr<Store> OpenStore(const std::string& url, const StoreConfiguration& configuration);
/// Opens a store that exists, whatever its configuration.
std::unique_ptr<Store> OpenStore(const std::string& url);
/// The same for callers that write only notes of clients: front ends may be using it.
std::unique_ptr<Store> OpenToNote(const std::string& url);

/// What is in a store, without changing it, also while a server uses it.
StoreContents ReadStore(const std::string& url);

/// False if there is none, or one in which nothing is yet: its server was stopped while it made it.
/// Throws Error for one that cannot be read.
bool HasStore(const std::string& url);

/// Copies a store to a new file, for its owner alone, as it is at one moment, also while a server
/// uses it. The disk has it when this returns. Returns how many steps it has.
std::uint64_t BackupStore(const std::string& url, const std::string& file);

/// Puts such a copy in the place of a store that no server uses, or makes one. The store that was
/// there is kept beside it, as PATH-before. Throws Error, and changes nothing, if that is of
/// another federation, or if the server adds noise itself and would spend its budget again. Returns
/// how many steps it has.
std::uint64_t RestoreStore(const std::string& file, const std::string& url);

/// The path of the file that the store is; none if it is not a file.
std::optional<std::string> StoreFile(const std::string& url);
/// Where several servers may share it (PostgresqlFrontOptions::place); none: it has one server.
std::optional<std::string> FrontPlace(const std::string& url);

/// store.db in a folder; anything else is itself.
std::string StorePath(const std::string& folder_or_url);

}  // namespace polykern
