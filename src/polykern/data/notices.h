#pragma once

#include <span>
#include <string>
#include <vector>

#include "polykern/data/row_order.h"
#include "polykern/data/table.h"

namespace polykern {

/// What a person would want to know of columns that are learnt from: a line each, with what to do.
/// An outlier is a number whose size is more than ten thousand times that of nine in ten of the
/// others; `ranged` columns have none, because their ranges are declared. Also columns of one
/// value, and whole numbers that only number the rows. Texts name options by OptionName.
std::vector<std::string> NoticeColumns(const Table& table, std::span<const std::size_t> columns,
                                       std::span<const std::string> ranged);

/// Whether a column is called like one that numbers rows: id, index, row, station_id, ..
bool IsIdName(const std::string& name);

/// Clients that `column` names and that all have one row; empty if it is not so.
std::string NoticeClients(const RowOrder& order, const std::string& column);

}  // namespace polykern
