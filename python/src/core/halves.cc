// The two halves of a federation, one step at a time: a client and a server.

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "messages.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/server_weights.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/kernels.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/sample_buffer.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern::python {
namespace {

struct Prediction {
  using MustBeMade = void;
  double value = 0;
  std::vector<float> per_kernel;
};

const Learner& LearnerOf(const py::object& algorithm) {
  if (!py::isinstance<Learner>(algorithm)) throw py::type_error("algorithm must be an Algorithm");
  return algorithm.cast<const Learner&>();
}

/// Can a client of this shape answer a turn?
bool AsksForSumsOf(const ModelShape& shape, const std::vector<std::uint32_t>& turn) {
  for (std::size_t i = 0; i < turn.size(); ++i) {
    if (turn[i] >= shape.sums.size() || (i > 0 && turn[i] <= turn[i - 1])) return false;
  }
  return true;
}

[[noreturn]] void WrongOrder(const std::string& what) {
  PyErr_SetString(PyExc_RuntimeError, what.c_str());
  throw py::error_already_set();
}

/// One client: private state, the newest model, and the prediction that waits for its label.
class ClientHalf {
 public:
  using MustBeMade = void;

  ClientHalf(py::object algorithm, const py::object& id)
      : owner_(std::move(algorithm)),
        algorithm_(LearnerOf(owner_).algorithm),
        id_(CheckedId(id)),
        clients_(*algorithm_, id_, 1),
        buffer_(LearnerOf(owner_).problem.dimension, algorithm_->kept_samples()),
        round_(*algorithm_) {
    round_.ReadFrom(buffer_);
  }
  ClientHalf(const ClientHalf&) = delete;
  ClientHalf& operator=(const ClientHalf&) = delete;

  void Receive(const ModelMessage& message) {
    const ModelShape& shape = algorithm_->shape();
    const Broadcast& model = *message.broadcast;
    if (model.model.size() != shape.model_size() || message.width != shape.width ||
        model.weights.size() != WeightsOf(shape) || !AsksForSumsOf(shape, model.turn)) {
      throw py::value_error(
          "the broadcast has theta of the shape (" + std::to_string(message.blocks()) + ", " +
          std::to_string(message.width) + "), but it must be (" + std::to_string(shape.blocks) +
          ", " + std::to_string(shape.width) + "): it is from another algorithm");
    }
    newest_ = message.broadcast;
  }

  Prediction Predict(const py::object& x) {
    if (!newest_) WrongOrder("predict before receive: call receive(server.broadcast()) first");
    if (broken_) WrongOrder("this client has diverged: its losses are not finite any more");
    ReadSample(x, "x", LearnerOf(owner_).problem.dimension, x_);
    playing_ = newest_;
    Evaluate({});
    const double f = round_.predictions()[0];
    if (!std::isfinite(f)) {
      playing_ = nullptr;
      WrongOrder("the prediction is not finite: the federation has diverged");
    }
    const auto kernels = round_.KernelPredictions(0);
    return {algorithm_->loss().Predicted(f), {kernels.begin(), kernels.end()}};
  }

  UpdateMessage Learn(const py::object& label, const py::object& uniform) {
    const double y = ReadNumber(label, "y");
    if (algorithm_->loss().kind == LossKind::kLogistic && !(y >= 0 && y <= 1)) {
      throw py::value_error("y is " + std::to_string(y) + "; with logistic loss it lies in [0, 1]");
    }
    std::vector<double> draw;
    if (!uniform.is_none()) draw.push_back(ReadNumber(uniform, "uniform"));
    if (!draw.empty() && !(draw[0] >= 0 && draw[0] < 1)) {
      throw py::value_error("uniform is " + std::to_string(draw[0]) + "; it must lie in [0, 1)");
    }
    if (!playing_) WrongOrder("learn before predict: every label belongs to a prediction");
    if (!draw.empty()) Evaluate(draw);  // the draw comes before the features that are kept
    buffer_.Add(x_, y);
    const Updates& updates = round_.Learn(std::array{y});
    buffer_.Trim();
    playing_ = nullptr;
    ++learnt_;
    next_step_ = updates.step + 1;
    const auto lasting = clients_.State(0).first(algorithm_->lasting_state());
    broken_ = !std::ranges::all_of(lasting, [](double value) { return std::isfinite(value); });
    return {std::make_shared<const Updates>(updates), algorithm_->shape().width};
  }

