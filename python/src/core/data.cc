// Data sets: the recipes, CSV files and the synthetic fleet, as NumPy's arrays.

#include <map>
#include <utility>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "polykern/core/error.h"
#include "polykern/data/recipes.h"
#include "polykern/data/source.h"
#include "polykern/data/table_stream.h"
#include "setting.h"

namespace polykern::python {
namespace {

/// Samples that are read, scaled and dealt to clients.
struct Data {
  using MustBeMade = void;
  std::shared_ptr<const Source> source;
  std::uint64_t seed = 0;

  const Stream& stream() const { return *source->stream; }
  /// The rows behind them; null for the synthetic fleet.
  const Dataset* rows() const {
    const auto* table = dynamic_cast<const TableStream*>(source->stream.get());
    return table == nullptr ? nullptr : &table->data();
  }
};

void SetCalendar(SourceOptions& options, const Setting& setting) {
  for (const std::string& name : setting.Texts()) {
    options.derived.calendar.push_back(ParseCalendar(name));
  }
}

void SetRanges(SourceOptions& options, const Setting& setting) {
  using Ends = std::pair<double, double>;
  for (const auto& [column, ends] : py::cast<std::map<std::string, Ends>>(setting.value)) {
    options.ranges.push_back({column, {ends.first, ends.second}});
  }
}

using Set = void (*)(SourceOptions&, const Setting&);
const std::map<std::string, Set>& Settings() {
  using O = SourceOptions;
  using S = Setting;
  static const std::map<std::string, Set> kSettings = {
      {"target", [](O& o, const S& s) { o.target = s.Text(); }},
      {"site", [](O& o, const S& s) { o.site = s.Text(); }},
      {"client", [](O& o, const S& s) { o.client = s.Text(); }},
      {"time", [](O& o, const S& s) { o.time = s.Texts(); }},
      {"lags", [](O& o, const S& s) { o.derived.lags = s.Counts(); }},
      {"calendar", SetCalendar},
      {"ahead", [](O& o, const S& s) { o.derived.ahead = s.Count(); }},
      {"inputs", [](O& o, const S& s) { o.features = s.Texts(); }},
      {"exclude", [](O& o, const S& s) { o.exclude = s.Texts(); }},
      {"categorical", [](O& o, const S& s) { o.categorical = s.Texts(); }},
      {"categories", [](O& o, const S& s) { o.categories = ParseCategories(s.Text()); }},
      {"missing", [](O& o, const S& s) { o.missing = ParseMissing(s.Text()); }},
      {"decimal", [](O& o, const S& s) { o.decimal = ParseDecimal(s.Text()); }},
      {"delimiter", [](O& o, const S& s) { o.delimiter = ParseDelimiter(s.Text()); }},
      {"scaling", [](O& o, const S& s) { o.scaling = ParseScaling(s.Text()); }},
      {"ranges", SetRanges},
      {"split", [](O& o, const S& s) { o.split = ParseSplit(s.Text()); }},
      {"major_share", [](O& o, const S& s) { o.major_share = s.Number(); }},
      {"clients", [](O& o, const S& s) { o.clients = s.Count(); }},
      {"steps", [](O& o, const S& s) { o.steps = s.Count(); }},
      {"dimension", [](O& o, const S& s) { o.dimension = s.Count(); }},
      {"noise", [](O& o, const S& s) { o.noise = s.Number(); }},
      {"drift", [](O& o, const S& s) { o.drift = s.Number(); }},
      {"seed", [](O& o, const S& s) { o.seed = s.Count(); }},
  };
  return kSettings;
}

Data Load(std::vector<std::string> data, const std::string& data_dir, const py::dict& settings) {
  SourceOptions options;
  options.data = std::move(data);
  options.data_dir = data_dir;
  for (const auto& [key, value] : settings) {
    const Setting setting{key.cast<std::string>(), value};
    if (value.is_none()) continue;
    const auto found = Settings().find(setting.name);
    if (found == Settings().end()) {
      throw py::type_error("load has no option '" + setting.name + "'");
    }
    found->second(options, setting);
  }
  return WithoutGil([&] {
    return Data{std::make_shared<const Source>(OpenSource(options)), options.seed};
  });
}

/// Every sample of every client: x, y and who is there.
py::tuple Dealt(const Data& data) {
  const Stream& stream = data.stream();
  const std::size_t steps = stream.steps();
  const std::size_t clients = stream.clients();
  const std::size_t d = stream.dimension();
  std::vector<float> x;
  std::vector<double> y;
  std::vector<std::uint8_t> present;
  WithoutGil([&] {
    x.reserve(steps * clients * d);
    y.reserve(steps * clients);
    present.reserve(steps * clients);
    SampleBlock block;
    for (std::size_t step = 0; step < steps; ++step) {
      stream.Read(step, 0, clients, block);
      x.insert(x.end(), block.x.begin(), block.x.end());
      y.insert(y.end(), block.y.begin(), block.y.end());
      present.insert(present.end(), block.present.begin(), block.present.end());
    }
  });
  const auto t = static_cast<py::ssize_t>(steps);
  const auto k = static_cast<py::ssize_t>(clients);
  return py::make_tuple(Taken<float>({t, k, static_cast<py::ssize_t>(d)}, std::move(x)),
                        Taken<double>({t, k}, std::move(y)),
                        Taken<std::uint8_t>({t, k}, std::move(present)).attr("astype")("bool"));
}

}  // namespace

void BindData(py::module_& module) {
  py::class_<Data>(module, "Data")
      .def("deal", &Dealt)
      .def_property_readonly("name", [](const Data& d) { return d.source->name; })
      .def_property_readonly("seed", [](const Data& d) { return d.seed; })
      .def_property_readonly("steps", [](const Data& d) { return d.stream().steps(); })
      .def_property_readonly("clients", [](const Data& d) { return d.stream().clients(); })
      .def_property_readonly("dimension", [](const Data& d) { return d.stream().dimension(); })
      .def_property_readonly("inputs", [](const Data& d) { return d.source->inputs; })
      .def_property_readonly("notices",
                             [](const Data& d) {
                               std::vector<std::string> texts;
                               for (const std::string& notice : d.source->notices) {
                                 texts.emplace_back(Error(notice).what());
                               }
                               return texts;
                             })
      .def_property_readonly("target", [](const Data& d) { return d.source->target; })
      .def_property_readonly("dropped_rows", [](const Data& d) { return d.source->dropped_rows; })
      .def_property_readonly("site_names",
                             [](const Data& d) {
                               const auto names = d.stream().site_names();
                               return std::vector<std::string>(names.begin(), names.end());
                             })
      .def_property_readonly("sites",
                             [](const Data& d) {
                               std::vector<std::int64_t> sites;
                               for (std::size_t k = 0; k < d.stream().clients(); ++k) {
                                 sites.push_back(static_cast<std::int64_t>(d.stream().SiteOf(k)));
                               }
                               const auto count = static_cast<py::ssize_t>(sites.size());
                               return Taken<std::int64_t>({count}, std::move(sites));
                             })
      .def_property_readonly("x",
                             [](const Data& d) -> py::object {
                               const Dataset* rows = d.rows();
                               if (rows == nullptr) return py::none();
                               return View<float>({static_cast<py::ssize_t>(rows->rows()),
                                                   static_cast<py::ssize_t>(rows->dimension)},
                                                  rows->x.data(), d.source);
                             })
      .def_property_readonly("y", [](const Data& d) -> py::object {
        const Dataset* rows = d.rows();
        if (rows == nullptr) return py::none();
        return View<double>({static_cast<py::ssize_t>(rows->rows())}, rows->y.data(), d.source);
      });
  module.def("load", &Load, py::arg("data"), py::arg("data_dir"), py::arg("settings"));
  module.def("recipe_names", [] {
    std::vector<std::string> names;
    for (const Recipe& recipe : Recipes()) names.push_back(recipe.name);
    return names;
  });
}

}  // namespace polykern::python
