// Kernels, dictionaries and banks of random frequencies.

#include "polykern/core/kernels.h"

#include <array>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/error.h"
#include "polykern/core/random_features.h"

namespace polykern::python {
namespace {

constexpr std::array<const char*, 7> kKinds = {
    "gaussian", "laplacian", "matern12", "matern32", "matern52", "cauchy", "rational-quadratic"};
constexpr std::array<const char*, 3> kDraws = {"independent", "orthogonal", "shared"};

template <std::size_t N>
std::size_t IndexOf(const std::array<const char*, N>& names, const std::string& name,
                    const std::string& what) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return i;
    known += (i > 0 ? ", " : "") + std::string(names[i]);
  }
  throw Error("unknown " + what + " '" + name + "'; there are: " + known);
}

Kernel MakeKernel(const std::string& kind, double length, double shape) {
  if (!(length > 0 && std::isfinite(length) && shape > 0 && std::isfinite(shape))) {
    throw Error("length and shape of a kernel must be above 0 and finite");
  }
  return {static_cast<KernelKind>(IndexOf(kKinds, kind, "kernel")), length, shape};
}

/// k(x, y) for one pair of points.
double Value(const Kernel& kernel, const py::object& x, const py::object& y) {
  const py::array a = Numbers(x, "x");
  const py::array b = Numbers(y, "y");
  if (a.ndim() != 1 || b.ndim() != 1 || a.shape(0) != b.shape(0)) {
    throw py::value_error("x has the shape " + ShapeText(a) + ", y " + ShapeText(b) +
                          ": both must be (d,)");
  }
  std::vector<double> difference(static_cast<std::size_t>(a.shape(0)));
  const ArrayView at = ViewOf(a);
  const ArrayView bt = ViewOf(b);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = at.At(i, 0) - bt.At(i, 0);
  return KernelValue(kernel, difference);
}

void CheckSize(std::uint64_t kernels, std::uint64_t features, std::uint64_t dimension) {
  std::uint64_t numbers = 0;
  if (__builtin_mul_overflow(kernels, features, &numbers) ||
      __builtin_mul_overflow(numbers, dimension, &numbers) || numbers > (std::uint64_t{1} << 36)) {
    throw Error("a bank of " + std::to_string(kernels) + " x " + std::to_string(features) + " x " +
                std::to_string(dimension) + " numbers is too large");
  }
}

Bank DrawBank(std::vector<Kernel> kernels, const py::object& dimension, const py::object& features,
              const py::object& seed, const std::string& draw, std::string dictionary) {
  if (kernels.empty()) throw Error("a bank needs at least one kernel");
  const std::uint64_t d = ReadCount(dimension, "dimension", 1);
  const std::uint64_t each = ReadCount(features, "features", 1);
  CheckSize(kernels.size(), each, d);
  Bank bank;
  bank.draw = static_cast<Draw>(IndexOf(kDraws, draw, "draw"));
  bank.seed = ReadCount(seed, "seed");
  bank.dictionary = std::move(dictionary);
  bank.bank = WithoutGil([&] {
    return std::make_shared<const KernelBank>(kernels, d, each, RepetitionSeed(bank.seed),
                                              bank.draw);
  });
  bank.kernels = std::move(kernels);
  return bank;
}

Bank GaussianBank(const py::object& dimension, const py::object& features,
                  const py::object& bandwidths, const py::object& seed, const std::string& draw) {
  const py::array sigmas = Numbers(bandwidths, "bandwidths");
  CheckShape(sigmas, "bandwidths", {-1}, "(N,)");
  CheckFinite(sigmas, "bandwidths", false);
  const auto paper = MakeDictionary("gaussian", std::max<std::size_t>(1, sigmas.size()));
  std::vector<Kernel> kernels;
  bool known = true;
  const ArrayView view = ViewOf(sigmas);
  for (std::size_t i = 0; i < static_cast<std::size_t>(sigmas.size()); ++i) {
    if (!(view.At(i, 0) > 0)) {
      throw Error("bandwidths[" + std::to_string(i) + "] is " + std::to_string(view.At(i, 0)) +
                  "; it must be above 0");
    }
    kernels.push_back({KernelKind::kGaussian, std::sqrt(view.At(i, 0))});
    known &= kernels[i].length == paper[i].length;
  }
  return DrawBank(std::move(kernels), dimension, features, seed, draw, known ? "gaussian" : "");
}

