#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "polykern/data/dataset.h"
#include "polykern/data/split.h"
#include "polykern/data/table_stream.h"
#include "polykern/io/folder_testing.h"

namespace polykern {

// For the tests of dealing rows to clients.

/// One input that holds the row's number; rows are spread over the sites in runs.
inline std::shared_ptr<Dataset> Numbered(std::size_t rows_per_site, std::size_t sites = 1) {
  auto data = std::make_shared<Dataset>();
  data->name = "numbers";
  data->dimension = 1;
  for (std::size_t i = 0; i < rows_per_site * sites; ++i) {
    data->x.push_back(static_cast<float>(i));
    data->y.push_back(static_cast<double>(i) + 0.5);
    data->site.push_back(static_cast<std::uint32_t>(i / rows_per_site));
  }
  for (std::size_t s = 0; s < sites; ++s) data->site_names.push_back("s" + std::to_string(s));
  return data;
}

inline std::multiset<std::uint32_t> UsedRows(const TableStream& stream) {
  std::multiset<std::uint32_t> used;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    for (std::size_t client = 0; client < stream.clients(); ++client) {
      const std::uint32_t row = stream.RowOf(step, client);
      if (row != TableStream::kAbsent) used.insert(row);
    }
  }
  return used;
}

inline void ExpectNoRowTwice(const TableStream& stream) {
  const std::multiset<std::uint32_t> used = UsedRows(stream);
  EXPECT_EQ(std::set<std::uint32_t>(used.begin(), used.end()).size(), used.size());
  EXPECT_LT(*used.rbegin(), stream.data().rows());
}

inline std::string Complaint(std::shared_ptr<const Dataset> data, const SplitOptions& options) {
  return MessageOf([&] { Deal(std::move(data), options); });
}

}  // namespace polykern
