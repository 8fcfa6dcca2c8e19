#pragma once

#include "polykern/net/helper/helper_log.h"
#include "polykern/net/sqlite/sqlite_file_internal.h"

namespace polykern {

/// The file format of a helper's log in SQLite: one row of `state` and `answer` at most, and what
/// is of the epoch of now.
constexpr SqliteFormat kHelperLogFormat{.application = 0x706b686c,  // "pkhl"
                                        .version = 1,
                                        .schema = R"(
  CREATE TABLE state(id INTEGER PRIMARY KEY CHECK (id = 0), federation TEXT NOT NULL,
                     epoch INTEGER NOT NULL, releases INTEGER NOT NULL, behind INTEGER NOT NULL,
                     numbers INTEGER NOT NULL, unknowns INTEGER NOT NULL);
  CREATE TABLE answer(id INTEGER PRIMARY KEY CHECK (id = 0), digest BLOB NOT NULL,
                      sum BLOB NOT NULL, numbers BLOB NOT NULL, refusal TEXT NOT NULL);
  CREATE TABLE client(name TEXT NOT NULL, kind INTEGER NOT NULL, next_step INTEGER NOT NULL,
                      PRIMARY KEY(name, kind)) WITHOUT ROWID;
  CREATE TABLE mask_key(client TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;
)"};

/// Tables that logs from before there was noise lack; a log without noise has nothing in them.
constexpr const char* kHelperNoiseTables = R"(
  CREATE TABLE IF NOT EXISTS noise(id INTEGER PRIMARY KEY CHECK (id = 0), epsilon INTEGER NOT NULL,
                                   delta INTEGER NOT NULL, releases INTEGER NOT NULL,
                                   samples INTEGER NOT NULL, numbers INTEGER NOT NULL,
                                   bits INTEGER NOT NULL, unit INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS stream(id INTEGER PRIMARY KEY, sum BLOB NOT NULL,
                                    numbers BLOB NOT NULL);
)";

/// Of no use is an older copy: what it has forgotten could be answered once more.
inline const FileWords kHelperLogWords{
    .what = "helper's log",
    .remedy =
        "do not restore an older copy: name a new file, and start a new epoch; if the sums have "
        "noise, start again with a new store and a new file"};

/// Throws Error if it is damaged.
HelperContents ReadHelperContents(Database& database);

}  // namespace polykern