Bank GivenBank(const py::object& vectors) {
  const py::array rho = Numbers(vectors, "rho");
  CheckShape(rho, "rho", {-1, -1, -1}, "(N, D, d)");
  if (rho.size() == 0) {
    throw py::value_error("rho has the shape " + ShapeText(rho) +
                          ", but it must be (N, D, d) without a 0");
  }
  CheckFinite(rho, "rho", true);
  const auto size = [&](py::ssize_t axis) { return static_cast<std::size_t>(rho.shape(axis)); };
  std::vector<float> frequencies(static_cast<std::size_t>(rho.size()));
  const ArrayView view = ViewOf(rho);
  for (std::size_t i = 0; i < size(0); ++i) {
    for (std::size_t j = 0; j < size(1); ++j) {
      view.CopyRow(i, j, std::span(frequencies).subspan((i * size(1) + j) * size(2), size(2)));
    }
  }
  Bank bank;
  bank.bank = std::make_shared<const KernelBank>(std::move(frequencies), size(0), size(1), size(2));
  return bank;
}

py::array FrequenciesOf(const Bank& bank) {
  const KernelBank& b = *bank.bank;
  return View<float>({static_cast<py::ssize_t>(b.kernels()), static_cast<py::ssize_t>(b.features()),
                      static_cast<py::ssize_t>(b.dimension())},
                     b.Frequencies(0).data(), bank.bank);
}

/// z_i(x) of every kernel, for samples (n, d): (n, N, 2D).
py::array Transform(const Bank& bank, const py::object& samples) {
  const KernelBank& b = *bank.bank;
  const py::array x = Numbers(samples, "X");
  CheckShape(x, "X", {-1, static_cast<py::ssize_t>(b.dimension())},
             "(n, " + std::to_string(b.dimension()) + ")");
  CheckFinite(x, "X", true);
  const auto n = static_cast<std::size_t>(x.shape(0));
  const ArrayView view = ViewOf(x);
  const std::size_t each = b.kernels() * b.feature_size();
  std::vector<float> z(n * each);
  WithoutGil([&] {
    const std::vector<float> no_theta(each);
    std::vector<float> row(b.dimension());
    std::vector<float> f(b.kernels());
    std::vector<std::uint32_t> wanted(b.kernels());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<std::uint32_t>(i);
    const std::array<std::size_t, 2> first = {0, wanted.size()};
    const PackedKernels packed(b);
    FeatureScratch scratch;
    ArrayView flat = view;
    flat.strides = {view.strides[0], 0, view.strides[1]};
    for (std::size_t i = 0; i < n; ++i) {
      flat.CopyRow(i, 0, row);
      EvaluateKernels(packed,
                      {1, row, no_theta, first, wanted, f, std::span(z).subspan(i * each, each)},
                      scratch);
    }
  });
  return Taken<float>({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(b.kernels()),
                       static_cast<py::ssize_t>(b.feature_size())},
                      std::move(z));
}

}  // namespace

