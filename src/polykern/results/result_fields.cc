#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>

#include "polykern/algorithms/registry.h"
#include "polykern/core/kernels.h"
#include "polykern/data/synthetic.h"
#include "polykern/results/field_kinds_internal.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostQuantiles = 201;

/// 1 of scaled labels in the target's own unit.
double UnitOf(const Stream& stream) {
  return stream.InOwnUnit(1) - stream.InOwnUnit(0);
}
Json CountOrNull(std::size_t count) {
  return count > 0 ? Json(count) : Json();
}

/// Sorted, and of more than kMostQuantiles numbers the quantiles at even distances, the least and
/// the most among them.
Json Quantiles(std::vector<double> numbers) {
  std::erase_if(numbers, [](double number) { return std::isnan(number); });
  if (numbers.empty()) return {};
  std::ranges::sort(numbers);
  const std::size_t count = std::min(numbers.size(), kMostQuantiles);
  Json quantiles = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    quantiles.push_back(numbers[count == 1 ? 0 : i * (numbers.size() - 1) / (count - 1)]);
  }
  return quantiles;
}

/// Weights as lists of one for each kernel, to four digits after the point: more than a colour
/// shows.
Json PerKernel(std::span<const double> weights, std::size_t kernels) {
  Json list = Json::array();
  for (std::size_t at = 0; at < weights.size(); at += kernels) {
    Json one = Json::array();
    for (const double weight : weights.subspan(at, kernels)) {
      one.push_back(std::round(1e4 * weight) / 1e4);
    }
    list.push_back(std::move(one));
  }
  return list;
}

struct WeightsView {
  const RowResult& result;
  const Stream& stream;
  std::size_t kernels;
};

const ObjectOf<WeightsView>& WeightFields() {
  using Of = const WeightsView&;
  static const ObjectOf<WeightsView> fields(
      "ClientWeights",
      {{Texts("kernels"),
        [](Of v) -> Json {
          return ExpertNames(v.result.row.algorithm, v.result.row.options, v.kernels);
        }},
       {Numbers("clients"), [](Of v) -> Json { return v.result.weight_plan.clients; }},
       {Numbers("sites", {"clients"}),
        [](Of v) {
          Json sites = Json::array();
          for (const std::size_t client : v.result.weight_plan.clients) {
            sites.push_back(v.stream.SiteOf(client));
          }
          return sites;
        }},
       {Numbers("last", {"clients", "kernels"}),
        [](Of v) { return PerKernel(v.result.weights.last, v.kernels); }},
       {Numbers("traced"), [](Of v) -> Json { return v.result.weight_plan.traced; }},
       {Numbers("steps"), [](Of v) -> Json { return v.result.weight_plan.steps; }},
       {Numbers("trace", {"steps", "traced", "kernels"}), [](Of v) {
          const WeightPlan& plan = v.result.weight_plan;
          const std::size_t size = plan.traced.size() * v.kernels;
          Json trace = Json::array();
          for (std::size_t i = 0; i < plan.steps.size(); ++i) {
            trace.push_back(
                PerKernel(std::span(v.result.weights.trace).subspan(i * size, size), v.kernels));
          }
          return trace;
        }}});
  return fields;
}

