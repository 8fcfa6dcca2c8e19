#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/data/input_columns.h"
#include "polykern/data/recipes.h"
#include "polykern/data/scaling.h"
#include "polykern/data/split.h"
#include "polykern/data/stream.h"
#include "polykern/data/table.h"

namespace polykern {

/// Where the samples come from: the command line, TOML files and Python fill this struct.
struct SourceOptions {
  /// synthetic, the name of a recipe (naval, uji, air, wec), or CSV files.
  std::vector<std::string> data = {"synthetic"};
  std::string data_dir = kDefaultDataDir;  ///< where recipes find their files
  std::string target;                      ///< CSV: the column to predict
  std::string site;                        ///< CSV: the column that groups rows into sites
  std::string client;                      ///< CSV: the column that names the client; default: site
  /// CSV: the column of times, or those of year, month, day and so on; empty: the order of the file
  std::vector<std::string> time;
  DerivedInputs derived;                 ///< CSV: past labels and the calendar as inputs
  std::vector<std::string> features;     ///< CSV: the inputs; empty: every other numeric column
  std::vector<std::string> exclude;      ///< CSV: numeric columns that are not inputs
  std::vector<std::string> categorical;  ///< CSV: text columns to use as inputs
  Categories categories = Categories::kOneHot;   ///< CSV: what they become
  char delimiter = 0;                            ///< CSV: 0: guessed; ' ': runs of blanks and tabs
  char decimal = '.';                            ///< CSV: or ','
  HeaderLine header = HeaderLine::kAuto;         ///< CSV: is the first line one of column names
  MissingPolicy missing = MissingPolicy::kDrop;  ///< rows with missing cells
  std::optional<Scaling> scaling;                ///< unset: norm
  std::vector<DeclaredRange> ranges;             ///< known ranges of columns; others are scanned
  /// How rows are dealt; unset: the recipe's. Rows of files are not shuffled then: a client is what
  /// the column `client` says, else a site, else a run of neighbouring rows (`clients`, 1).
  std::optional<Split> split;
  double major_share = 0.7;              ///< by site: a client's share of rows from its own site
  std::optional<std::size_t> clients;    ///< unset: the recipe's, the fleet's 40, or what fits
  std::optional<std::size_t> steps;      ///< unset: the recipe's, the fleet's 500, or what fits
  std::optional<std::size_t> dimension;  ///< synthetic: inputs, 8
  std::optional<double> noise;           ///< synthetic: standard deviation of label noise, 0.05
  std::optional<double> drift;           ///< synthetic: radians the laws turn over the run, 0
  std::uint64_t seed = 0;                ///< of the synthetic fleet and of shuffles
};

/// Samples, and what a reader of the results must know of them.
struct Source {
  std::unique_ptr<const Stream> stream;
  std::string name;
  std::vector<std::string> files;
  std::string target;
  std::vector<std::string> inputs;          ///< their names; empty for synthetic
  std::vector<std::string> unused_columns;  ///< columns of the files that are not used
  std::string scaling;                      ///< none, norm or range
  std::string split;                        ///< synthetic, iid, runs, site, column or order
  std::string order;  ///< how rows became clients and in which order, in a line; empty if synthetic
  std::size_t rows = 0;              ///< complete rows read; 0 for synthetic
  std::size_t dropped_rows = 0;      ///< rows with missing cells, left out
  std::size_t clipped_values = 0;    ///< values outside their declared range
  std::vector<std::string> notices;  ///< CSV: what a person would want to know, with marked options
};

/// Opens, reads, scales and deals. Throws Error for every user's mistake, naming file, line, column
/// or option; also for an option that the chosen data have no use for.
Source OpenSource(const SourceOptions& options);

/// iid, runs, site, column or order; norm or range. Throw Error for any other name.
Split ParseSplit(const std::string& name);
Scaling ParseScaling(const std::string& name);
/// A character, or tab, semicolon, comma or blank. Throws Error for anything else.
char ParseDelimiter(const std::string& name);
/// A point or a comma. Throws Error for anything else.
char ParseDecimal(const std::string& name);

}  // namespace polykern
