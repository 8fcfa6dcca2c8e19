#include "polykern/net/load/child_server.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

/// A shell that runs a script.
std::vector<std::string> Script(const std::string& text) {
  return {"sh", "-c", text};
}

constexpr const char* kListening = "echo 'listening on 192.0.2.7:5: as it says'; ";

TEST(AChildServer, SaysWhereItListens) {
  const ChildServer server("/bin/sh", Script(std::string(kListening) + "read never"));
  EXPECT_EQ(server.address(), "192.0.2.7:5");
}

TEST(AChildServer, HasMemoryAndWorks) {
  const ChildServer server("/bin/sh", Script(std::string(kListening) + "while :; do :; done"));
  EXPECT_GT(server.Memory(), 10'000U);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (server.Work() == 0 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_GT(server.Work(), 0);
}

TEST(AChildServer, IsAskedToEndAndWaitedFor) {
  const TestFolder folder;
  const std::string mark = folder.At("ended");
  {
    const ChildServer server(
        "/bin/sh", Script("trap 'echo bye; touch " + mark + "; exit 0' TERM; " + kListening +
                          "while :; do :; done"));
    EXPECT_FALSE(std::filesystem::exists(mark));
  }
  EXPECT_TRUE(std::filesystem::exists(mark));
}

TEST(AChildServer, MustListen) {
  for (const char* script :
       {"exit 1", "echo hello", "echo 'listening on'", "exec /no/such/program"}) {
    EXPECT_EQ(MessageOf([&] { const ChildServer server("/bin/sh", Script(script)); }),
              "the server did not start")
        << script;
  }
  EXPECT_EQ(MessageOf([&] { const ChildServer server("/no/such/program", {"it"}); }),
            "the server did not start");
}

}  // namespace
}  // namespace polykern