  py::object Weights() {
    std::vector<double> weights(algorithm_->experts());
    const std::uint64_t step = std::max(newest_ ? newest_->step : 0, next_step_);
    const py::ssize_t experts = Size(weights.size());
    if (experts > 0 && algorithm_->Weights(clients_.State(0), step, weights)) {
      return Taken<double>({experts}, std::move(weights));
    }
    if (!newest_ || newest_->weights.empty()) return py::none();
    return View<double>({Size(newest_->weights.size())}, newest_->weights.data(), newest_);
  }

  py::tuple Save() const {
    const std::vector<double>& state = clients_.Save();
    py::object model = py::none();
    if (newest_) model = py::cast(ModelMessage{newest_, algorithm_->shape().width});
    const LearntSamples samples = buffer_.Save();
    return py::make_tuple(owner_, id_, Taken<double>({Size(state.size())}, state), learnt_,
                          next_step_, model, buffer_.first(),
                          Taken<float>({Size(samples.x.size())}, samples.x),
                          Taken<double>({Size(samples.y.size())}, samples.y));
  }
  static std::unique_ptr<ClientHalf> Load(const py::tuple& saved) {
    auto client = std::make_unique<ClientHalf>(saved[0], saved[1]);
    const auto state = saved[2].cast<py::array_t<double, py::array::c_style>>();
    client->clients_.Load({state.data(), static_cast<std::size_t>(state.size())});
    client->learnt_ = saved[3].cast<std::uint64_t>();
    client->next_step_ = saved[4].cast<std::uint64_t>();
    if (!saved[5].is_none()) client->Receive(saved[5].cast<const ModelMessage&>());
    if (saved.size() > 6) {  // older ones have no samples
      const auto x = saved[7].cast<py::array_t<float, py::array::c_style>>();
      const auto y = saved[8].cast<py::array_t<double, py::array::c_style>>();
      client->buffer_.Load(saved[6].cast<std::uint64_t>(),
                           {{x.data(), x.data() + x.size()}, {y.data(), y.data() + y.size()}});
    }
    return client;
  }

  std::uint64_t id() const { return id_; }
  std::uint64_t learnt() const { return learnt_; }

 private:
  static std::uint64_t CheckedId(const py::object& object) {
    const std::uint64_t id = ReadCount(object, "id");
    if (id >= ExactSum::kMaxTerms) {
      throw py::value_error("id is " + std::to_string(id) + "; it must be below " +
                            std::to_string(ExactSum::kMaxTerms));
    }
    return id;
  }

  void Evaluate(const std::vector<double>& draw) {
    round_.Predict(*playing_, clients_, 0, x_, std::array<std::uint8_t, 1>{1}, draw);
  }

  py::object owner_;
  std::shared_ptr<const Algorithm> algorithm_;
  std::uint64_t id_;
  Clients clients_;
  SampleBuffer buffer_;  // of algorithms that keep samples; it stays empty with others
  ClientRound round_;
  std::shared_ptr<const Broadcast> newest_;
  std::shared_ptr<const Broadcast> playing_;  // of the prediction that waits for its label
  std::vector<float> x_;
  std::uint64_t learnt_ = 0;
  std::uint64_t next_step_ = 0;  // the first that was not learnt in
  bool broken_ = false;
};

/// The server: aggregate ends a step. Other threads may run while it does.
class ServerHalf {
 public:
  using MustBeMade = void;

  ServerHalf(py::object algorithm, const py::object& clients)
      : owner_(std::move(algorithm)),
        algorithm_(Expecting(LearnerOf(owner_), ReadCount(clients, "clients"))),
        coordinator_(*algorithm_, 0) {
    if (const NoiseTerms terms = NoiseTermsOf(*algorithm_, 1); terms.noisy()) {
      noise_.emplace(terms);
      coordinator_.LetCallerOpen();
    }
    Publish();
  }

  ModelMessage broadcast() {
    return WithoutGil([this] {
      const std::lock_guard lock(mutex_);
      return ModelMessage{broadcast_, algorithm_->shape().width};
    });
  }

