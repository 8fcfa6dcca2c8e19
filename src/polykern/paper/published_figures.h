#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/core/metrics.h"
#include "polykern/results/row.h"

namespace polykern {

/// What the paper prints for one algorithm on one data set.
struct PaperFigures {
  Spread mse = {};                    ///< x 1e-3: Tables 1 and 3; deviation 0: not in Table 3
  double seconds = 0;                 ///< Table 1: run time of a client
  std::optional<Spread> regret = {};  ///< Table 4, over the clients
};

/// One row of the paper's tables: the settings that make it, and what is printed.
struct PaperRow {
  std::string title = {};        ///< as in the paper, with what tells it apart
  Row row = {};                  ///< settings; rates of 1 / sqrt(T) are left unset
  bool private_weights = false;  ///< clients have weights that can be carried
  /// By the names of the recipes; those that the paper does not have are not here. All rows have
  /// the same.
  std::map<std::string, PaperFigures, std::less<>> published = {};
};

/// The rows of Tables 1, 3 and 4, in the paper's order. Where the paper leaves a rate open there is
/// a row for each choice. Constant.
std::span<const PaperRow> PaperRows();

/// POF-MKL with this M and xi: a row of Figure 2.
Row PaperPofMkl(std::size_t kernels_per_upload, double exploration);

/// True if the paper has figures of a data set.
bool InPaper(std::string_view data);

/// The tables and figures that can be made, what came after the paper among them (beyond.h), and
/// whether one of them shows a data set of the paper.
std::span<const std::string_view> PaperExhibits();
bool Shows(std::string_view exhibit, std::string_view data);

/// A measured figure agrees with a published one up to this part of it.
inline constexpr double kPaperTolerance = 0.03;

/// Feature draws in the paper.
inline constexpr std::size_t kPaperRepetitions = 20;

/// Why a measured error does not agree with the published one, as far as it is known. `carried`:
/// the clients' weights were kept through the `repetitions`.
std::string WhyNot(const PaperRow& row, std::string_view data, bool carried,
                   std::size_t repetitions);

/// What a reader must know of Table 4, whose figures are not all regret (14).
std::string_view RegretRemark();

}  // namespace polykern
