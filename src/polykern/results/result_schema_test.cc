#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::HasSubstr;

/// What CheckObject says of an object; nothing if it is right.
std::string Fault(OrderedJson object, const ObjectType& type) {
  const std::string text = MessageOf([&] { CheckObject(object, type, "run", "file"); });
  return text == "no Error was thrown" ? "" : text.substr(0, text.find(';'));
}

TEST(SchemaOfAnObject, TellsEveryTypeFromEveryOther) {
  const OrderedJson values[] = {"text", 1.5, true, OrderedJson::object()};
  const std::string wanted[] = {"a text", "a number", "true or false", "an object"};
  for (std::size_t type = 0; type < 4; ++type) {
    const ObjectType object = {.name = "Run",
                               .fields = {{.name = "x", .type = static_cast<FieldType>(type)}}};
    for (std::size_t value = 0; value < 4; ++value) {
      EXPECT_EQ(Fault({{"x", values[value]}}, object),
                type == value ? "" : "file: 'run.x' must be " + wanted[type]);
    }
    EXPECT_EQ(Fault({{"x", nullptr}}, object), "file: 'run.x' must be " + wanted[type]);
    EXPECT_EQ(Fault(OrderedJson::object(), object), "file: 'run.x' is missing");
    EXPECT_EQ(Fault({1, 2}, object), "file: 'run' must be an object");
  }
}

TEST(SchemaOfAnObject, KnowsWhereNullMayBe) {
  const auto with = [](Null null, std::vector<std::string> shape) {
    return ObjectType{
        .name = "Run",
        .fields = {
            {.name = "x", .type = FieldType::kNumber, .null = null, .shape = std::move(shape)}}};
  };
  EXPECT_EQ(Fault({{"x", nullptr}}, with(Null::kMayBe, {})), "");
  EXPECT_EQ(Fault({{"x", "1"}}, with(Null::kMayBe, {})), "file: 'run.x' must be a number or null");
  EXPECT_EQ(Fault({{"x", nullptr}}, with(Null::kIfDiverged, {})), "file: 'run.x' must be a number");
  EXPECT_EQ(
      Fault({{"x", nullptr}, {"diverged", OrderedJson::object()}}, with(Null::kIfDiverged, {})),
      "");
  EXPECT_EQ(Fault({{"x", {1, nullptr}}}, with(Null::kItems, {"x"})), "");
  EXPECT_EQ(Fault({{"x", nullptr}}, with(Null::kItems, {"x"})), "file: 'run.x' must be a list");
  EXPECT_EQ(Fault({{"x", {1, nullptr}}}, with(Null::kMayBe, {"x"})),
            "file: 'run.x[1]' must be a number");
  EXPECT_EQ(Fault({{"x", nullptr}}, with(Null::kMayBe, {"x"})), "");
}

TEST(SchemaOfAnObject, MeasuresListsByOthers) {
  const ObjectType type = {
      .name = "Run",
      .fields = {{.name = "rows", .shape = {"rows"}},
                 {.name = "columns", .shape = {"columns"}},
                 {.name = "cells", .type = FieldType::kNumber, .shape = {"rows", "columns"}}}};
  const OrderedJson right = {
      {"rows", {"a", "b"}}, {"columns", {"c"}}, {"cells", {OrderedJson{1}, OrderedJson{2}}}};
  EXPECT_EQ(Fault(right, type), "");
  OrderedJson wrong = right;
  wrong["cells"].push_back(OrderedJson{3});
  EXPECT_EQ(Fault(wrong, type), "file: 'run.cells' must be a list of 2");
  wrong = right;
  wrong["cells"][1] = {2, 3};
  EXPECT_EQ(Fault(wrong, type), "file: 'run.cells[1]' must be a list of 1");
  wrong["cells"][1] = 2;
  EXPECT_EQ(Fault(wrong, type), "file: 'run.cells[1]' must be a list of 1");
  wrong = right;
  wrong["rows"][1] = 7;
  EXPECT_EQ(Fault(wrong, type), "file: 'run.rows[1]' must be a text");
  wrong["rows"] = "a";
  EXPECT_EQ(Fault(wrong, type), "file: 'run.rows' must be a list");
}

TEST(SchemaOfAnObject, LooksIntoInnerObjects) {
  const ObjectType inner = {.name = "Inner", .fields = {{.name = "y"}}};
  const ObjectType type = {.name = "Run",
                           .fields = {{.name = "x", .type = FieldType::kObject, .object = &inner}}};
  EXPECT_EQ(Fault({{"x", {{"y", "z"}, {"more", 1}}}}, type), "");
  EXPECT_EQ(Fault({{"x", {{"y", 1}}}}, type), "file: 'run.x.y' must be a text");
  EXPECT_EQ(Fault({{"x", OrderedJson::object()}}, type), "file: 'run.x.y' is missing");
}

