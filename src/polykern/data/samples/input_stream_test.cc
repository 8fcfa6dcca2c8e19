#include "polykern/data/samples/input_stream.h"

#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/data/samples/input_lines.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A program that listens on the loopback for one connection.
class Listener {
 public:
  Listener() {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof to;
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&to), size), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&to), &size), 0);
    port_ = ntohs(to.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  /// Sends this to whoever has connected, and closes; in anger: without waiting for anything.
  void Serve(const std::string& bytes, bool in_anger = false) const {
    const int peer = accept(socket_, nullptr, nullptr);
    EXPECT_EQ(send(peer, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    if (in_anger) {
      const linger at_once{1, 0};
      setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(peer);
  }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
  std::uint16_t port_ = 0;
};

std::string AllOf(std::istream& input) {
  return {std::istreambuf_iterator<char>(input), {}};
}

TEST(AnInput, IsCalledWhatTheUserCallsIt) {
  EXPECT_EQ(InputName("-"), "standard input");
  EXPECT_EQ(InputName("a/b.csv"), "a/b.csv");
}

TEST(AnInput, MayBeAFile) {
  const TestFolder folder;
  const std::string path = folder.Write("in.csv", std::string("a\0b\n", 4));
  EXPECT_EQ(KindOf(path), InputKind::kFile);
  EXPECT_EQ(AllOf(*OpenInput(path)), std::string("a\0b\n", 4));
}

TEST(AnInput, MayBeAPipeWithAName) {
  const TestFolder folder;
  const std::string path = folder.At("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(KindOf(path), InputKind::kNamed);
  const int writer = open(path.c_str(), O_RDWR);  // a reader of its own, so that nothing blocks
  ASSERT_EQ(write(writer, "x\n", 2), 2);
  const auto input = OpenInput(path);
  close(writer);
  EXPECT_EQ(AllOf(*input), "x\n");
}

/// Standard input is something else, while this lives.
class StandardInput {
 public:
  explicit StandardInput(int descriptor) { dup2(descriptor, STDIN_FILENO); }
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  const int before_ = dup(STDIN_FILENO);
};

TEST(AnInput, MayBeStandardInputWhichMayBeAFile) {
  const TestFolder folder;
  const int file = open(folder.Write("in.csv", "abc").c_str(), O_RDONLY);
  {
    const StandardInput now(file);
    EXPECT_EQ(KindOf("-"), InputKind::kFile);
    EXPECT_EQ(AllOf(*OpenInput("-")), "abc");
  }
  close(file);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const StandardInput now(ends[0]);
    EXPECT_EQ(KindOf("-"), InputKind::kStream);
    ASSERT_EQ(write(ends[1], "xyz", 3), 3);
    close(ends[1]);
    EXPECT_EQ(AllOf(*OpenInput("-")), "xyz");
  }
  close(ends[0]);
  const int directory = open(folder.path().c_str(), O_RDONLY);
  {
    const StandardInput now(directory);
    EXPECT_THAT(MessageOf([] { OpenInput("-"); }), HasSubstr("standard input: is a folder"));
  }
  close(directory);
}

TEST(AnInput, MayBeWhatAProgramSends) {
  const Listener program;
  EXPECT_EQ(KindOf(program.url()), InputKind::kStream);
  const auto input = OpenInput(program.url());
  program.Serve("a,b\n1,2\n");
  EXPECT_EQ(AllOf(*input), "a,b\n1,2\n");
}

TEST(AnInput, ThatIsCutOffIsBrokenNotAtItsEnd) {
  const Listener program;
  const auto input = OpenInput(program.url());
  program.Serve("", true);
  InputLines lines(*input, "program");
  EXPECT_THROW(lines.Next(), BrokenInput);
}

TEST(AnInput, ThatCannotBeOpenedSaysWhy) {
  const TestFolder folder;
  EXPECT_THAT(MessageOf([&] { OpenInput(folder.At("none")); }),
              HasSubstr("none: cannot be read; check the path"));
  EXPECT_THAT(MessageOf([&] { OpenInput(folder.path()); }),
              HasSubstr(": is a folder; name a file with samples"));
  for (const char* what : {"tcp://", "tcp://host", "tcp://:7", "tcp://host:"}) {
    EXPECT_EQ(MessageOf([&] { OpenInput(what); }),
              "input=" + std::string(what) + ": not of the form tcp://HOST:PORT");
  }
  std::string gone;
  {
    const Listener program;
    gone = program.url();
  }
  EXPECT_THAT(MessageOf([&] { OpenInput(gone); }),
              HasSubstr("cannot connect (Connection refused); is the address right, and does"));
  EXPECT_THAT(MessageOf([&] { OpenInput("tcp://[::1]:no-port"); }),
              StartsWith("tcp://[::1]:no-port: not found ("));
}

}  // namespace
}  // namespace polykern
