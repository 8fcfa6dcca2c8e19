// The real federation: a server inside this process.

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "calls.h"
#include "polykern/core/error.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/net/server/hosted_server.h"
#include "setting.h"

namespace polykern::python {
namespace {

using namespace py::literals;
using std::chrono::milliseconds;

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

void BindServer(py::module_& module) {
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
}

}  // namespace polykern::python
