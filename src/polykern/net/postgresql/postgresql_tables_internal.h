#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {

// The tables of a federation, and what a store of one process and front ends of several do with
// them alike. All throw what Connection throws.

/// False: there is no store, or one that was being made.
bool IsThere(Connection& connection);
/// Throws Error if the store is of another version than this program.
void CheckVersion(Connection& connection);
StoreContents ContentsOf(Connection& connection);
/// Numbers of the front ends that are there, upwards.
std::vector<std::uint64_t> LivingFronts(Connection& connection);
std::optional<ResumePoint> NewestIn(Connection& connection);
/// From the first row of a query for steps, sum and numbers; none if there is no row. Throws Error
/// if it is damaged.
std::optional<ResumePoint> StateIn(Connection& connection, const Rows& rows);

/// Who may use the tables, as long as the connection lives: one writer alone, or any number of
/// front ends together. Waits a little: the database may notice a moment later that the one before
/// has ended. Throws Error if another process has them.
enum class TableUse { kAlone, kTogether };
void Occupy(Connection& connection, TableUse use);

/// Makes the tables, or looks whether those that are there are of this configuration; takes over
/// another one if they are unused. A null configuration: they must be there. Throws Error
/// that says what differs.
void OpenTables(Connection& connection, const StoreConfiguration* configuration);

// Inside a transaction:

void ReplaceConfiguration(Connection& connection, const StoreConfiguration& configuration);
/// A step and the state after it, but nothing of its clients; `before`: the newest step.
void WriteState(Connection& connection, const StepCommit& step, std::uint64_t participants,
                std::uint64_t before);
void WriteRejections(Connection& connection, std::span<const Rejections> rejected);
/// Notes of clients, and whether they are waited for.
void WriteNotes(Connection& connection, std::span<const NotedClient> notes);
void WriteEvents(Connection& connection, std::span<const StoredEvent> events);

/// As the store's, for a state of so many numbers.
void CheckStateSize(std::size_t numbers);

}  // namespace polykern