const ObjectOf<RunView>& ClientScoreFields() {
  using Of = const RunView&;
  static const ObjectOf<RunView> fields(
      "ClientScores",
      {{Numbers("clients"), [](Of v) -> Json { return v.result.weight_plan.clients; }},
       {Texts("names", {"clients"}),
        [](Of v) {
          Json names = Json::array();
          for (const std::size_t client : v.result.weight_plan.clients) {
            names.push_back(v.stream.ClientName(client));
          }
          return names;
        }},
       {Numbers("mse", {"clients"}, Null::kItems),
        [](Of v) {
          Json list = Json::array();
          for (const double mse : v.result.client_mse) list.push_back(FiniteOrNull(mse));
          return list;
        }},
       {Numbers("skill", {"clients"}, Null::kItems),
        [](Of v) {
          Json list = Json::array();
          for (std::size_t i = 0; i < v.result.client_mse.size(); ++i) {
            const double naive = v.result.naive ? v.result.naive->client[i] : 0;
            list.push_back(naive > 0 ? FiniteOrNull(1 - v.result.client_mse[i] / naive) : Json());
          }
          return list;
        }},
       {Optional(Numbers("sites", {"clients"})),
        [](Of v) {
          Json sites = Json::array();
          for (const std::size_t client : v.result.weight_plan.clients) {
            sites.push_back(v.stream.SiteOf(client));
          }
          return If(v.stream.site_names().size() > 1, sites);
        }},
       {Optional(Numbers("coverage", {"clients"}, Null::kItems)), [](Of v) {
          if (v.result.client_coverage.empty()) return Nothing();
          Json list = Json::array();
          for (const std::size_t client : v.result.weight_plan.clients) {
            list.push_back(FiniteOrNull(v.result.client_coverage[client]));
          }
          return list;
        }}});
  return fields;
}

const ObjectOf<Divergence>& DivergedFields() {
  using Of = const Divergence&;
  static const ObjectOf<Divergence> fields(
      "Diverged", {{Number("repetition"), [](Of d) -> Json { return d.repetition + 1; }},
                   {Number("step"), [](Of d) -> Json { return d.step + 1; }},
                   {Text("reason"), [](Of d) -> Json { return d.message; }}});
  return fields;
}

/// What the page needs of the options; they have all others as well.
const ObjectType& OptionsType() {
  static const ObjectType type = {.name = "Options",
                                  .fields = {Number("exploration"), Number("budget"),
                                             Text("weights"), Number("weight_rate", Null::kMayBe)},
                                  .open = true};
  return type;
}

/// A low and a high number by the names of columns.
const ObjectType& RangesType() {
  static const ObjectType type = {.name = "Ranges", .fields = {}, .open = true};
  return type;
}

std::string Hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

}  // namespace

const ObjectOf<DataView>& DataFields() {
  using Of = const DataView&;
  static const ObjectOf<DataView> fields(
      "Data",
      {{Text("name"), [](Of v) -> Json { return v.source.name; }},
       {Texts("files"), [](Of v) -> Json { return v.source.files; }},
       {Text("folder"),
        [](Of v) -> Json { return v.source.files.empty() ? "" : v.options.data_dir; }},
       {Text("target"), [](Of v) -> Json { return v.source.target; }},
       {Texts("inputs"), [](Of v) -> Json { return v.source.inputs; }},
       {Texts("unused_columns"), [](Of v) -> Json { return v.source.unused_columns; }},
       {Text("site_column"), [](Of v) -> Json { return v.options.site; }},
       {Text("client_column"), [](Of v) -> Json { return v.options.client; }},
       {Texts("categorical"), [](Of v) -> Json { return v.options.categorical; }},
       {Text("missing"), [](Of v) -> Json { return MissingName(v.options.missing); }},
       // Only where they were given: kept runs are found by what was always there.
       {Optional(Text("categories")),
        [](Of v) {
          return If(!v.options.categorical.empty(), CategoriesName(v.options.categories));
        }},
       {Optional(Text("decimal")), [](Of v) { return If(v.options.decimal == ',', ","); }},
       {Optional(Text("delimiter")),
        [](Of v) { return If(v.options.delimiter != 0, std::string(1, v.options.delimiter)); }},
       {Optional(Texts("time")), [](Of v) { return If(!v.options.time.empty(), v.options.time); }},
       {Optional(Number("ahead")),
        [](Of v) { return If(v.options.derived.ahead > 1, v.options.derived.ahead); }},
       {Object("ranges", RangesType()),
        [](Of v) {
          Json ranges = Json::object();
          for (const DeclaredRange& declared : v.options.ranges) {
            ranges[declared.column] = {declared.range.low, declared.range.high};
          }
          return ranges;
        }},
       {Number("major_share"), [](Of v) -> Json { return v.options.major_share; }},
       {Number("rows"), [](Of v) -> Json { return v.source.rows; }},
       {Number("dropped_rows"), [](Of v) -> Json { return v.source.dropped_rows; }},
       {Number("clipped_values"), [](Of v) -> Json { return v.source.clipped_values; }},
       {Number("dimension"), [](Of v) -> Json { return v.source.stream->dimension(); }},
       {Number("clients"), [](Of v) -> Json { return v.source.stream->clients(); }},
       {Number("steps"), [](Of v) -> Json { return v.source.stream->steps(); }},
       {Texts("sites"),
        [](Of v) {
          Json sites = Json::array();
          for (const std::string& site : v.source.stream->site_names()) sites.push_back(site);
          return sites;
        }},
       {Text("scaling"), [](Of v) -> Json { return v.source.scaling; }},
       {Text("split"), [](Of v) -> Json { return v.source.split; }},
       {Number("seed"), [](Of v) -> Json { return v.options.seed; }},
       {Optional(Number("noise")),
        [](Of v) {
          const bool has = v.source.name == "synthetic";
          return has ? Json(v.options.noise.value_or(FleetOptions().noise)) : Nothing();
        }},
       {Optional(Number("drift")), [](Of v) {
          const bool has = v.source.name == "synthetic";
          return has ? Json(v.options.drift.value_or(FleetOptions().drift)) : Nothing();
        }}});
  return fields;
}

