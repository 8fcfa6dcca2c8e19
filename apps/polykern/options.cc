#include "options.h"

#include <algorithm>
#include <charconv>

#include "polykern/core/error.h"
#include "polykern/net/address.h"

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
    throw Error("--range '" + text + "' is not of the form COLUMN=LOW:HIGH");
  }
}

CLI::Validator WholeNumber(std::size_t least) {
  const auto check = [least](const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value >= least;
    return good ? std::string()
                : "'" + text + "' is not a whole number of at least " + std::to_string(least);
  };
  return {check, ""};
}

void AddSourceOptions(CLI::App& command, SourceOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Data"); };
  group(command
            .add_option("-d,--data", o.data,
                        "synthetic, a recipe (naval, uji, air, wec), or CSV files (each a site)")
            ->delimiter(',')
            ->capture_default_str());
  group(&AddDataDirOption(command, o.data_dir, "Folder with the recipes' files"));
  group(command.add_option("-t,--target", o.target, "CSV: the column to predict"));
  group(command.add_option("--site", o.site, "CSV: the column that groups rows into sites"));
  group(command.add_option("--client", o.client, "CSV: the column that names the client"));
  group(
      command.add_option("--inputs", o.features, "CSV: input columns (default: all other numbers)")
          ->delimiter(','));
  group(command.add_option("--exclude", o.exclude, "CSV: columns that are no inputs")
            ->delimiter(','));
  group(command.add_option("--categorical", o.categorical, "CSV: text columns to use as inputs")
            ->delimiter(','));
  group(command
            .add_option_function<std::string>(
                "--missing",
                [&o](const std::string& name) {
                  o.missing = name == "error" ? MissingPolicy::kError : MissingPolicy::kDrop;
                },
                "Rows with missing cells: drop or error (default: drop)")
            ->check(CLI::IsMember({"drop", "error"})));
  group(command.add_option_function<std::string>(
      "--scaling", [&o](const std::string& name) { o.scaling = ParseScaling(name); },
      "norm (the paper's) or range (default: norm)"));
  group(command
            .add_option_function<std::vector<std::string>>(
                "--range",
                [&o](const std::vector<std::string>& texts) {
                  for (const auto& text : texts) o.ranges.push_back(ParseRange(text));
                },
                "COLUMN=LOW:HIGH, a range known beforehand; values outside are clipped")
            ->delimiter(','));
  group(command.add_option_function<std::string>(
      "--split", [&o](const std::string& name) { o.split = ParseSplit(name); },
      "How rows go to clients: iid, runs, site or column (default: by what the data offer)"));
  group(command
            .add_option("--major-share", o.major_share,
                        "Split by site: share of a client's rows from its own site")
            ->capture_default_str());
  group(command
            .add_option("-k,--clients", o.clients, "Clients (default: the recipe's, or what fits)")
            ->check(WholeNumber(1)));
  group(command.add_option("-s,--steps", o.steps, "Steps (default: the recipe's, or what fits)")
            ->check(WholeNumber(1)));
  group(command.add_option("--dimension", o.dimension, "Synthetic: inputs (default: 8)")
            ->check(WholeNumber(1)));
  group(command.add_option("--noise", o.noise,
                           "Synthetic: deviation of the label noise (default: 0.05)"));
  group(command.add_option("--drift", o.drift,
                           "Synthetic: radians the laws turn over the run (default: 0)"));
}

namespace {

void AddNewtonOptions(CLI::App& command, AlgorithmOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("pof-newton and local-rls"); };
  group(command
            .add_option_function<std::vector<std::string>>(
                "--experts",
                [&o](const std::vector<std::string>& names) {
                  o.local_experts = std::ranges::find(names, "local") != names.end();
                  if (std::ranges::find(names, "federated") == names.end()) {
                    throw Error(
                        "--experts leaves out federated: for local experts alone choose "
                        "--algorithm local-rls");
                  }
                },
                "federated, or federated,local: private experts beside the federated kernels "
                "(default: federated,local)")
            ->delimiter(',')
            ->check(CLI::IsMember({"federated", "local"})));
  group(command.add_option_function<std::string>(
      "--weighting", [&o](const std::string& name) { o.weighting = ParseWeighting(name); },
      "How clients weigh experts: adahedge, hedge or aggregating (default: adahedge)"));
  group(command.add_option("--ridge", o.ridge, "Ridge of the regressions")->capture_default_str());
  group(command
            .add_option("--forgetting", o.forgetting,
                        "What a step leaves of the samples before it, in (0, 1]")
            ->capture_default_str());
  group(command
            .add_option("--refresh", o.refresh,
                        "Share of new samples that makes the server solve a kernel again")
            ->capture_default_str());
  group(command
            .add_option("--server-memory", o.server_memory,
                        "MiB, most that the server's regressions may take")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command.add_option("--local-kernels", o.local_kernels, "Private experts of a client")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command
            .add_option("--local-memory", o.local_memory,
                        "KiB, most that a client's private experts may take (default: 128; "
                        "local-rls: 512)")
            ->check(WholeNumber(1)));
}

}  // namespace

