#include "polykern/core/names.h"

#include <set>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "polykern/core/losses.h"

namespace polykern {

/// Shown in another order than its values have, and one value is not the first.
enum class Season { kWinter = 3, kSummer = 1 };
static std::span<const Name<Season>> NamesOf(Season) {
  static constexpr Name<Season> kNames[] = {{Season::kWinter, "winter"},
                                            {Season::kSummer, "summer"}};
  return kNames;
}

namespace {

TEST(Names, AreFoundByValueAndValuesByName) {
  EXPECT_EQ(NameOf(Season::kSummer), "summer");
  EXPECT_EQ(NameOf(Season::kWinter), "winter");
  EXPECT_EQ(ValueOf<Season>("winter"), Season::kWinter);
  EXPECT_EQ(AllNames<Season>(), "winter, summer");
}

TEST(Names, AreKnownByEveryLetter) {
  for (const char* text : {"", "w", "winte", "winter ", " winter", "Winter", "wintersummer", "3"}) {
    EXPECT_EQ(ValueOf<Season>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ValueOf<Season>(std::string_view("winter\0", 7)), std::nullopt);
}

template <typename Enum>
class EveryNamedEnum : public testing::Test {};
using NamedEnums = testing::Types<Season, LossKind>;
TYPED_TEST_SUITE(EveryNamedEnum, NamedEnums);

TYPED_TEST(EveryNamedEnum, HasOneNameForEachValueAndOneValueForEachName) {
  std::set<std::string_view> texts;
  std::set<TypeParam> values;
  std::string all;
  for (const Name<TypeParam>& name : NamesOf(TypeParam{})) {
    EXPECT_TRUE(texts.insert(name.text).second);
    EXPECT_TRUE(values.insert(name.value).second);
    EXPECT_EQ(NameOf(name.value), name.text);
    EXPECT_EQ(ValueOf<TypeParam>(name.text), name.value);
    all += (all.empty() ? "" : ", ") + std::string(name.text);
  }
  EXPECT_EQ(AllNames<TypeParam>(), all);
}

}  // namespace
}  // namespace polykern
