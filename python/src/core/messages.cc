// What goes between the halves of a federation: models and updates.

#include "messages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <pybind11/stl.h>

#include "arrays.h"
#include "polykern/core/exact_sum.h"

namespace polykern::python {
namespace {

template <typename Number>
std::vector<Number> Copied(const py::handle& object) {
  const auto array = object.cast<py::array_t<Number, py::array::c_style | py::array::forcecast>>();
  return {array.data(), array.data() + array.size()};
}

}  // namespace

py::array ThetaOf(const ModelMessage& message) {
  return View<float>({Size(message.blocks()), Size(message.width)}, message.broadcast->model.data(),
                     message.broadcast);
}

void BindMessages(py::module_& module) {
  py::class_<ModelMessage>(
      module, "Broadcast",
      "A model on its way to clients: step, theta (N, 2D), and the server's own "
      "weights if it has some. Can be pickled.")
      .def_property_readonly("step", [](const ModelMessage& m) { return m.broadcast->step; })
      .def_property_readonly("theta", &ThetaOf)
      .def_property_readonly("weights",
                             [](const ModelMessage& m) -> py::object {
                               const auto& weights = m.broadcast->weights;
                               if (weights.empty()) return py::none();
                               return View<double>({Size(weights.size())}, weights.data(),
                                                   m.broadcast);
                             })
      .def("__repr__",
           [](const ModelMessage& m) {
             return "<Broadcast of step " + std::to_string(m.broadcast->step) + ", theta (" +
                    std::to_string(m.blocks()) + ", " + std::to_string(m.width) + ")>";
           })
      .def(py::pickle(
          [](const ModelMessage& m) {
            const auto& b = *m.broadcast;
            return py::make_tuple(b.step, m.width, Taken<float>({Size(b.model.size())}, b.model),
                                  Taken<double>({Size(b.weights.size())}, b.weights), b.turn);
          },
          [](const py::tuple& saved) {
            auto b = std::make_shared<Broadcast>();
            b->step = saved[0].cast<std::uint64_t>();
            b->model = Copied<float>(saved[2]);
            b->weights = Copied<double>(saved[3]);
            if (saved.size() > 4) b->turn = saved[4].cast<std::vector<std::uint32_t>>();
            const auto finite = [](auto value) { return std::isfinite(value); };
            const double sum = std::accumulate(b->weights.begin(), b->weights.end(), 0.0);
            const auto width = saved[1].cast<std::size_t>();
            if (!std::ranges::all_of(b->model, finite) ||
                std::ranges::any_of(b->weights, [](double w) { return !(w >= 0); }) ||
                (!b->weights.empty() && !(std::fabs(sum - 1) < 1e-6)) ||
                (width == 0 ? !b->model.empty() : b->model.size() % width != 0)) {
              throw py::value_error("a saved broadcast is damaged");
            }
            return ModelMessage{std::move(b), width};
          }));

  py::class_<UpdateMessage>(module, "Update",
                            "A client's answer: kernels (M,), steps (M, 2D), losses, and the "
                            "probability with which they were drawn, which is not sent. Can be "
                            "pickled.")
      .def_property_readonly("client", [](const UpdateMessage& m) { return m.updates->clients[0]; })
      .def_property_readonly("step", [](const UpdateMessage& m) { return m.updates->step; })
      .def_property_readonly(
          "kernels",
          [](const UpdateMessage& m) {
            const auto& blocks = m.updates->blocks;
            return Taken<std::int64_t>({Size(blocks.size())}, {blocks.begin(), blocks.end()});
          })
      .def_property_readonly(
          "steps",
          [](const UpdateMessage& m) {
            const Updates& u = *m.updates;
            return View<float>({Size(u.blocks.size()), Size(m.width)}, u.values.data(), m.updates);
          })
      .def_property_readonly("losses",
                             [](const UpdateMessage& m) {
                               const Updates& u = *m.updates;
                               return View<float>({Size(u.losses.size())}, u.losses.data(),
                                                  m.updates);
                             })
      .def_property_readonly("probability",
                             [](const UpdateMessage& m) -> py::object {
                               const auto& p = m.updates->probability;
                               return p.empty() ? py::object(py::none()) : py::float_(p[0]);
                             })
      .def_property_readonly("numbers",
                             [](const UpdateMessage& m) {
                               return m.updates->values.size() + m.updates->losses.size() +
                                      m.updates->integers.size();
                             })
      .def("__repr__",
           [](const UpdateMessage& m) {
             return "<Update of client " + std::to_string(m.updates->clients[0]) + ", step " +
                    std::to_string(m.updates->step) + ": " +
                    std::to_string(m.updates->blocks.size()) + " kernels>";
           })
      .def(py::pickle(
          [](const UpdateMessage& m) {
            const Updates& u = *m.updates;
            return py::make_tuple(u.clients[0], u.step, m.width,
                                  Taken<std::uint32_t>({Size(u.blocks.size())}, u.blocks),
                                  Taken<float>({Size(u.values.size())}, u.values),
                                  Taken<float>({Size(u.losses.size())}, u.losses), u.probability,
                                  Taken<std::uint64_t>({Size(u.integers.size())}, u.integers),
                                  u.samples, u.fresh.empty() ? 0 : u.fresh[0].samples,
                                  u.fresh.empty() ? 0 : u.fresh[0].unknowns, u.unknowns,
                                  u.new_unknowns);
          },
          [](const py::tuple& saved) {
            auto u = std::make_shared<Updates>();
            u->clients = {saved[0].cast<std::uint64_t>()};
            u->step = saved[1].cast<std::uint64_t>();
            u->blocks = Copied<std::uint32_t>(saved[3]);
            u->first = {0, u->blocks.size()};
            u->values = Copied<float>(saved[4]);
            u->losses = Copied<float>(saved[5]);
            u->probability = saved[6].cast<std::vector<double>>();
            if (saved.size() > 7) {  // older ones have no sums
              u->integers = Copied<std::uint64_t>(saved[7]);
              u->samples = saved[8].cast<std::vector<std::uint64_t>>();
              const SampleCount fresh{saved[9].cast<std::uint64_t>(),
                                      saved[10].cast<std::uint64_t>()};
              if (fresh.samples > 0) u->fresh = {fresh};
            }
            if (saved.size() > 12) {
              u->unknowns = saved[11].cast<std::vector<std::uint64_t>>();
              u->new_unknowns = saved[12].cast<std::vector<std::uint64_t>>();
            }
            const auto width = saved[2].cast<std::size_t>();
            if (u->clients[0] >= ExactSum::kMaxTerms ||
                (u->integers.empty() && u->values.size() != u->blocks.size() * width)) {
              throw py::value_error("a saved update is damaged");
            }
            return UpdateMessage{std::move(u), width};
          }));
}

}  // namespace polykern::python