Json RmseInOwnUnit(const RunView& v) {
  if (v.result.divergence) return nullptr;
  return std::sqrt(v.result.mse.mean) * UnitOf(v.stream);
}

Json WidthInOwnUnit(const RunView& v) {
  if (!v.result.interval_width) return nullptr;
  return *v.result.interval_width * UnitOf(v.stream);
}

Json ScoresOrNull(const RunView& v) {
  if (v.result.client_mse.empty()) return nullptr;
  return ClientScoreFields().Write(v);
}

Json WeightsOrNull(const RunView& v) {
  const std::size_t weights = v.result.weights.last.size();
  if (weights == 0) return nullptr;
  const std::size_t kernels = weights / v.result.weight_plan.clients.size();
  return WeightFields().Write({v.result, v.stream, kernels});
}

const ObjectOf<RunView>& RunFields() {
  using Of = const RunView&;
  static const ObjectOf<RunView> fields(
      "Run",
      {{Optional(Text("data")), nullptr},  // both: polykern reproduce
       {Optional(Text("command")), nullptr},
       {Text("algorithm"), [](Of v) -> Json { return v.result.row.algorithm; }},
       {Number("kernels_per_upload", Null::kMayBe),
        [](Of v) { return CountOrNull(v.result.kernels); }},
       {Number("features", Null::kMayBe), [](Of v) { return CountOrNull(v.result.features); }},
       {Number("clients"), [](Of v) -> Json { return v.stream.clients(); }},
       {Number("steps"), [](Of v) -> Json { return v.stream.steps(); }},
       {Number("repetitions"), [](Of v) -> Json { return v.result.repetitions; }},
       {Number("mse", Null::kIfDiverged), [](Of v) -> Json { return v.result.mse.mean; }},
       {Number("mse_std", Null::kIfDiverged), [](Of v) -> Json { return v.result.mse.deviation; }},
       {Number("rmse", Null::kMayBe).AbsentMeans(nullptr), RmseInOwnUnit},
       {Number("r2", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return NumberOrNull(v.result.r2()); }},
       {Number("skill", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return NumberOrNull(v.result.skill()); }},
       {Number("last_label_mse", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return v.result.naive ? Json(v.result.naive->last_label) : Json(); }},
       {Number("running_mean_mse", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return v.result.naive ? Json(v.result.naive->running_mean) : Json(); }},
       {Number("coverage", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return NumberOrNull(v.result.coverage); }},
       {Number("interval_width", Null::kMayBe).AbsentMeans(nullptr), WidthInOwnUnit},
       {Number("regret_mean", Null::kMayBe),
        [](Of v) { return v.result.has_regret ? Json(v.result.regret.mean) : Json(); }},
       {Number("regret_std", Null::kMayBe),
        [](Of v) { return v.result.has_regret ? Json(v.result.regret.deviation) : Json(); }},
       {Number("regret_bound", Null::kMayBe),
        [](Of v) { return NumberOrNull(v.result.regret_bound); }},
       {Number("epsilon_spent", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return v.result.epsilon_spent > 0 ? Json(v.result.epsilon_spent) : Json(); }},
       {Truth("losses_in_unit_range"), [](Of v) -> Json { return v.result.unit_losses; }},
       {Number("client_runs_over_bound"), [](Of v) -> Json { return v.result.over_bound; }},
       {Number("uplink_numbers"), [](Of v) -> Json { return v.result.uplink_numbers; }},
       {Number("uplink_numbers_mean", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) -> Json { return v.result.uplink_numbers_mean; }},
       {Number("uplink_bytes"), [](Of v) -> Json { return v.result.uplink_bytes; }},
       {Number("downlink_bytes"), [](Of v) -> Json { return v.result.downlink_bytes; }},
       {Number("seconds"), [](Of v) -> Json { return v.result.seconds; }},
       {Number("microseconds_per_sample"),
        [](Of v) -> Json { return v.result.microseconds_per_sample(); }},
       {Text("fingerprint"), [](Of v) -> Json { return Hex(v.result.fingerprint); }},
       {Object("options", OptionsType()),
        [](Of v) { return OptionsJson(v.result.row, v.options, Layout::kToday); }},
       {Object("curves", CurvesType()), [](Of v) { return CurvesJson(v.result); }},
       {Numbers("client_regret", Null::kMayBe),
        [](Of v) { return Quantiles(v.result.client_regret); }},
       {Numbers("client_coverage", Null::kMayBe).AbsentMeans(nullptr),
        [](Of v) { return Quantiles(v.result.client_coverage); }},
       {Object("client_scores", ClientScoreFields().type(), Null::kMayBe).AbsentMeans(nullptr),
        ScoresOrNull},
       {Object("client_weights", WeightFields().type(), Null::kMayBe), WeightsOrNull},
       {Optional(Object("diverged", DivergedFields().type())), [](Of v) {
          return v.result.divergence ? DivergedFields().Write(*v.result.divergence) : Nothing();
        }}});
  return fields;
}