void BindKernels(py::module_& module) {
  py::class_<Kernel>(module, "Kernel", R"(A shift-invariant kernel with k(x, x) = 1.

kind: gaussian, laplacian, matern12, matern32, matern52, cauchy or rational-quadratic (which has a shape). The paper's
bandwidth is the squared length.

>>> import polykern as pk
>>> kernel = pk.Kernel("gaussian", length=2.0)
>>> kernel([1.0, 0.0], [1.0, 0.0]), kernel.bandwidth
(1.0, 4.0)
)")
      .def(py::init(&MakeKernel), py::arg("kind") = "gaussian", py::arg("length") = 1.0,
           py::arg("shape") = 1.0)
      .def_property_readonly(
          "kind", [](const Kernel& k) { return kKinds[static_cast<std::size_t>(k.kind)]; })
      .def_readonly("length", &Kernel::length)
      .def_readonly("shape", &Kernel::shape)
      .def_property_readonly("bandwidth", [](const Kernel& k) { return k.length * k.length; })
      .def("__call__", &Value, py::arg("x"), py::arg("y"))
      .def(
          "__eq__",
          [](const Kernel& a, const Kernel& b) {
            return a.kind == b.kind && a.length == b.length && a.shape == b.shape;
          },
          py::is_operator())
      .def("__repr__",
           [](const Kernel& k) {
             return "Kernel('" + std::string(kKinds[static_cast<std::size_t>(k.kind)]) +
                    "', length=" + std::string(py::repr(py::float_(k.length))) +
                    (k.kind == KernelKind::kRationalQuadratic
                         ? ", shape=" + std::string(py::repr(py::float_(k.shape)))
                         : "") +
                    ")";
           })
      .def(py::pickle(
          [](const Kernel& k) {
            return py::make_tuple(kKinds[static_cast<std::size_t>(k.kind)], k.length, k.shape);
          },
          [](const py::tuple& state) {
            return MakeKernel(state[0].cast<std::string>(), state[1].cast<double>(),
                              state[2].cast<double>());
          }));

  py::class_<Bank>(module, "KernelBank",
                   R"(N kernels with D random frequencies each, in d dimensions. Immutable.

draw: independent, orthogonal (less variance, for kernels that depend on the distance alone) or shared (gaussian
kernels: one draw for all, faster). The same seed gives the same bits on every machine, and those of the program.

>>> import polykern as pk
>>> bank = pk.KernelBank.rbf(dimension=3, features=20, bandwidths=pk.paper_bandwidths(), seed=0)
>>> bank.frequencies.shape, bank.transform([[0.1, 0.2, 0.3]]).shape
((51, 20, 3), (1, 51, 40))
>>> pk.KernelBank.from_vectors(bank.frequencies)
<KernelBank: 51 kernels, 20 features, 3 inputs>
)")
      .def(
          py::init([](std::vector<Kernel> kernels, const py::object& dimension,
                      const py::object& features, const py::object& seed, const std::string& draw) {
            return DrawBank(std::move(kernels), dimension, features, seed, draw, "");
          }),
          py::arg("kernels"), py::arg("dimension"), py::arg("features"), py::arg("seed") = 0,
          py::arg("draw") = "independent")
      .def_static("rbf", &GaussianBank, py::arg("dimension"), py::arg("features"),
                  py::arg("bandwidths"), py::arg("seed") = 0, py::arg("draw") = "independent")
      .def_static(
          "dictionary",
          [](const std::string& name, const py::object& dimension, const py::object& features,
             const py::object& kernels, const py::object& seed, const std::string& draw) {
            return DrawBank(MakeDictionary(name, ReadCount(kernels, "kernels", 1)), dimension,
                            features, seed, draw, name);
          },
          py::arg("name"), py::arg("dimension"), py::arg("features"), py::arg("kernels") = 51,
          py::arg("seed") = 0, py::arg("draw") = "independent")
      .def_static("from_vectors", &GivenBank, py::arg("rho"),
                  "A bank of given frequencies, (N, D, d).")
      .def_property_readonly("kernels", [](const Bank& b) { return b.bank->kernels(); })
      .def_property_readonly("features", [](const Bank& b) { return b.bank->features(); })
      .def_property_readonly("dimension", [](const Bank& b) { return b.bank->dimension(); })
      .def_property_readonly("kernel_list", [](const Bank& b) { return b.kernels; })
      .def_property_readonly("frequencies", &FrequenciesOf, "(N, D, d), read-only.")
      .def("transform", &Transform, py::arg("X"),
           "The features z_i(x) of every kernel, (n, N, 2D), for rows (n, d).")
      .def("__repr__",
           [](const Bank& b) {
             return "<KernelBank: " + std::to_string(b.bank->kernels()) + " kernels, " +
                    std::to_string(b.bank->features()) + " features, " +
                    std::to_string(b.bank->dimension()) + " inputs>";
           })
      .def(py::pickle(
          [](const Bank& b) {
            return b.kernels.empty()
                       ? py::make_tuple(FrequenciesOf(b))
                       : py::make_tuple(b.kernels, b.bank->dimension(), b.bank->features(), b.seed,
                                        kDraws[static_cast<std::size_t>(b.draw)], b.dictionary);
          },
          [](const py::tuple& state) {
            if (state.size() == 1) return GivenBank(state[0]);
            return DrawBank(state[0].cast<std::vector<Kernel>>(), state[1], state[2], state[3],
                            state[4].cast<std::string>(), state[5].cast<std::string>());
          }));

  module.def(
      "dictionary",
      [](const std::string& name, const py::object& kernels) {
        return MakeDictionary(name, ReadCount(kernels, "kernels", 1));
      },
      py::arg("name") = "gaussian", py::arg("kernels") = 51,
      "The kernels of a dictionary, squared lengths evenly spaced in the exponent from 0.01 to "
      "100.");
  module.def("dictionary_names", [] {
    std::vector<std::string> names(DictionaryNames().begin(), DictionaryNames().end());
    return names;
  });
  module.def(
      "paper_bandwidths",
      [](const py::object& kernels) {
        std::vector<double> sigmas;
        for (const Kernel& kernel : MakeDictionary("gaussian", ReadCount(kernels, "kernels", 1))) {
          sigmas.push_back(kernel.length * kernel.length);
        }
        const auto count = static_cast<py::ssize_t>(sigmas.size());
        return Taken<double>({count}, std::move(sigmas));
      },
      py::arg("kernels") = 51, "The paper's bandwidths, 10^((2i - 52) / 25) for i = 1 .. 51.");
}

}  // namespace polykern::python
