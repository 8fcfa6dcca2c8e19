#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <variant>

#include "polykern/algorithms/option_values.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
DeclaredRange ParseRange(const std::string& text) {
  const auto equals = text.rfind('=');
  const auto colon = text.find(':', equals == std::string::npos ? 0 : equals);
  const auto number = [&](std::size_t from, std::size_t to) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, value);
    if (error != std::errc() || end != text.data() + to) throw std::invalid_argument(text);
    return value;
  };
  try {
    if (equals == std::string::npos || colon == std::string::npos) throw std::invalid_argument("");
    return {text.substr(0, equals), {number(equals + 1, colon), number(colon + 1, text.size())}};
  } catch (const std::invalid_argument&) {
    throw Error(OptionName("range", "'" + text + "'") + " is not of the form COLUMN=LOW:HIGH");
  }
}

void AddColumnOptions(CLI::App& command, SourceOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Data"); };
  group(command.add_option("-t,--target", o.target, "CSV: the column to predict"));
  group(command.add_option("--site", o.site, "CSV: the column that groups rows into sites"));
  group(command.add_option("--client", o.client, "CSV: the column that names the client"));
  group(command
            .add_option("--time", o.time,
                        "CSV: the column of times, or those of year,month,day[,hour..]; rows are "
                        "sorted and clients aligned (default: the order of the file)")
            ->delimiter(','));
  group(command
            .add_option("--lags", o.derived.lags,
                        "CSV: own past labels as inputs; 1 is the last one that is known")
            ->delimiter(',')
            ->check(WholeNumber(1)));
  group(command
            .add_option_function<std::vector<std::string>>(
                "--calendar",
                [&o](const std::vector<std::string>& names) {
                  for (const auto& name : names) o.derived.calendar.push_back(ParseCalendar(name));
                },
                "CSV: hour, weekday and month of the time as inputs")
            ->delimiter(','));
  group(command
            .add_option("--ahead", o.derived.ahead,
                        "CSV: steps from the last known label to the one that is predicted")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(
      command.add_option("--inputs", o.features, "CSV: input columns (default: all other numbers)")
          ->delimiter(','));
  group(command.add_option("--exclude", o.exclude, "CSV: columns that are not inputs")
            ->delimiter(','));
  group(command.add_option("--categorical", o.categorical, "CSV: text columns to use as inputs")
            ->delimiter(','));
  group(command.add_option_function<std::string>(
      "--categories", [&o](const std::string& name) { o.categories = ParseCategories(name); },
      "CSV: texts become an input each (onehot), or codes as they first appear (code) (default: "
      "onehot)"));
  AddFileFormOptions(command, o.delimiter, o.decimal);
  group(command
            .add_option_function<std::string>(
                "--missing", [&o](const std::string& name) { o.missing = ParseMissing(name); },
                "Rows with missing cells: drop, error, or impute inputs by their mean so far "
                "(default: drop)")
            ->check(CLI::IsMember({"drop", "error", "impute"})));
  group(command
            .add_option_function<std::vector<std::string>>(
                "--range",
                [&o](const std::vector<std::string>& texts) {
                  for (const auto& text : texts) o.ranges.push_back(ParseRange(text));
                },
                "COLUMN=LOW:HIGH, a range that is known beforehand; values outside are clipped")
            ->delimiter(','));
}

void AddSourceOptions(CLI::App& command, SourceOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Data"); };
  group(command
            .add_option("-d,--data", o.data,
                        "synthetic, a recipe (naval, uji, air, wec), or CSV files (each a client)")
            ->delimiter(',')
            ->capture_default_str());
  group(&AddDataDirOption(command, o.data_dir, "Folder with the recipes' files"));
  AddColumnOptions(command, o);
  group(command.add_option_function<std::string>(
      "--scaling", [&o](const std::string& name) { o.scaling = ParseScaling(name); },
      "norm (the paper's) or range (default: norm)"));
  group(command.add_option_function<std::string>(
      "--split", [&o](const std::string& name) { o.split = ParseSplit(name); },
      "How rows are split among clients: iid, runs and site shuffle them, column and order do not "
      "(default: "
      "the recipe's; order for files)"));
  group(command
            .add_option("--major-share", o.major_share,
                        "With --split site: share of a client's rows from its own site")
            ->check(AnyNumber())
            ->capture_default_str());
  group(command
            .add_option("-k,--clients", o.clients, "Clients (default: the recipe's, or what fits)")
            ->check(WholeNumber(1)));
  group(command.add_option("-s,--steps", o.steps, "Steps (default: the recipe's, or what fits)")
            ->check(WholeNumber(1)));
  group(command.add_option("--dimension", o.dimension, "Synthetic: inputs (default: 8)")
            ->check(WholeNumber(1)));
  group(
      command
          .add_option("--noise", o.noise, "Synthetic: deviation of the label noise (default: 0.05)")
          ->check(AnyNumber()));
  group(command
            .add_option("--drift", o.drift,
                        "Synthetic: how far the laws turn during the run, in radians (default: 0)")
            ->check(AnyNumber()));
}

namespace {

/// The help of an option: whose it is if few use it, what it means, and what it is if not given.
std::string HelpOf(const OptionDeclaration& option) {
  constexpr std::ptrdiff_t kFew = 3;
  std::string users(option.users);
  std::string text(option.help);
  if (!users.empty() && std::ranges::count(users, ' ') < kFew) {
    for (std::size_t at = 0; (at = users.find(' ', at)) != std::string::npos; ++at) {
      users.insert(at, ",");
      ++at;
    }
    text = users + ": " + text;
  }
  return text + (option.unset.empty() ? "" : " (default: " + std::string(option.unset) + ")");
}

std::string TypeOf(const OptionDeclaration& option) {
  const std::string choices = Joined(OptionChoices(option), "|");
  if (!choices.empty()) return "TEXT:{" + choices + "}";
  const bool whole =
      std::holds_alternative<std::size_t AlgorithmOptions::*>(option.field) ||
      std::holds_alternative<std::optional<std::size_t> AlgorithmOptions::*>(option.field);
  const bool text = std::holds_alternative<std::string AlgorithmOptions::*>(option.field);
  return (text    ? "TEXT"
          : whole ? "UINT"
                  : "FLOAT") +
         (option.zero.empty() ? "" : "|" + std::string(option.zero));
}

std::string SpellingsOf(const OptionDeclaration& option) {
  return (option.letter == 0 ? "" : "-" + std::string(1, option.letter) + ",") +
         ShellSpelling(option.key);
}

CLI::Option& Declare(const OptionDeclaration& option, CLI::Option* added) {
  return *added->default_str(OptionText(option, {}))->group("Algorithm");
}

/// False if the option is not a flag.
bool AddFlag(CLI::App& command, const OptionDeclaration& option,
             const std::function<void(const char*)>& set) {
  if (!std::holds_alternative<bool AlgorithmOptions::*>(option.field)) return false;
  command
      .add_flag_function(
          SpellingsOf(option), [set](std::int64_t times) { set(times > 0 ? "yes" : "no"); },
          HelpOf(option))
      ->group("Algorithm");
  return true;
}

}  // namespace

void AddAlgorithmOptions(CLI::App& command, GivenOptions& given) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string key(option.key);
    if (AddFlag(command, option, [&given, key](const char* text) { given[key] = text; })) continue;
    Declare(option,
            command.add_option_function<std::string>(
                SpellingsOf(option), [&given, key](const std::string& text) { given[key] = text; },
                HelpOf(option)))
        .check(CLI::Validator(
            [&option](const std::string& text) { return OptionComplaint(option, text); }, ""))
        ->type_name(TypeOf(option));
  }
}

