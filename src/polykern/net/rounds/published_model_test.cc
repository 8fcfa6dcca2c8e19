#include "polykern/net/rounds/published_model.h"

#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/configuration_texts.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class APublishedModel : public testing::Test {
 protected:
  APublishedModel() {
    shape_.blocks = 3;
    shape_.width = 2;
  }
  static ModelChange ChangeIn(const std::string& message) {
    return std::get<ModelChange>(DecodeServerMessage(message));
  }

  ModelShape shape_;
  ConfigurationTexts configuration_ = ToTexts(FederationConfiguration());
  PublishedModel Make(std::uint64_t steps = 0) {
    return {shape_, configuration_, steps, Broadcast{5, {1, 1, 2, 2, 3, 3}}};
  }
};

TEST_F(APublishedModel, WelcomesWithEveryBlock) {
  const PublishedModel model = Make();
  const auto welcome = std::get<Welcome>(DecodeServerMessage(model.WelcomeTo(7, 4, true)));
  EXPECT_EQ(welcome.client, 7U);
  EXPECT_EQ(welcome.answered, 4U);
  EXPECT_TRUE(welcome.uses_late);
  EXPECT_EQ(welcome.model.step, 5U);
  EXPECT_THAT(welcome.model.values, ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST_F(APublishedModel, TellsWhatChangedSinceAStep) {
  PublishedModel model = Make();
  model.Publish({6, {1, 1, 2, 9, 3, 3}});
  model.Publish({7, {8, 1, 2, 9, 3, 3}});
  EXPECT_THAT(ChangeIn(*model.ChangeSince(5)).blocks, ElementsAre(0, 1));
  EXPECT_THAT(ChangeIn(*model.ChangeSince(6)).values, ElementsAre(8, 1));
  EXPECT_THAT(ChangeIn(*model.ChangeSince(7)).blocks, IsEmpty());
  EXPECT_EQ(model.ChangeSince(6), model.ChangeSince(6)) << "encoded once";
}

TEST_F(APublishedModel, TellsOfBitsNotOfNumbers) {
  PublishedModel model = Make();
  model.Publish({6, {1, 1, 2, 2, 0.0F, 3}});
  model.Publish({7, {1, 1, 2, 2, -0.0F, 3}});
  EXPECT_THAT(ChangeIn(*model.ChangeSince(6)).blocks, ElementsAre(2));
}

TEST_F(APublishedModel, SaysWhenItIsTheLast) {
  PublishedModel model = Make(6);
  EXPECT_FALSE(model.finished());
  model.Publish({6, {1, 1, 2, 2, 3, 3}});
  EXPECT_TRUE(model.finished());
  EXPECT_TRUE(ChangeIn(*model.ChangeSince(5)).finished);
}

TEST_F(APublishedModel, IsNotForOtherVersionsOfTheProtocol) {
  EXPECT_EQ(PublishedModel::Refusal(kProtocolVersion), std::nullopt);
  for (const std::uint32_t version : {0U, 4U, kProtocolVersion + 1}) {
    EXPECT_EQ(PublishedModel::Refusal(version)->kind, Ending::Kind::kVersion);
  }
}

}  // namespace
}  // namespace polykern