  void Aggregate(const py::iterable& given) {
    Updates all;
    all.Clear();
    std::uint64_t clients = 0;
    std::optional<std::uint64_t> step;
    for (const py::handle& each : given) {
      if (!py::isinstance<UpdateMessage>(each)) {
        throw py::type_error("aggregate takes updates, as client.learn gives them, not " +
                             std::string(py::str(py::type::handle_of(each).attr("__name__"))));
      }
      const auto& message = each.cast<const UpdateMessage&>();
      const Updates& one = *message.updates;
      if (message.width != algorithm_->shape().width) {
        throw py::value_error("an update has steps of the shape (" +
                              std::to_string(one.blocks.size()) + ", " +
                              std::to_string(message.width) + "), but it must be (M, " +
                              std::to_string(algorithm_->shape().width) + ")");
      }
      if (step && *step != one.step) {
        throw py::value_error("the updates answer different steps, " + std::to_string(*step) +
                              " and " + std::to_string(one.step));
      }
      step = one.step;
      clients = std::max(clients, one.clients[0] + 1);
      Append(one, all);
    }
    WithoutGil([&] {
      const std::lock_guard lock(mutex_);
      all.step = step.value_or(coordinator_.broadcast().step);
      if (clients > coordinator_.clients()) {
        coordinator_.AddClients(clients - coordinator_.clients());
      }
      coordinator_.Receive(all);
      coordinator_.Commit();
      OpenNoisy();
      Publish();
    });
  }

  py::object EpsilonSpent() {
    if (!noise_) return py::none();
    return py::float_(WithoutGil([this] {
      const std::lock_guard lock(mutex_);
      return noise_->EpsilonSpent();
    }));
  }

  py::tuple Save() {
    std::uint64_t step = 0;
    std::vector<double> noise;
    std::vector<double> state = WithoutGil([&] {
      const std::lock_guard lock(mutex_);
      step = coordinator_.broadcast().step;
      if (noise_) noise = noise_->Save();
      return coordinator_.Save();
    });
    const auto size = Size(state.size());
    const auto noise_size = Size(noise.size());
    return py::make_tuple(owner_, step, Taken<double>({size}, std::move(state)),
                          Taken<double>({noise_size}, std::move(noise)));
  }
  static std::unique_ptr<ServerHalf> Load(const py::tuple& saved) {
    auto server = std::make_unique<ServerHalf>(saved[0], py::int_(0));
    const auto state = saved[2].cast<py::array_t<double, py::array::c_style>>();
    server->coordinator_.Load(saved[1].cast<std::uint64_t>(),
                              {state.data(), static_cast<std::size_t>(state.size())});
    if (server->noise_ && saved.size() > 3) {
      const auto noise = saved[3].cast<py::array_t<double, py::array::c_style>>();
      server->noise_->Load({noise.data(), static_cast<std::size_t>(noise.size())});
    }
    server->Publish();
    return server;
  }

 private:
  /// The algorithm, told how many clients will be there at first.
  static std::shared_ptr<const Algorithm> Expecting(const Learner& learner, std::uint64_t clients) {
    if (clients == 0) return learner.algorithm;
    return learner.Make(learner.problem.horizon > 0 ? learner.problem.horizon : kEndlessHorizon,
                        learner.problem.seed, clients);
  }
  static void Append(const Updates& one, Updates& all) {
    all.clients.push_back(one.clients[0]);
    all.first.push_back(all.first.back() + one.blocks.size());
    all.blocks.insert(all.blocks.end(), one.blocks.begin(), one.blocks.end());
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
    all.losses.insert(all.losses.end(), one.losses.begin(), one.losses.end());
    all.integers.insert(all.integers.end(), one.integers.begin(), one.integers.end());
    all.samples.insert(all.samples.end(), one.samples.begin(), one.samples.end());
    all.unknowns.insert(all.unknowns.end(), one.unknowns.begin(), one.unknowns.end());
    all.new_unknowns.insert(all.new_unknowns.end(), one.new_unknowns.begin(),
                            one.new_unknowns.end());
    all.fresh.insert(all.fresh.end(), one.fresh.begin(), one.fresh.end());
  }

