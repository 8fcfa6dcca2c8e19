#include "polykern/net/agent/agent_state.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

class AnAgentsState : public testing::Test {
 protected:
  TestFolder folder;
  const std::string path = folder.At("an.state");
  const AgentState some{
      {{"seed", "7"}, {"column.0", "0:1 h\xe9"}},
      3,
      9,
      {1ULL << 40, 1ULL << 50, ~0ULL - 1, {0.3, -7}, {1.5, 2}, {0.5, 0.1, -1}, {~0ULL, 5}},
      {0.1, -0.0, 5e-324},
      "up",
      std::string("mo\0del", 6),
      0,
      {},
      {0.9, 0.25, -1, 7}};
};

TEST_F(AnAgentsState, ComesBackWithEveryBit) {
  EXPECT_EQ(ReadAgentState(path), std::nullopt);
  WriteAgentState(path, some);
  const auto back = ReadAgentState(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->configuration, some.configuration);
  EXPECT_EQ(back->client, 3U);
  EXPECT_EQ(back->next_step, 9U);
  EXPECT_EQ(back->position.line, 1ULL << 40);
  EXPECT_EQ(back->position.bytes, 1ULL << 50);
  EXPECT_EQ(back->position.sum, ~0ULL - 1);
  EXPECT_EQ(back->position.labels, some.position.labels);
  EXPECT_EQ(back->position.means, some.position.means);
  EXPECT_EQ(back->position.ahead, some.position.ahead);
  EXPECT_EQ(back->position.messages, some.position.messages);
  EXPECT_EQ(back->private_state, some.private_state);
  EXPECT_TRUE(std::signbit(back->private_state[1]));
  EXPECT_EQ(back->update, some.update);
  EXPECT_EQ(back->model, some.model);
  EXPECT_EQ(back->interval, some.interval);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

/// What hexadecimal digits stand for.
std::string Bytes(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST_F(AnAgentsState, OfTheFirstFormatIsReadButDoesNotSayWhatItsInputWas) {
  const std::string old = Bytes(
      "080112090a04736565641201371803200928073208000000000000e03f3a02757042026d6f7a2028976c"
      "c98426e3c65106dbc82904394d6d412e99393f20ed307f132c68385feb");
  ReplaceFile(path, old, FileMode::kSecret);
  const auto back = ReadAgentState(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->configuration, (ConfigurationTexts{{"seed", "7"}}));
  EXPECT_EQ(back->client, 3U);
  EXPECT_EQ(back->next_step, 9U);
  EXPECT_EQ(back->position.line, 7U);
  EXPECT_EQ(back->position.bytes, 0U);
  EXPECT_EQ(back->private_state, std::vector{0.5});
  EXPECT_EQ(back->update, "up");
  EXPECT_EQ(back->model, "mo");
}

TEST_F(AnAgentsState, NoticesEveryFlippedBitAndEveryMissingByte) {
  WriteAgentState(path, some);
  const std::string good = ReadWholeFile(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    ReplaceFile(path, bad, FileMode::kSecret);
    EXPECT_THROW(ReadAgentState(path), Error) << i;
    ReplaceFile(path, good.substr(0, i), FileMode::kSecret);
    EXPECT_THROW(ReadAgentState(path), Error) << i;
  }
}

}  // namespace
}  // namespace polykern
