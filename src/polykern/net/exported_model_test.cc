#include "polykern/net/exported_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ExportedModel SmallExport() {
  ExportedModel model{{{"algorithm", "pof-mkl"}, {"seed", "7"}}, {}, {0.25, 0.75}};
  model.model.step = 9;
  model.model.blocks = {0, 1};
  model.model.values = {1, -2, 0.5F, 1e-30F};
  return model;
}

TEST(AnExportedModel, ComesBackWithEveryBit) {
  const ExportedModel model = SmallExport();
  const std::string bytes = EncodeExport(model);
  const ExportedModel back = DecodeExport(bytes);
  EXPECT_EQ(back.configuration, model.configuration);
  EXPECT_EQ(back.model.step, 9U);
  EXPECT_EQ(back.model.values, model.model.values);
  EXPECT_EQ(back.weights, model.weights);
  EXPECT_EQ(EncodeExport(back), bytes);
}

TEST(AnExportedModel, IsHardlyLargerThanTheta) {
  ExportedModel model = SmallExport();
  model.model.values.assign(20'000, 0.1F);
  EXPECT_LT(EncodeExport(model).size(), 20'000 * sizeof(float) * 11 / 10);
}

TEST(AnExportedModel, IsNotReadIfAnyByteIsAnotherOne) {
  const std::string good = EncodeExport(SmallExport());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    EXPECT_THROW(DecodeExport(bad), Error) << at;
    EXPECT_THROW(DecodeExport(good.substr(0, at)), Error) << at;
  }
}

TEST(AnExportedModel, IsNamedIfItCannotBeRead) {
  const TestFolder folder;
  const std::string path = folder.At("wind.model");
  EXPECT_THAT(MessageOf([&] { ReadExport(path); }), HasSubstr(path));
  ReplaceFile(path, "{\"state\": [1]}", FileMode::kSecret);
  EXPECT_THAT(
      MessageOf([&] { ReadExport(path); }),
      AllOf(HasSubstr(path), HasSubstr("not a model of polykern; `polykern store export`")));
  const std::string good = EncodeExport(SmallExport());
  ReplaceFile(path, good.substr(0, good.size() - 1), FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { ReadExport(path); }), HasSubstr("a damaged model"));
}

}  // namespace
}  // namespace polykern