void AddAlgorithmOptions(CLI::App& command, Sweep& sweep) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const auto set = [&sweep, &option](const std::string& text) { sweep.Set(option, text); };
    if (AddFlag(command, option, set)) continue;
    // In one word, in several, or with the option said again.
    const auto join = [set](const std::vector<std::string>& words) { set(Joined(words, ",")); };
    CLI::Option* added = IsNumber(option) ? command.add_option_function<std::vector<std::string>>(
                                                SpellingsOf(option), join, HelpOf(option))
                                          : command.add_option_function<std::string>(
                                                SpellingsOf(option), set, HelpOf(option));
    Declare(option, added)
        .check(CLI::Validator(
            [&option](const std::string& text) { return SweepComplaint(option, text); }, ""))
        ->type_name(TypeOf(option));
  }
}

void AddExperimentOptions(CLI::App& command, ExperimentOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Experiment"); };
  group(command.add_option("-r,--repetitions", o.repetitions, "Feature draws")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command
            .add_option_function<std::string>(
                "--weights", [&o](const std::string& name) { o.carry_weights = name == "carried"; },
                "Clients' weights at each repetition: reset, or carried over as in the paper's "
                "tables "
                "(default: reset)")
            ->check(CLI::IsMember({"reset", "carried"})));
  group(command
            .add_option("--participation", o.participation,
                        "Probability that a client takes part in a step")
            ->check(AnyNumber())
            ->capture_default_str());
  group(command
            .add_option("--coverage", o.coverage,
                        "Give each prediction an interval that covers this share of "
                        "the labels, such as 0.9 (default: no intervals)")
            ->check(AnyNumber()));
  AddSeedAndThreads(command, o);
  group(command
            .add_option("--rank-groups", o.rank_groups,
                        "Under mpirun: groups of ranks that divide "
                        "the repetitions; 0: the cheapest number")
            ->check(WholeNumber(0))
            ->capture_default_str());
}

void AddSeedAndThreads(CLI::App& command, ExperimentOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Experiment"); };
  group(command.add_option("--seed", o.seed, "Seed of everything random")
            ->check(WholeNumber(0))
            ->capture_default_str());
  group(command.add_option("-j,--threads", o.threads, "Threads of a process; 0: all cores")
            ->check(WholeNumber(0) & CLI::Range(0, 1024))
            ->capture_default_str());
}

void AddDeviceOption(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device,
                  "cpu, or gpu: an NVIDIA GPU, with the same bits; under mpirun one for each rank")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str()
      ->group("Experiment");
}

CLI::Option& AddDataDirOption(CLI::App& command, std::string& data_dir, const std::string& help) {
  return *command.add_option("--data-dir", data_dir, help)
              ->envname("POLYKERN_DATA")
              ->capture_default_str();
}

CLI::Option& AddFormatOption(CLI::App& command, std::string& format) {
  return *command.add_option("--format", format, "text or json, on standard output")
              ->check(CLI::IsMember({"text", "json"}))
              ->capture_default_str()
              ->group("Output");
}

}  // namespace polykern
