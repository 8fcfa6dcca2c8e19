#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/data/scaling.h"
#include "polykern/data/table.h"

namespace polykern {

/// How a column of texts becomes inputs.
enum class Categories : std::uint8_t {
  kCode,  ///< one input: 0, 1, .. as the texts first appear
  /// An input for each text, 1 where it stands and else 0; called wd=N. Of more than kMostOneHot
  /// texts, as many inputs that texts share by their hash; called wd#0, wd#1, ..
  kOneHot,
};
inline constexpr std::size_t kMostOneHot = 32;

/// code or onehot. ParseCategories throws Error for any other name.
const char* CategoriesName(Categories categories);
Categories ParseCategories(const std::string& name);

/// The inputs that columns of a table become: each column's, then a mark for each column in which a
/// value is missing, called NAME.missing. Keeps a reference to the table, which must outlive it.
class InputColumns {
 public:
  InputColumns(const Table& table, std::span<const std::size_t> columns,
               std::span<const std::string> categorical, Categories categories);

  const std::vector<std::string>& names() const { return names_; }
  /// Those which are 0 or 1.
  const std::vector<std::string>& marks() const { return marks_; }
  /// Where a missing number is NaN; a missing text is 0 throughout. Size: that of names().
  void Fill(std::size_t row, std::span<double> inputs) const;

 private:
  struct Column {
    std::size_t column = 0;
    std::size_t size = 1;                    ///< inputs
    std::vector<std::uint32_t> places = {};  ///< for each code; empty for a number
  };
  Column MarkTexts(std::size_t column);

  const Table& table_;
  std::vector<Column> columns_;
  std::vector<std::size_t> incomplete_;
  std::vector<std::string> names_;
  std::vector<std::string> marks_;
};

/// Where an input of a text is 1, of kMostOneHot inputs that texts share by their hash.
std::size_t HashedPlace(std::string_view text);

/// The mean of each input so far, for those that are missing. A plain value.
class RunningMeans {
 public:
  explicit RunningMeans(std::size_t dimension) : sum_(dimension), count_(dimension) {}

  /// Takes a row, and puts the mean of the values before it in the place of each NaN, 0 before the
  /// first.
  void Fill(std::span<float> x);

  /// Sums, then counts; and back, if they are as many.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  std::vector<double> sum_;
  std::vector<double> count_;
};

/// Puts the mean of the values so far in the place of each NaN, column by column, 0 before the
/// first. `x`: rows of `dimension`; `rows`: which, in their order.
void ImputeMeans(std::span<const std::uint32_t> rows, std::size_t dimension, std::span<float> x);

}  // namespace polykern
