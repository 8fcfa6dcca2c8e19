// The real federation: an agent beside a stream, a server inside this process, certificates.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>

#include <pybind11/stl.h>

#include "agent_samples.h"
#include "arrays.h"
#include "bindings.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/net/server/hosted_server.h"
#include "setting.h"

namespace polykern::python {
namespace {

using namespace py::literals;
using std::chrono::milliseconds;

/// What goes wrong on the way is no wrong argument: RuntimeError.
template <typename Job>
auto Remotely(const Job& job) {
  try {
    return WithoutGil(job);
  } catch (const Error& error) {
    throw std::runtime_error(error.what());
  }
}

std::string TextOf(const std::optional<Error>& failure) {
  return failure ? failure->what() : "";
}

/// Waits for `holds(time)` in short turns, so that Ctrl-C is heard; seconds may be infinite.
template <typename Wait>
bool Patiently(double seconds, const Wait& holds) {
  if (std::isnan(seconds) || seconds < 0) throw py::value_error("a time to wait must be 0 or more");
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
    const double left = seconds - gone.count();
    const milliseconds turn(static_cast<std::int64_t>(1000 * std::clamp(left, 0.0, 0.1)));
    if (Remotely([&] { return holds(turn); })) return true;
    if (left <= 0) return false;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

class PythonAgent {
 public:
  using MustBeMade = void;

  PythonAgent(const std::string& server, const std::optional<std::string>& certificates,
              const std::optional<std::string>& name, const std::optional<std::string>& state,
              const std::optional<double>& coverage, bool masked) {
    AgentOptions options;
    options.masked = masked;
    options.coverage = coverage;
    options.link.server = server;
    options.link.certificates = certificates.value_or("");
    options.link.insecure = !certificates;
    options.link.name = name.value_or("");
    options.state = state.value_or("");
    agent_ = WithoutGil([&] { return std::make_shared<Agent>(options); });
  }
  ~PythonAgent() { Close(); }

  bool WaitForStep(double seconds) {
    const auto agent = Open();
    return Patiently(seconds, [&](milliseconds time) {
      if (agent->status().superseded) {
        const std::lock_guard lock(mutex_);
        agent->Move();
        samples_.reset();  // it is another federation's from here on
        waits_ = false;
      }
      return agent->WaitForStep(time) && !agent->status().superseded;
    });
  }
  bool WaitUntilCounted(double seconds) {
    const auto agent = Open();
    return Patiently(seconds, [&](milliseconds time) { return agent->WaitUntilCounted(time); });
  }

  py::tuple Predict(const py::object& x, const py::object& time) {
    const auto agent = Open();
    if (!samples_) {
      samples_ = Remotely([&] { return AgentSamples(agent->configuration(), agent->position()); });
    }
    const std::vector<double> own = samples_->Read(x);
    const Seconds when = samples_->ReadTime(time);
    const AgentPrediction made = Remotely([&] {
      const std::lock_guard lock(mutex_);
      const std::vector<float> scaled = samples_->Make(own, when);
      const AgentPrediction prediction = agent->Predict(scaled);
      samples_->Said(scaled, {prediction.value, prediction.interval, {}});
      waits_ = true;
      return prediction;
    });
    const Scale& scale = samples_->scale();
    py::object interval = py::none();
    if (made.interval) {
      interval =
          py::make_tuple(scale.ToldLabel(made.interval->low), scale.ToldLabel(made.interval->high));
    }
    return py::make_tuple(scale.ToldLabel(made.value), made.step, interval);
  }

  bool Learn(const py::object& label, const py::object& position) {
    const double y = ReadNumber(label, "y");
    const std::uint64_t place = ReadCount(position, "position");
    const auto agent = Open();
    return Remotely([&] {
      const std::lock_guard lock(mutex_);
      if (!waits_) throw Error("learn before predict: every label belongs to a prediction");
      const bool learnt = LearnLabel(*agent, y, place);
      waits_ = false;
      return learnt;
    });
  }

  /// False: the ranges are known. Of the rows only the least and greatest values leave this
  /// process.
  bool TellRanges(const py::object& x, const py::object& y, double seconds) {
    const auto agent = Open();
    const auto met = [&] { return agent->status().ready || agent->learning_ranges(); };
    if (!Patiently(seconds, [&](milliseconds time) {
          if (!met()) agent->WaitForStep(time);
          return met();
        })) {
      throw std::runtime_error("no server has been met yet");
    }
    const auto learning = WithoutGil([&] { return agent->learning_ranges(); });
    if (!learning) return false;
    const auto dimension = static_cast<py::ssize_t>(learning->own_inputs());
    const py::array rows = Numbers(x, "x");
    CheckShape(rows, "x", {-1, dimension}, "(samples, " + std::to_string(dimension) + ")");
    CheckFinite(rows, "x", true);
    const py::array labels = Numbers(y, "y");
    CheckShape(labels, "y", {rows.shape(0)}, "(samples,): a label for each of x");
    CheckFinite(labels, "y", true);
    if (rows.shape(0) == 0) throw py::value_error("x has no samples");
    ClientRanges ranges;
    const auto add = [&](const py::object& column) {
      ranges.least.push_back(column.attr("min")().cast<double>());
      ranges.greatest.push_back(column.attr("max")().cast<double>());
    };
    for (py::ssize_t i = 0; i < dimension; ++i) {
      add(rows[py::make_tuple(py::ellipsis(), i)]);
    }
    add(labels);
    WithoutGil([&] { agent->TellRanges(ranges); });
    return true;
  }

  py::dict Configuration() {
    const auto agent = Open();
    const FederationConfiguration federation = Remotely([&] { return agent->configuration(); });
    ConfigurationTexts texts = ToTexts(federation);
    for (const OptionDeclaration& option : kAlgorithmOptions) {  // those with absent values, too
      if (UsesOption(federation.algorithm, option)) {
        texts.emplace(option.key, OptionText(option, federation.options));
      }
    }
    return py::cast(texts);
  }

  py::dict Status() {
    const auto agent = Open();
    const AgentStatus s = WithoutGil([&] { return agent->status(); });
    return py::dict("ready"_a = s.ready, "learn_ranges"_a = s.learn_ranges,
                    "connected"_a = s.connected, "finished"_a = s.finished,
                    "superseded"_a = s.superseded, "step"_a = s.step, "client"_a = s.client,
                    "learnt"_a = s.learnt, "unlearnt"_a = s.unlearnt, "clipped"_a = s.clipped,
                    "rejected"_a = s.rejected, "not_learnt"_a = s.not_learnt,
                    "trouble"_a = s.trouble, "failure"_a = TextOf(s.failure));
  }

  std::uint64_t Position() {
    const auto agent = Open();
    return WithoutGil([&] { return agent->position().line; });
  }

  void Close() {
    auto agent = std::move(agent_);  // calls of other threads end before it does
    agent_ = nullptr;
    WithoutGil([&] { agent.reset(); });
  }

 private:
  std::shared_ptr<Agent> Open() const {
    if (!agent_) throw std::runtime_error("this agent is closed");
    return agent_;
  }

  /// If this fails nothing has changed, and it may be called again.
  bool LearnLabel(Agent& agent, double y, std::uint64_t place) {
    AgentSamples after = *samples_;
    after.Know(y);
    InputPosition position = after.Keep();
    position.line = place;
    std::optional<AgentPrediction> told;
    if (after.ahead()) {  // the label is an earlier sample's, which is predicted again to learn
      const auto& due = after.due();
      if (due) {
        agent.Predict(due->x);
        told = {due->told->value, 0, due->told->interval};
      }
    }
    const Scale& scale = samples_->scale();
    const bool learnt = (!after.ahead() || told) &&
                        agent.Learn(scale.ScaleLabel(y), position, scale.ClipsLabel(y), told);
    samples_ = std::move(after);
    return learnt;
  }

  std::shared_ptr<Agent> agent_;  // shared with calls that are under way
  std::optional<AgentSamples> samples_;
  std::mutex mutex_;
  bool waits_ = false;  // a prediction for its label
};

/// What agents make of their samples; None: not said.
void DeclareInputs(const py::dict& inputs, DeclaredFederation& declared) {
  for (const auto& [key, value] : inputs) {
    const Setting setting{key.cast<std::string>(), value};
    if (value.is_none()) continue;
    if (setting.name == "time") declared.time = setting.Text();
    if (setting.name == "lags") declared.lags = setting.Counts();
    if (setting.name == "calendar") declared.calendar = setting.Texts();
    if (setting.name == "ahead") declared.ahead = setting.Count();
    if (setting.name == "missing") declared.missing = setting.Text();
    if (setting.name == "from_store") declared.from = setting.Text();
    if (setting.name == "categories") declared.categories = setting.Texts();
  }
}

class PythonServer {
 public:
  using MustBeMade = void;

  PythonServer(const std::optional<std::string>& algorithm, const py::object& dimension,
               const std::vector<std::string>& columns,
               const std::vector<std::tuple<std::string, double, double>>& ranges,
               const std::optional<std::string>& target,
               const std::optional<std::tuple<double, double>>& target_range, bool plain_labels,
               const py::object& learn_ranges, const std::string& store, const std::string& listen,
               const std::optional<std::string>& certificates,
               const std::vector<std::string>& clients, const py::object& quorum, double deadline,
               const py::object& steps, const py::object& horizon, const py::object& seed,
               const py::dict& inputs, const py::dict& settings, const std::string& helper) {
    DeclaredFederation declared;
    declared.algorithm = algorithm;
    declared.options = OptionTexts(settings);
    DeclareInputs(inputs, declared);
    HostedServerOptions options;
    options.store = store;
    options.helper = helper;
    options.rounds.roster = clients;
    options.rounds.steps = ReadCount(steps, "steps");
    if (!(deadline >= 0 && deadline <= 1e6)) {
      throw py::value_error("deadline must lie between 0 and 1e6 seconds");
    }
    options.rounds.deadline = milliseconds(static_cast<std::int64_t>(1000 * deadline));
    options.rounds.quorum = ReadQuorum(quorum);
    options.rounds.least_clients = LeastClientsOfStep(declared);
    if (!seed.is_none()) declared.seed = ReadCount(seed, "seed");
    if (!horizon.is_none()) declared.horizon = ReadCount(horizon, "horizon", 1);
    if (!dimension.is_none()) declared.dimension = ReadCount(dimension, "dimension", 1);
    declared.columns = columns;
    for (const auto& [name, low, high] : ranges) declared.ranges.push_back({name, low, high});
    if (!learn_ranges.is_none()) {
      declared.learn_ranges = ReadCount(learn_ranges, "learn_ranges", 1);
    }
    declared.target = target;
    if (target_range)
      declared.target_range = {"", std::get<0>(*target_range), std::get<1>(*target_range)};
    declared.plain_labels = plain_labels;
    options.server.listen = listen;
    options.server.insecure = !certificates;
    options.server.certificates = certificates.value_or("");
    options.federation =
        WithoutGil([&] { return CompleteForStore(declared, store, options.rounds.steps); });
    for (const std::string& key : OptionsWithoutEffect(declared, options.federation.algorithm)) {
      const std::string text = key + " has no effect with " + options.federation.algorithm;
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw py::error_already_set();
    }
    server_ = WithoutGil([&] { return std::make_shared<HostedServer>(options); });
  }
  ~PythonServer() { Close(); }

  std::string Address() const { return Open()->address(); }

  py::dict Status() {
    const auto server = Open();
    const ServerView view = WithoutGil([&] { return server->View(); });
    const RoundsStatus& s = view.rounds;
    return py::dict("step"_a = s.step, "finished"_a = s.finished,
                    "learns_ranges"_a = s.learns_ranges, "enrolled"_a = s.enrolled,
                    "connected"_a = s.connected, "answered"_a = s.answered,
                    "accepted"_a = s.accepted, "late"_a = s.late, "duplicates"_a = s.duplicates,
                    "rejected"_a = s.rejected, "clipped"_a = s.clipped, "releases"_a = s.releases,
                    "discarded"_a = s.discarded, "noise"_a = NoiseOf(view.opener),
                    "trouble"_a = view.trouble, "failure"_a = TextOf(s.failure));
  }

  void Close() {
    auto server = std::move(server_);
    server_ = nullptr;
    WithoutGil([&] { server.reset(); });
  }

 private:
  static py::object NoiseOf(const OpenerStatus& opener) {
    if (!opener.noise) return py::none();
    const auto& noise = *opener.noise;
    return py::dict("epsilon"_a = noise.epsilon, "delta"_a = noise.delta,
                    "epsilon_spent"_a = noise.spent, "releases"_a = noise.releases,
                    "releases_left"_a = noise.releases_left);
  }

  static Quorum ReadQuorum(const py::object& given) {
    Quorum quorum;
    if (given.is_none()) return Quorum::All();
    if (py::isinstance<py::str>(given)) return ParseQuorum(given.cast<std::string>());
    if (py::isinstance<py::float_>(given)) {
      quorum.share = given.cast<double>();
      if (!(quorum.share > 0 && quorum.share <= 1)) {
        throw py::value_error("a quorum that is a share must lie in (0, 1]");
      }
    } else {
      quorum.count = ReadCount(given, "quorum", 1);
    }
    return quorum;
  }

  std::shared_ptr<HostedServer> Open() const {
    if (!server_) throw std::runtime_error("this server is closed");
    return server_;
  }

  std::shared_ptr<HostedServer> server_;  // shared with calls that are under way
};

}  // namespace

void BindNetwork(py::module_& module) {
  py::class_<PythonAgent>(module, "Agent")
      .def(py::init<const std::string&, const std::optional<std::string>&,
                    const std::optional<std::string>&, const std::optional<std::string>&,
                    const std::optional<double>&, bool>(),
           py::arg("server"), py::arg("certificates"), py::arg("name"), py::arg("state"),
           py::arg("coverage"), py::arg("masked"))
      .def("wait_for_step", &PythonAgent::WaitForStep, py::arg("timeout"))
      .def("wait_until_counted", &PythonAgent::WaitUntilCounted, py::arg("timeout"))
      .def("predict", &PythonAgent::Predict, py::arg("x"), py::arg("time"))
      .def("learn", &PythonAgent::Learn, py::arg("y"), py::arg("position"))
      .def("tell_ranges", &PythonAgent::TellRanges, py::arg("x"), py::arg("y"), py::arg("timeout"))
      .def("configuration", &PythonAgent::Configuration)
      .def("status", &PythonAgent::Status)
      .def("position", &PythonAgent::Position)
      .def("close", &PythonAgent::Close);
  py::class_<PythonServer>(module, "Server")
      .def(
          py::init<
              const std::optional<std::string>&, const py::object&, const std::vector<std::string>&,
              const std::vector<std::tuple<std::string, double, double>>&,
              const std::optional<std::string>&, const std::optional<std::tuple<double, double>>&,
              bool, const py::object&, const std::string&, const std::string&,
              const std::optional<std::string>&, const std::vector<std::string>&, const py::object&,
              double, const py::object&, const py::object&, const py::object&, const py::dict&,
              const py::dict&, const std::string&>(),
          py::arg("algorithm"), py::arg("dimension"), py::arg("columns"), py::arg("ranges"),
          py::arg("target"), py::arg("target_range"), py::arg("plain_labels"),
          py::arg("learn_ranges"), py::arg("store"), py::arg("listen"), py::arg("certificates"),
          py::arg("clients"), py::arg("quorum"), py::arg("deadline"), py::arg("steps"),
          py::arg("horizon"), py::arg("seed"), py::arg("inputs"), py::arg("settings"),
          py::arg("helper"))
      .def("address", &PythonServer::Address)
      .def("status", &PythonServer::Status)
      .def("close", &PythonServer::Close);
  module.def(
      "init_authority",
      [](const std::string& folder, const std::vector<std::string>& hosts) {
        InitOptions options;
        options.hosts = hosts;
        WithoutGil([&] { InitAuthority(folder, options); });
      },
      py::arg("folder"), py::arg("hosts") = std::vector<std::string>());
  module.def(
      "issue_certificate",
      [](const std::string& folder, const std::string& name) {
        WithoutGil([&] { IssueClient(folder, name, {}); });
        return AuthorityPaths(folder).clients + "/" + name;
      },
      py::arg("folder"), py::arg("name"));
}

}  // namespace polykern::python