  /// Noise is the system's own: this half has no seed for it.
  void OpenNoisy() {
    if (!noise_ || coordinator_.releases().empty()) return;
    SystemBits bits;
    for (Release& release : coordinator_.releases()) {
      noise_->Add(release.sums, NoiseFor(*noise_, bits));
      noise_->Fill(release);
    }
    coordinator_.Open();
  }

  void Publish() { broadcast_ = std::make_shared<const Broadcast>(coordinator_.broadcast()); }

  py::object owner_;
  std::shared_ptr<const Algorithm> algorithm_;
  std::mutex mutex_;  // for what follows
  Coordinator coordinator_;
  std::optional<NoisyReleases> noise_;
  std::shared_ptr<const Broadcast> broadcast_;
};

}  // namespace

void BindHalves(py::module_& module) {
  BindMessages(module);
  py::class_<Prediction>(module, "Prediction",
                         "value, a float, and per_kernel, (N,): what each kernel predicts.")
      .def_readonly("value", &Prediction::value)
      .def_property_readonly("per_kernel",
                             [](const Prediction& p) {
                               return Taken<float>({Size(p.per_kernel.size())}, p.per_kernel);
                             })
      .def("__float__", [](const Prediction& p) { return p.value; })
      .def("__repr__", [](const Prediction& p) {
        return "<Prediction " + std::string(py::repr(py::float_(p.value))) + ">";
      });

  py::class_<ClientHalf>(module, "ClientHalf", R"(One client, step by step: receive, predict, learn.

>>> import polykern as pk
>>> algorithm = pk.PofMkl(pk.KernelBank.rbf(2, 4, [0.1, 1, 10]), learning_rate=0.1, weight_rate=0.1)
>>> client = algorithm.client(7)
>>> client.receive(algorithm.server().broadcast())
>>> client.predict([0.5, -0.5]).value
0.0
>>> client.learn(1.0, uniform=0.5)
<Update of client 7, step 0: 1 kernels>
>>> client.learn(1.0)
Traceback (most recent call last):
...
RuntimeError: learn before predict: every label belongs to a prediction
)")
      .def(py::init<py::object, py::object>(), py::arg("algorithm"), py::arg("id") = 0)
      .def("receive", &ClientHalf::Receive, py::arg("broadcast"), "Takes the newest model.")
      .def("predict", &ClientHalf::Predict, py::arg("x"), "The Prediction for one sample, (d,).")
      .def("learn", &ClientHalf::Learn, py::arg("y"), py::arg("uniform") = py::none(),
           "Learns the label of the last prediction; the Update is for the server. uniform in "
           "[0, 1) fixes the draw of the kernels.")
      .def_property_readonly("weights", &ClientHalf::Weights,
                             "How the kernels are mixed, (N,), sum 1; None if unknown.")
      .def_property_readonly("id", &ClientHalf::id)
      .def_property_readonly("learnt", &ClientHalf::learnt)
      .def(py::pickle([](const ClientHalf& c) { return c.Save(); },
                      [](const py::tuple& saved) { return ClientHalf::Load(saved); }));

  py::class_<ServerHalf>(module, "ServerHalf", R"(The server, step by step: broadcast, aggregate.

>>> import polykern as pk
>>> server = pk.PofMkl(pk.KernelBank.rbf(2, 4, [0.1, 1, 10])).server()
>>> server.aggregate([])                 # a step in which no client took part
>>> server.step, server.theta.shape
(1, (3, 8))
)")
      .def(py::init<py::object, py::object>(), py::arg("algorithm"), py::arg("clients") = 0)
      .def("broadcast", &ServerHalf::broadcast)
      .def("aggregate", &ServerHalf::Aggregate, py::arg("updates"),
           "Ends the step with these updates: with all of them or, if one is refused, with none.")
      .def_property_readonly("epsilon_spent", &ServerHalf::EpsilonSpent,
                             "With noise: what a sample of the first noisy sum has lost of its "
                             "privacy; None without.")
      .def_property_readonly("theta", [](ServerHalf& s) { return ThetaOf(s.broadcast()); })
      .def_property_readonly("step", [](ServerHalf& s) { return s.broadcast().broadcast->step; })
      .def(py::pickle([](ServerHalf& s) { return s.Save(); },
                      [](const py::tuple& saved) { return ServerHalf::Load(saved); }));
}

}  // namespace polykern::python