/// A result with what must be there and nothing else, of an algorithm without kernels.
OrderedJson LeastResult() {
  const char* text = R"({"polykern": "0.1.0", "command": "polykern run",
    "data": {"name": "n", "files": [], "folder": "", "target": "t", "inputs": [],
      "unused_columns": [], "site_column": "", "client_column": "", "categorical": [],
      "missing": "drop", "ranges": {}, "major_share": 0.7, "rows": 1, "dropped_rows": 0,
      "clipped_values": 0, "dimension": 1, "clients": 1, "steps": 1, "sites": ["a"],
      "scaling": "norm", "split": "iid", "seed": 0},
    "runs": [{"algorithm": "perfedavg", "kernels_per_upload": null, "features": null,
      "clients": 1, "steps": 1, "repetitions": 1, "mse": 0.5, "mse_std": 0,
      "regret_mean": null, "regret_std": null, "regret_bound": null,
      "losses_in_unit_range": true, "client_runs_over_bound": 0, "uplink_numbers": 1,
      "uplink_bytes": 4, "downlink_bytes": 4, "seconds": 0.1, "microseconds_per_sample": 1,
      "fingerprint": "0", "options": {"exploration": 1, "budget": 1, "weights": "reset",
        "weight_rate": null},
      "curves": {"step": [1], "mse": [0.5], "regret": [null]},
      "client_regret": null, "client_weights": null}]})";
  return OrderedJson::parse(text);
}

std::string FaultOfResult(OrderedJson result) {
  const std::string text = MessageOf([&] { CheckResult(result, "file"); });
  return text == "no Error was thrown" ? "" : text.substr(0, text.find(';'));
}

TEST(SchemaOfAResult, IsThatOfVersion010) {
  OrderedJson result = LeastResult();
  EXPECT_EQ(FaultOfResult(result), "");
  for (const char* part : {"polykern", "command", "data", "runs"}) {
    OrderedJson without = result;
    without.erase(part);
    EXPECT_EQ(FaultOfResult(without), std::string("file: '") + part + "' is missing");
  }
  for (const auto& [name, value] : result["data"].items()) {
    OrderedJson without = result;
    without["data"].erase(name);
    EXPECT_EQ(FaultOfResult(without), "file: 'data." + name + "' is missing");
  }
  for (const auto& [name, value] : result["runs"][0].items()) {
    OrderedJson without = result;
    without["runs"][0].erase(name);
    EXPECT_EQ(FaultOfResult(without), "file: 'runs[0]." + name + "' is missing");
  }
}

TEST(SchemaOfAResult, WantsRunsAndSaysWhereToGetThem) {
  OrderedJson result = LeastResult();
  result["runs"] = OrderedJson::array();
  EXPECT_THAT(MessageOf([&] { CheckResult(result, "file"); }),
              HasSubstr("'runs' is empty; make it again with polykern run or polykern reproduce"));
  result["runs"] = 1;
  EXPECT_EQ(FaultOfResult(result), "file: 'runs' must be a list");
}

TEST(SchemaOfAResult, OfAReproductionHasListsOfDataAndComparisons) {
  OrderedJson result = LeastResult();
  result["data"] = OrderedJson::array({result["data"]});
  result["reproduction"] = OrderedJson::array();
  EXPECT_EQ(FaultOfResult(result), "file: 'runs[0].data' is missing");
  result["runs"][0]["data"] = "n";
  EXPECT_EQ(FaultOfResult(result), "");
  result["reproduction"].push_back(ReproductionFields().Write({}));
  EXPECT_EQ(FaultOfResult(result), "");
  result["reproduction"][0].erase("reproduced");
  EXPECT_EQ(FaultOfResult(result), "file: 'reproduction[0].reproduced' is missing");
}

TEST(SchemaJson, NamesTheObjectsOfTheirFields) {
  const OrderedJson schema = SchemaJson();
  EXPECT_EQ(schema["Run"]["fields"]["curves"]["object"], "Curves");
  EXPECT_EQ(schema["Run"]["fields"]["diverged"]["optional"], true);
  EXPECT_EQ(schema["Options"]["open"], true);
  EXPECT_EQ(schema["Data"]["open"], false);
  for (const auto& [name, type] : schema.items()) {
    for (const auto& [field, value] : type["fields"].items()) {
      if (!value.contains("object")) continue;
      EXPECT_TRUE(schema.contains(value["object"].get<std::string>())) << name << "." << field;
    }
  }
}

}  // namespace
}  // namespace polykern