void AddAlgorithmOptions(CLI::App& command, AlgorithmOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Algorithm"); };
  std::string names;
  for (const auto name : DictionaryNames())
    names += (names.empty() ? "" : ", ") + std::string(name);
  group(
      command.add_option("--dictionary", o.dictionary, "Kernels: " + names)->capture_default_str());
  group(command.add_option("-N,--kernels", o.kernels, "N, kernels in the dictionary")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command
            .add_option("-D,--features", o.features,
                        "D, features per kernel (default: what the budget allows, at most 100)")
            ->check(WholeNumber(1)));
  group(command.add_option("-b,--budget", o.budget, "Most numbers a client may send per step")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command.add_flag("--orthogonal", o.orthogonal, "Orthogonal features"));
  group(command.add_flag("--shared-draws", o.shared_draws,
                         "Gaussian kernels share one draw of features: faster, less accurate"));
  group(command.add_option("-x,--exploration", o.exploration,
                           "xi, in (0, 1] (default: 1; pof-newton: 0.2)"));
  group(command.add_option("--learning-rate", o.learning_rate,
                           "eta (default: 1/sqrt(steps); pof-adagrad: c, 1)"));
  group(command.add_option("--weight-rate", o.weight_rate,
                           "eta_k (default: 1/sqrt(steps); pof-newton, local-rls: 1/2)"));
  group(command
            .add_option_function<std::string>(
                "--schedule",
                [&o](const std::string& name) {
                  o.schedule = name == "anytime" ? Schedule::kAnytime : Schedule::kConstant;
                },
                "pof-mkl: constant rates, or anytime: c/sqrt(step), c the rate given, or 1 "
                "(default: constant)")
            ->check(CLI::IsMember({"constant", "anytime"})));
  group(command.add_option("--regularization", o.regularization, "lambda")->capture_default_str());
  group(command.add_option_function<std::string>(
      "--loss", [&o](const std::string& name) { o.loss.kind = ParseLoss(name); },
      "squared, huber or logistic (default: squared)"));
  group(command.add_option("--huber-delta", o.loss.delta, "Huber: where the loss becomes linear")
            ->capture_default_str());
  group(command.add_option("--single-bandwidth", o.single_bandwidth, "ofskl: sigma of its kernel")
            ->capture_default_str());
  group(command.add_flag("--hessian-free", o.hessian_free,
                         "perfedavg: second order, by differences of gradients"));
  group(
      command.add_option("--inner-rate", o.inner_rate, "perfedavg: alpha, of a client's own step")
          ->capture_default_str());
  group(command.add_option("--meta-rate", o.meta_rate, "perfedavg: beta, of the server's step")
            ->capture_default_str());
  group(command
            .add_option("--projection-radius", o.projection_radius,
                        "fomd-oms: U, the largest norm of a kernel's parameters")
            ->capture_default_str());
  AddNewtonOptions(command, o);
}

void AddExperimentOptions(CLI::App& command, ExperimentOptions& o) {
  const auto group = [](CLI::Option* option) { option->group("Experiment"); };
  group(command.add_option("-r,--repetitions", o.repetitions, "Feature draws")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group(command
            .add_option_function<std::string>(
                "--weights", [&o](const std::string& name) { o.carry_weights = name == "carried"; },
                "Clients' weights at each repetition: reset, or carried as in the paper's tables "
                "(default: reset)")
            ->check(CLI::IsMember({"reset", "carried"})));
  group(command
            .add_option("--participation", o.participation,
                        "Probability that a client takes part in a step")
            ->capture_default_str());
  AddSeedAndThreads(command, o);
  group(command
            .add_option(
                "--rank-groups", o.rank_groups,
                "Under mpirun: groups of ranks that share out the repetitions; 0: whatever is "
                "cheapest")
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

CLI::Option& AddCountList(CLI::App& command, const std::string& names,
                          std::vector<std::size_t>& values, const std::string& help) {
  return *command.add_option(names, values, help)->delimiter(',')->check(WholeNumber(1));
}

void AddConfigOption(CLI::App& command) {
  command.add_option(
      "--config",
      "TOML file with options, at the top or in the command's table; the command line wins");
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

CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help) {
  return *command.add_option("--server", server, help)->transform([](const std::string& given) {
    return WithPort(given);
  });
}

CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds) {
  return *command
              .add_option("--keepalive", seconds,
                          "Seconds of silence after which the other side is asked whether it is "
                          "there; as many more, and the connection is given up")
              ->check(CLI::Range(1.0, 1e6))
              ->capture_default_str();
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

}  // namespace polykern
