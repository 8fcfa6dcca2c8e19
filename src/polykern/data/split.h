#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "polykern/data/dataset.h"
#include "polykern/data/table_stream.h"

namespace polykern {

/// How the rows of a data set are dealt to clients. No row is ever used twice.
enum class Split {
  kIid,   ///< all rows shuffled, `steps` of them to each client
  kRuns,  ///< to each client a run of `steps` neighbouring rows, then shuffled
  /// Client k belongs to site k * sites / clients and sees mostly rows of it: of each site a run of
  /// neighbouring rows, the next client the next run; then its rows are shuffled.
  kSite,
  /// The client column says whose row it is, in the order of the file. With times, in their order,
  /// and a step is a moment: a client without a row at it is absent.
  kColumn,
  kOrder,  ///< the same for clients that no column names: files, sites, runs of rows
};

struct SplitOptions {
  Split split = Split::kIid;
  /// 0: chosen. With kColumn and kOrder all clients; else as many as the rows allow at `steps`.
  std::size_t clients = 0;
  /// 0: chosen. With kColumn and kOrder the longest client's, or all moments; else as many as the
  /// rows allow for `clients`. When both are 0 (not kColumn, kOrder): 500 steps, as in the paper,
  /// if that leaves ten clients or more; else ten clients, or as many as there are rows.
  std::size_t steps = 0;
  /// kSite: the part of a client's rows from its own site, above 0 and at most 1. The rest comes
  /// in equal whole parts from every other site; what cannot be divided comes from its own.
  double major_share = 0.7;
  std::uint64_t seed = 0;  ///< of the shuffles
};

/// Deals the rows. With kIid and kRuns all clients are of one site, "all"; with kColumn and
/// kOrder a client's site is that of its first row. Throws Error when there are too few rows, and
/// says what would fit; for kSite with a single site; for kColumn and kOrder if the data set has no
/// clients, or if their times have too little in common.
std::unique_ptr<TableStream> Deal(std::shared_ptr<const Dataset> data, const SplitOptions& options);

}  // namespace polykern
