#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/scan.h"
#include "polykern/data/source.h"
#include "polykern/data/suggest.h"
#include "polykern/io/files.h"
#include "polykern/results/text_table.h"
#include "proposed_run.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

struct ScanOptions {
  std::vector<std::string> paths;
  SourceOptions known;         ///< what the user says; the rest is a guess
  bool missing_known = false;  ///< --missing is part of it
  std::string write_config;    ///< empty: none
  std::string format = "text";
};

const char* Name(ColumnKind kind) {
  constexpr std::array kNames = {"number", "text", "mixed", "constant", "empty"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* Name(char delimiter) {
  return delimiter == '\t'  ? "tab"
         : delimiter == ' ' ? "blanks"
         : delimiter == ';' ? "semicolon"
                            : "comma";
}

/// The shortest text that reads back as the same number.
std::string Exact(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

/// The command line divides lists at commas, so a name with one cannot be part of a list.
void CheckCommas(const SourceOptions& options) {
  for (const auto* list :
       {&options.data, &options.time, &options.features, &options.categorical, &options.exclude}) {
    for (const std::string& name : *list) {
      if (name.find(',') == std::string::npos) continue;
      throw Error(Quoted(name) +
                  " contains a comma, which separates names; rename the column or file");
    }
  }
}

std::string Values(const ColumnSummary& column) {
  constexpr std::size_t kMostShown = 3;
  if (column.kind == ColumnKind::kMixed) {
    return Count(column.texts, "text") + ", first " + Quoted(column.values.front()) + " at " +
           column.first_text_at;
  }
  if (column.numbers > 0) {
    return column.range.low == column.range.high
               ? Exact(column.range.low)
               : Exact(column.range.low) + " to " + Exact(column.range.high);
  }
  const std::size_t shown = std::min(kMostShown, column.values.size());
  std::string text = Joined(std::span(column.values).first(shown), ", ", Quoted);
  if (column.values.size() > kMostShown) {
    text += ", .. (" + std::string(column.more_values ? "more than " : "") +
            std::to_string(column.values.size()) + " values)";
  }
  return text;
}

Json AsJson(const Scan& scan) {
  Json columns = Json::array();
  for (const ColumnSummary& column : scan.columns) {
    Json entry = {{"name", column.name},
                  {"type", Name(column.kind)},
                  {"numbers", column.numbers},
                  {"texts", column.texts},
                  {"missing", column.missing}};
    if (column.numbers > 0) {
      entry["low"] = column.range.low;
      entry["high"] = column.range.high;
    }
    if (column.texts > 0) {
      entry["distinct"] = column.values.size();
      entry["distinct_is_exact"] = !column.more_values;
    }
    columns.push_back(std::move(entry));
  }
  return {{"files", scan.paths},
          {"delimiter", Name(scan.delimiter)},
          {"header", scan.has_header},
          {"rows", scan.rows},
          {"columns", columns}};
}

/// Of many files the first and the last.
std::string FileNames(const std::vector<std::string>& paths) {
  constexpr std::size_t kAll = 3;
  if (paths.size() <= kAll) return Joined(paths, ",") + ": ";
  return paths.front() + " to " + paths.back() + ": " + Count(paths.size(), "file") + ", ";
}

std::string AsText(const Scan& scan) {
  std::string text = FileNames(scan.paths) + Count(scan.rows, "row") + ", " +
                     Count(scan.columns.size(), "column") + ", divided by " + Name(scan.delimiter) +
                     (scan.decimal == ',' ? ", decimal commas, " : ", ") +
                     (scan.has_header ? "with" : "without") + " a line of names\n\n";
  std::size_t name_width = 6;
  for (const ColumnSummary& column : scan.columns) {
    name_width = std::max(name_width, column.name.size());
  }
  const auto line = [&](const std::string& name, const std::string& type,
                        const std::string& missing, const std::string& values) {
    const auto padded = [](const std::string& word, std::size_t width) {
      return word + std::string(width - std::min(width, word.size()), ' ') + "  ";
    };
    text += padded(name, name_width) + padded(type, 8) + padded(missing, 7) + values + "\n";
  };
  line("column", "type", "missing", "values");
  text += std::string(name_width + 2 + 10 + 9 + 6, '-') + "\n";
  // A wide table of like columns would scroll everything else away.
  constexpr std::size_t kMostLines = 60;
  const bool wide = scan.columns.size() > kMostLines;
  for (std::size_t c = 0; c < scan.columns.size(); ++c) {
    if (wide && c == kMostLines / 2) {
      c = scan.columns.size() - kMostLines / 2;
      text += "..  (" + std::to_string(scan.columns.size() - kMostLines) +
              " more; --format json has them all)\n";
    }
    const ColumnSummary& column = scan.columns[c];
    line(column.name, Name(column.kind), std::to_string(column.missing), Values(column));
  }
  return text;
}

void Execute(const ScanOptions& options) {
  const Scan scan = ScanFiles(options.paths, options.known.delimiter, options.known.decimal);
  std::string command;
  std::string problem;
  std::vector<std::string> notices;
  try {
    SourceOptions suggested = SuggestOptions(scan, options.known);
    if (options.missing_known) suggested.missing = options.known.missing;
    CheckCommas(suggested);
    SuggestFromTimes(suggested, options.known);
    notices = OpenSource(suggested).notices;  // the promise is kept: what stands there opens
    command = options.format == "json" ? OneLine(suggested) : ShortLines(suggested);
    if (!options.write_config.empty()) {
      ReplaceFile(options.write_config, AsToml(suggested), FileMode::kUmask);
      command = "polykern run --config " + ShellWord(options.write_config);
    }
  } catch (const Error& error) {
    problem = error.marked();
  }
  if (options.format == "json") {
    Json json = AsJson(scan);
    json["run"] = command.empty() ? Json(nullptr) : Json(command);
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    std::cout << AsText(scan);
    if (!command.empty()) {
      std::cout << "\nTo learn from it (correct a wrong guess with --target, --client, --time and "
                   "so on):\n"
                << command << '\n';
    }
  }
  std::cout.flush();
  PrintNotices(notices);
  if (!problem.empty()) throw Error("these files cannot be used as they are: " + problem);
}

}  // namespace

void AddDataScanCommand(CLI::App& data) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App& scan = *data.add_subcommand(
      "scan",
      "Show what the columns of CSV files hold, and the polykern run line for them. Several files "
      "must have the same columns; each is a client.\n"
      "Example: polykern data scan my.csv --target price");
  scan.add_option("FILE", options->paths, "CSV files")->required();
  AddConfigOption(scan);
  options->known.decimal = 0;
  AddColumnOptions(scan, options->known);
  const auto say = [&scan](const char* name, const char* help) {
    scan.get_option(name)->description(help);
  };
  say("--target", "The column to predict (default: a guess)");
  say("--client", "The column that names the client, or none (default: a guess)");
  say("--time",
      "The column of times, those of year,month,day[,hour..], or none (default: a guess)");
  say("--lags", "Own past labels as inputs (default: by their correlation)");
  say("--decimal", "CSV: decimal mark, . or , (default: a guess)");
  for (CLI::Option* option : scan.get_options()) {  // a list is one word: the next may be a file
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  CLI::Option* missing = scan.get_option("--missing");
  scan.add_option("--write-config", options->write_config,
                  "Write the options to a TOML file, for polykern run --config FILE");
  AddFormatOption(scan, options->format);
  scan.callback([options, missing] {
    options->missing_known = missing->count() > 0;
    Execute(*options);
  });
}

}  // namespace polykern
