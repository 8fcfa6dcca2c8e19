#include "polykern/data/agreed_scale.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;

/// What a server tells, in the form of net's FederationConfiguration.
struct Told {
  struct Column {
    std::string name;
    double low, high;
  };
  std::string scaling = "range";
  double norm = 5;
  std::vector<Column> columns = {{"p", 0, 4}, {"q", -1, 1}};
  Column target = {"t", 10, 30};
  bool scales_labels = true;

  bool ScalesLabels() const { return scales_labels; }
};

std::array<float, 2> InputsBy(const Scale& scale, std::array<double, 2> raw) {
  std::array<float, 2> scaled{};
  scale.ScaleInputs(raw, scaled);
  return scaled;
}

TEST(AgreedScale, IsTheOneThatAFederationTells) {
  Told told;
  EXPECT_THAT(InputsBy(AgreedScale(told), {3, 0}), ElementsAre(0.5, 0));
  EXPECT_EQ(AgreedScale(told).ScaleLabel(15), 0.25);
  told.scaling = "norm";
  EXPECT_THAT(InputsBy(AgreedScale(told), {3, -4}), ElementsAre(0.6F, -0.8F));
  told.scaling = "none";
  EXPECT_THAT(InputsBy(AgreedScale(told), {3, -4}), ElementsAre(3, -4));
  EXPECT_EQ(AgreedScale(told).ScaleLabel(15), 0.25);
}

TEST(AgreedScale, LeavesLabelsAloneWhereTheFederationDoes) {
  for (const char* scaling : {"none", "norm", "range"}) {
    Told told;
    told.scaling = scaling;
    EXPECT_TRUE(AgreedScale(told).ClipsLabel(31));
    EXPECT_EQ(AgreedScale(told).ScaleLabel(31), 1);
    EXPECT_EQ(AgreedScale(told).UnscaleLabel(0.25), 15);
    told.scales_labels = false;
    EXPECT_FALSE(AgreedScale(told).ClipsLabel(31));
    EXPECT_EQ(AgreedScale(told).ScaleLabel(31), 31);
    EXPECT_EQ(AgreedScale(told).UnscaleLabel(31), 31);
  }
}

TEST(AgreedScale, RefusesAnyOtherName) {
  Told told;
  for (const char* name : {"log", "", "Range", "none "}) {
    told.scaling = name;
    EXPECT_EQ(MessageOf([&] { AgreedScale(told); }),
              std::string("unknown scaling '") + name + "'; there are: norm, range");
  }
}

TEST(AgreedScale, HasTheBitsOfTheScaleThatWasTold) {
  const std::vector<std::string> names = {"p", "q"};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const Scaling kind : {Scaling::kNorm, Scaling::kRange}) {
      Random random(seed, Purpose::kTest);
      ScaleFitter fitter({.kind = kind}, names, "t");
      std::vector<std::array<double, 2>> rows;
      for (int i = 0; i < 8; ++i) {
        rows.push_back({3 * random.Normal(), 100 + random.Normal()});
        fitter.Add(rows.back(), random.Normal());
      }
      const Scale fitted = fitter.Fit();
      Told told;
      told.scaling = kind == Scaling::kNorm ? "norm" : "range";
      told.norm = fitted.norm;
      told.columns.clear();
      for (const Range& range : fitted.features)
        told.columns.push_back({"", range.low, range.high});
      told.target = {"t", fitted.target.low, fitted.target.high};
      const Scale agreed = AgreedScale(told);
      for (const auto& row : rows) EXPECT_EQ(InputsBy(agreed, row), InputsBy(fitted, row));
      const double label = random.Normal();
      EXPECT_EQ(agreed.ScaleLabel(label), fitted.ScaleLabel(label));
      EXPECT_EQ(agreed.UnscaleLabel(label), fitted.UnscaleLabel(label));
    }
  }
}

}  // namespace
}  // namespace polykern
