#include "polykern/net/rounds/step_writer.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class AStepWriter : public testing::Test {
 protected:
  void End(std::uint64_t steps, std::vector<CountedUpdate> counted = {}) {
    writer_.End({steps, StateOf(steps), std::move(counted), {}, now_});
  }

  TestFolder folder_;
  std::unique_ptr<Store> store_ = OpenStore(folder_.At("store.db"), kTestConfiguration);
  StepWriter writer_{*store_};
  RoundsTime now_{seconds(1000)};
};

TEST_F(AStepWriter, WritesAllThatWaitsAtOnce) {
  EXPECT_FALSE(writer_.Due(now_));
  writer_.Log("a", "joined", "");
  EXPECT_FALSE(writer_.Due(now_)) << "a line can wait";
  writer_.Enrol("a");
  writer_.Enrol("b");
  End(1, {{.client = 1, .step = 0}});
  EXPECT_TRUE(writer_.Due(now_));
  EXPECT_FALSE(store_->Contents().newest);
  const WriteResult result = writer_.Write(now_);
  EXPECT_EQ(result.clients, 2U);
  ASSERT_TRUE(result.step);
  EXPECT_EQ(result.step->steps, 1U);
  EXPECT_EQ(result.step->first_answer, now_);
  EXPECT_EQ(result.trouble, "");
  EXPECT_FALSE(result.failure);
  EXPECT_FALSE(writer_.Due(now_));
  const StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.newest->state, StateOf(1));
  EXPECT_EQ(contents.clients.at(1).accepted, 1U);
  EXPECT_EQ(contents.events, 1U);
}

TEST_F(AStepWriter, WritesManyLinesByThemselves) {
  for (int i = 0; i < 999; ++i) writer_.Log("a", "joined", "");
  EXPECT_FALSE(writer_.Due(now_));
  writer_.Log("a", "joined", "");
  ASSERT_TRUE(writer_.Due(now_));
  writer_.Write(now_);
  EXPECT_EQ(store_->Contents().events, 1000U);
}

TEST(AStepWriterThatEnds, WritesTheLinesThatWait) {
  const auto store = OpenStore("memory:", kTestConfiguration);
  StepWriter(*store).Log("a", "joined", "");
  EXPECT_EQ(store->Contents().events, 1U);
}

TEST_F(AStepWriter, WaitsASecondWhenThereIsNoRoomAndKeepsTheOrder) {
  writer_.Enrol("a");
  End(1, {{.client = 0, .step = 0}});
  {
    const FileSizeLimit limit(1);
    EXPECT_THAT(writer_.Write(now_).trouble, HasSubstr("the disk is full"));
    EXPECT_FALSE(writer_.Due(now_ + milliseconds(999)));
    writer_.Enrol("b");
    now_ += seconds(1);
    ASSERT_TRUE(writer_.Due(now_));
    const WriteResult again = writer_.Write(now_);
    EXPECT_EQ(again.clients, 0U);
    EXPECT_FALSE(again.step);
    EXPECT_FALSE(again.failure);
  }
  now_ += seconds(1);
  const WriteResult written = writer_.Write(now_);
  EXPECT_EQ(written.clients, 2U);
  EXPECT_EQ(written.step->steps, 1U);
  const StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.clients.at(0).name, "a");
  EXPECT_EQ(contents.clients.at(1).name, "b");
  EXPECT_EQ(contents.clients.at(0).accepted, 1U);
}

TEST_F(AStepWriter, KeepsTheNewestLinesWhileThereIsNoRoom) {
  {
    const FileSizeLimit limit(1);
    for (int i = 0; i < 10'000; ++i) {
      writer_.Log("a", "joined", "");
      if (writer_.Due(now_)) writer_.Write(now_);
    }
  }
  writer_.Write(now_ + seconds(1));
  EXPECT_GE(store_->Contents().events, 1000U);
  EXPECT_LT(store_->Contents().events, 2000U);
}

TEST_F(AStepWriter, WritesAnotherConfiguration) {
  StoreConfiguration other = kTestConfiguration;
  other["seed"] = "9";
  writer_.Configure(other);
  EXPECT_TRUE(writer_.Due(now_));
  EXPECT_EQ(writer_.Write(now_).configuration, other);
  EXPECT_FALSE(writer_.Due(now_));
  EXPECT_EQ(store_->Contents().configuration, other);
}

}  // namespace
}  // namespace polykern
