// The real federation: an agent beside a stream, and certificates.

#include "polykern/net/agent/agent.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "agent_samples.h"
#include "arrays.h"
#include "bindings.h"
#include "calls.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/samples/waiting_samples.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/pki/authority.h"

namespace polykern::python {
namespace {

using namespace py::literals;
using std::chrono::milliseconds;

class PythonAgent {
 public:
  using MustBeMade = void;

  PythonAgent(const std::string& server, const std::optional<std::string>& certificates,
              const std::optional<std::string>& name, const std::optional<std::string>& state,
              const std::optional<double>& coverage, bool masked, const py::object& pending)
      : waiting_(ReadCount(pending, "pending")) {
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
        waiting_.ForgetAll();
        waits_ = false;
      }
      return agent->WaitForStep(time) && !agent->status().superseded;
    });
  }
  bool WaitUntilCounted(double seconds) {
    const auto agent = Open();
    return Patiently(seconds, [&](milliseconds time) { return agent->WaitUntilCounted(time); });
  }

  /// With an id the sample waits for Learn with the same one, in any order; else the next Learn is
  /// its label's.
  py::tuple Predict(const py::object& x, const py::object& time,
                    const std::optional<std::string>& id) {
    const auto agent = Open();
    if (!samples_) {
      samples_ = Remotely([&] { return AgentSamples(agent->configuration(), agent->position()); });
    }
    if (id && samples_->ahead()) {
      throw py::value_error(
          "this federation predicts several steps ahead: labels come in order; leave out id");
    }
    const std::vector<double> own = samples_->Read(x);
    const Seconds when = samples_->ReadTime(time);
    const AgentPrediction made = Remotely([&] {
      const std::lock_guard lock(mutex_);
      const std::vector<float> scaled = samples_->Make(own, when);
      const AgentPrediction prediction = agent->Predict(scaled);
      const ToldPrediction told{prediction.value, prediction.interval, {}};
      waits_ = !id;
      if (id) {
        waiting_.Add(*id, scaled);
        waiting_.Tell(*id, told);
      } else {
        samples_->Said(scaled, told);
      }
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

  bool Learn(const py::object& label, const py::object& position,
             const std::optional<std::string>& id) {
    const double y = ReadNumber(label, "y");
    const std::uint64_t place = ReadCount(position, "position");
    const auto agent = Open();
    return Remotely([&] {
      const std::lock_guard lock(mutex_);
      if (id) return LearnLate(*agent, y, place, *id);
      if (!waits_) {
        throw Error(
            "learn before predict: every label belongs to a prediction, one with an id to "
            "that of the same id");
      }
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
    std::size_t waiting = 0;
    std::uint64_t forgotten = 0;
    const AgentStatus s = WithoutGil([&] {
      const std::lock_guard lock(mutex_);
      waiting = waiting_.size();
      forgotten = waiting_.forgotten();
      return agent->status();
    });
    return py::dict("ready"_a = s.ready, "learn_ranges"_a = s.learn_ranges,
                    "connected"_a = s.connected, "finished"_a = s.finished,
                    "superseded"_a = s.superseded, "step"_a = s.step, "client"_a = s.client,
                    "learnt"_a = s.learnt, "unlearnt"_a = s.unlearnt, "clipped"_a = s.clipped,
                    "rejected"_a = s.rejected, "not_learnt"_a = s.not_learnt, "waiting"_a = waiting,
                    "forgotten"_a = forgotten, "trouble"_a = Error(s.trouble).what(),
                    "failure"_a = TextOf(s.failure));
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
    std::optional<AgentPrediction> told;
    if (after.ahead()) {  // the label is an earlier sample's, which is predicted again to learn
      const auto& due = after.due();
      if (due) {
        agent.Predict(due->x);
        told = {due->told->value, 0, due->told->interval};
      }
    }
    const bool learnt = (!after.ahead() || told) && LearnAs(agent, y, place, after, told);
    samples_ = std::move(after);
    return learnt;
  }

  /// The same of a label that comes late: what can be learnt from is a prediction by the model of
  /// now, and intervals go by what was said.
  bool LearnLate(Agent& agent, double y, std::uint64_t place, const std::string& id) {
    const auto sample = waiting_.Take(id);
    if (!sample) throw Error("no sample " + Quoted(id) + " waits for a label");
    AgentSamples after = *samples_;
    after.Know(y);
    waits_ = false;  // the last prediction is this one's from here on
    try {
      agent.Predict(sample->x);
      const bool learnt = LearnAs(agent, y, place, after,
                                  AgentPrediction{sample->told->value, 0, sample->told->interval});
      samples_ = std::move(after);
      return learnt;
    } catch (const Error&) {
      waiting_.Add(id, sample->x);
      waiting_.Tell(id, *sample->told);
      throw;
    }
  }

  static bool LearnAs(Agent& agent, double y, std::uint64_t place, const AgentSamples& after,
                      const std::optional<AgentPrediction>& told) {
    InputPosition position = after.Keep();
    position.line = place;
    const Scale& scale = after.scale();
    return agent.Learn(scale.ScaleLabel(y), position, scale.ClipsLabel(y), told);
  }

  std::shared_ptr<Agent> agent_;  // shared with calls that are under way
  std::optional<AgentSamples> samples_;
  WaitingSamples waiting_;  // those with an id
  std::mutex mutex_;
  bool waits_ = false;  // the last prediction for its label
};

}  // namespace

void BindAgent(py::module_& module) {
  py::class_<PythonAgent>(module, "Agent")
      .def(py::init<const std::string&, const std::optional<std::string>&,
                    const std::optional<std::string>&, const std::optional<std::string>&,
                    const std::optional<double>&, bool, const py::object&>(),
           py::arg("server"), py::arg("certificates"), py::arg("name"), py::arg("state"),
           py::arg("coverage"), py::arg("masked"), py::arg("pending"))
      .def("wait_for_step", &PythonAgent::WaitForStep, py::arg("timeout"))
      .def("wait_until_counted", &PythonAgent::WaitUntilCounted, py::arg("timeout"))
      .def("predict", &PythonAgent::Predict, py::arg("x"), py::arg("time"), py::arg("id"))
      .def("learn", &PythonAgent::Learn, py::arg("y"), py::arg("position"), py::arg("id"))
      .def("tell_ranges", &PythonAgent::TellRanges, py::arg("x"), py::arg("y"), py::arg("timeout"))
      .def("configuration", &PythonAgent::Configuration)
      .def("status", &PythonAgent::Status)
      .def("position", &PythonAgent::Position)
      .def("close", &PythonAgent::Close);
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