const ObjectOf<Comparison>& ReproductionFields() {
  using Of = const Comparison&;
  static const ObjectOf<Comparison> fields(
      "Comparison",
      {{Text("table"), [](Of c) -> Json { return c.table; }},
       {Text("row"), [](Of c) -> Json { return c.title; }},
       {Number("kernels_per_upload", Null::kMayBe), [](Of c) { return CountOrNull(c.kernels); }},
       {Text("data"), [](Of c) -> Json { return c.data; }},
       {Text("weights"), [](Of c) -> Json { return c.carried ? "carried" : "reset"; }},
       {Number("published"), [](Of c) -> Json { return c.published.mean; }},
       {Number("published_std", Null::kMayBe),
        [](Of c) { return c.published.deviation > 0 ? Json(c.published.deviation) : Json(); }},
       {Number("measured"), [](Of c) -> Json { return c.measured.mean; }},
       {Number("measured_std"), [](Of c) -> Json { return c.measured.deviation; }},
       {Number("deviation"), [](Of c) -> Json { return c.deviation; }},
       {Truth("reproduced"), [](Of c) -> Json { return c.reproduced; }},
       {Text("note"), [](Of c) -> Json { return c.note; }},
       {Optional(Number("published_seconds", Null::kMayBe)),
        [](Of c) { return c.table == "table1" ? Json(c.published_cost) : Nothing(); }},
       {Optional(Number("seconds", Null::kMayBe)),
        [](Of c) { return c.table == "table1" ? Json(c.cost) : Nothing(); }},
       {Optional(Number("published_steps_x_mse", Null::kMayBe)),
        [](Of c) { return c.table == "table4" ? Json(c.published_cost) : Nothing(); }},
       {Optional(Number("steps_x_mse", Null::kMayBe)),
        [](Of c) { return c.table == "table4" ? Json(c.cost) : Nothing(); }}});
  return fields;
}

}  // namespace polykern
