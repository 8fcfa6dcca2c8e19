#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polykern/data/derived_inputs.h"
#include "polykern/data/input_columns.h"
#include "polykern/data/row_order.h"
#include "polykern/data/scaling.h"
#include "polykern/data/table.h"

namespace polykern {

/// Whose a row is if no column says so.
enum class RowOwners : std::uint8_t {
  kUndecided,  ///< decided later
  kSites,      ///< every site is a client
  kRuns,       ///< every client has a run of neighbouring rows, as many as the others or one more
};

/// Which columns mean what, and how they are read and scaled.
struct DatasetOptions {
  std::string name = {};    ///< for reports; empty: the first file's name
  std::string target = {};  ///< the column to predict; must be given
  std::string site = {};    ///< the column that groups rows; empty: see site_per_file
  std::string client = {};  ///< the column that says whose row it is; empty: see owners
  RowOwners owners = RowOwners::kUndecided;  ///< whose rows they are without a client column
  std::size_t runs = 1;                      ///< kRuns: how many clients
  std::vector<std::string> time = {};        ///< see ColumnChoice; empty: the order of the file
  DerivedInputs derived = {};                ///< inputs made of labels and times; needs owners
  /// The inputs, in this order; empty: every other column of numbers, in the order of the file.
  std::vector<std::string> features = {};
  std::vector<std::string> exclude = {};      ///< no inputs, although they hold numbers
  std::vector<std::string> categorical = {};  ///< inputs that hold texts
  Categories categories = Categories::kCode;  ///< what they become
  bool notices = false;       ///< look at the values for what a person would want to know
  bool site_per_file = true;  ///< without a site column, every file is a site
  std::vector<std::string> site_names =
      {};                       ///< of the files, in their order; empty: the file names
  TableOptions table = {};      ///< the form of the files
  ScalingOptions scaling = {};  ///< to a common size
};

/// Rows ready to learn from, scaled, in the order of the files. A plain value; immutable in use,
/// so any number of threads may read it.
struct Dataset {
  std::string name;
  std::size_t dimension = 0;          ///< inputs per row
  std::vector<float> x;               ///< rows x dimension, row after row
  std::vector<double> y;              ///< a label for each row
  std::vector<std::uint32_t> site;    ///< for each row, its place in site_names
  std::vector<std::uint32_t> client;  ///< for each row, its place in client_names; may be empty
  std::vector<Seconds> time;          ///< for each row; empty without times
  RowOrder order;         ///< the rows of every client, as it sees them; empty without clients
  std::size_t ahead = 1;  ///< DerivedInputs::ahead; the first rows of a client have no inputs then,
                          ///< and are not in the order
  std::size_t lags = 0;   ///< past labels among the inputs of a row
  std::vector<std::string> feature_names;  ///< of columns, then those of derived inputs
  std::string target_name;
  std::vector<std::string> site_names;  ///< at least one
  std::vector<std::string> client_names;
  std::vector<std::string> unused_columns;  ///< columns of the files that are not used
  Scale scale;                              ///< how x and y were scaled
  std::size_t dropped_rows = 0;             ///< left out because a value is missing
  std::size_t clipped_inputs = 0;           ///< values outside their declared range
  std::size_t clipped_labels = 0;
  std::vector<std::string> notices;  ///< what a person would want to know; see notices.h

  std::size_t rows() const { return y.size(); }
  std::span<const float> Row(std::size_t row) const {
    return std::span(x).subspan(row * dimension, dimension);
  }
};

/// Reads the files and makes a data set of them. Scaling works in double, so that a large offset
/// (a time in seconds, a map coordinate) costs no precision. Throws Error as ReadTable and
/// ScaleFitter do, for a target that is not named or that is also an input, for more runs than
/// rows, and for derived inputs that cannot be made.
Dataset LoadDataset(const std::vector<std::string>& paths, const DatasetOptions& options);

/// The same from a table that holds the columns named in the options; without `features`, all its
/// other columns are inputs. Of `options.table` only `missing` is used.
Dataset MakeDataset(const Table& table, const DatasetOptions& options);

}  // namespace polykern
