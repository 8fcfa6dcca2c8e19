#include "polykern/net/transport/web_socket.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/transport/http_head.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using testing::HasSubstr;
using Kind = Ending::Kind;

/// Answers every message with itself; writes down what happens.
class Echo final : public WebSocket::Handler {
 public:
  void Opened(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    name_ = name;
  }
  void Received(std::string message) override {
    if (message == "bad") throw Error("that was bad");
    connection->Send(std::make_shared<const std::string>(message));
  }
  void Sent() override {}
  void Broke(const std::string& why) override {
    {
      const std::lock_guard lock(mutex_);
      broke_ = why;
    }
    connection->End({Kind::kBroken, why});
  }
  void Closed(const Ending& ending) override {
    connection.reset();
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }

  Ending WaitForEnd() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [this] { return ending_.has_value(); })) {
      return {Kind::kFinished, "it did not end"};
    }
    return *ending_;
  }
  std::string broke() {
    const std::lock_guard lock(mutex_);
    return broke_;
  }
  std::string name() {
    const std::lock_guard lock(mutex_);
    return name_;
  }

  std::shared_ptr<WebSocket> connection;  // the loop's

 private:
  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  std::string name_;
  std::string broke_;
  std::optional<Ending> ending_;
};

/// A server's side of a connection without TLS, and a peer that sends the bytes it likes.
class AWebSocket : public testing::Test {
 protected:
  void Start() {
    tcp::acceptor acceptor(io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    peer_.connect(acceptor.local_endpoint());
    tcp::socket socket(loop_.io());
    acceptor.accept(socket);
    loop_.Post([this, socket = std::move(socket)]() mutable {
      echo_->connection =
          std::make_shared<WebSocket>(loop_, std::move(socket), nullptr, options_, echo_);
      echo_->connection->Start();
    });
  }
  void Open() {
    Start();
    Write(OpeningRequest(kJoinTarget, "h", "KEY", "mill"));
    EXPECT_EQ(Read(OpeningAnswer("KEY").size()), OpeningAnswer("KEY"));
  }
  /// False: the connection has ended.
  bool Write(const std::string& bytes) {
    boost::system::error_code error;
    boost::asio::write(peer_, boost::asio::buffer(bytes), error);
    return !error;
  }
  std::string Read(std::size_t count) {
    std::string bytes(count, '\0');
    boost::system::error_code error;
    const std::size_t got = boost::asio::read(peer_, boost::asio::buffer(bytes), error);
    return bytes.substr(0, got);
  }
  /// All frames until the connection ends.
  std::vector<Frame> ReadFrames() {
    const std::string bytes = Read(1 << 20);
    FrameReader reader(Side::kClient, 1 << 20);
    reader.Allow(1 << 20);
    std::string_view rest = bytes;
    std::vector<Frame> frames;
    while (auto frame = reader.Next(rest)) frames.push_back(*std::move(frame));
    return frames;
  }
  static std::string Masked(Opcode opcode, std::string_view payload) {
    return MaskedFrame(opcode, payload, {7, 8, 9, 10});
  }

  WebSocketOptions options_{.longest_message = 1000};
  std::shared_ptr<Echo> echo_ = std::make_shared<Echo>();
  boost::asio::io_context io_;
  tcp::socket peer_{io_};
  Loop loop_{milliseconds(10)};
};

TEST_F(AWebSocket, CarriesMessagesAndIsClosedByEitherSide) {
  Open();
  Write(Masked(Opcode::kBinary, "one") + Masked(Opcode::kPing, "two") + Masked(Opcode::kClose, ""));
  const auto frames = ReadFrames();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].payload, "one");
  EXPECT_EQ(frames[1].opcode, Opcode::kPong);
  EXPECT_EQ(frames[1].payload, "two");
  EXPECT_EQ(frames[2].opcode, Opcode::kClose);
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kFinished);
  EXPECT_EQ(echo_->name(), "mill");
}

TEST_F(AWebSocket, TakesFramesThatComeWithTheRequest) {
  Start();
  Write(OpeningRequest(kJoinTarget, "h", "KEY", "") + Masked(Opcode::kBinary, "early") +
        Masked(Opcode::kClose, ""));
  Read(OpeningAnswer("KEY").size());
  EXPECT_EQ(ReadFrames().at(0).payload, "early");
}

TEST_F(AWebSocket, EndsForWhatBreaksARule) {
  const std::string big(1001, 'x');
  for (const auto& [bytes, why] :
       {std::pair{Masked(Opcode::kBinary, "bad"), "that was bad"},
        std::pair{FrameHeader(Opcode::kBinary, 1) + "x", "not masked"},
        std::pair{Masked(Opcode::kBinary, big).substr(0, 8), "more than 1000 bytes"}}) {
    peer_ = tcp::socket(io_);
    echo_ = std::make_shared<Echo>();
    Open();
    Write(bytes);
    const auto frames = ReadFrames();
    ASSERT_EQ(frames.size(), 1U);
    const Ending told = ReadClose(frames[0].payload);
    EXPECT_EQ(told.kind, Kind::kBroken);
    EXPECT_THAT(told.reason, HasSubstr(why));
    EXPECT_THAT(echo_->broke(), HasSubstr(why));
    EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kBroken);
  }
}

TEST_F(AWebSocket, EndsForAFloodOfPings) {
  Open();
  std::string flood;
  for (int i = 0; i < 2000; ++i) flood += Masked(Opcode::kPing, "");
  Write(flood);
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kBroken);
  EXPECT_EQ(echo_->broke(), "too many frames at once");
}

TEST_F(AWebSocket, IsOpenedByAWebSocketAtItsTargetOnly) {
  for (const auto& [request, status] :
       {std::pair{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "404"},
        std::pair{"GET /polykern HTTP/1.1\r\nHost: h\r\n\r\n", "426"}}) {
    peer_ = tcp::socket(io_);
    echo_ = std::make_shared<Echo>();
    Start();
    Write(request);
    EXPECT_THAT(Read(2000), HasSubstr(std::string("HTTP/1.1 ") + status));
    EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kBroken);
  }
  peer_ = tcp::socket(io_);
  echo_ = std::make_shared<Echo>();
  Start();
  Write("nonsense\r\n\r\n");
  EXPECT_EQ(Read(100), "");
  EXPECT_EQ(echo_->WaitForEnd().reason, "bytes that are not HTTP");
}

TEST_F(AWebSocket, HasLittleTimeToBeOpened) {
  options_.opening_time = milliseconds(50);
  Start();
  Write("GET /polykern HTT");
  EXPECT_EQ(echo_->WaitForEnd().reason, "it took too long to connect");
}

TEST_F(AWebSocket, AsksASilentPeerAndThenEnds) {
  options_.keepalive = milliseconds(50);
  Open();
  const auto frames = ReadFrames();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].opcode, Opcode::kPing);
  EXPECT_EQ(echo_->WaitForEnd().reason, "the other side is silent");
}

TEST_F(AWebSocket, EndsWhenItsPeerDoesNotRead) {
  options_.keepalive = milliseconds(300);
  options_.longest_message = 20'000'000;  // more than the system keeps
  const std::string message = Masked(Opcode::kBinary, std::string(20'000'000, 'x'));
  Open();
  Write(message);
  while (Write(Masked(Opcode::kPong, "")))
    std::this_thread::sleep_for(milliseconds(30));  // it is there
  EXPECT_EQ(echo_->WaitForEnd().reason, "the other side does not read its messages");
}

TEST_F(AWebSocket, IsLostWhenItIsCut) {
  Open();
  peer_.close();
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kLost);
}

TEST_F(AWebSocket, OutlivesAPeerThatGoesWhileItWrites) {
  options_.longest_message = 1 << 20;
  Open();
  Write(Masked(Opcode::kBinary, std::string(1 << 20, 'x')));
  peer_.set_option(boost::asio::socket_base::linger(true, 0));  // without a farewell
  peer_.close();
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kLost);
}

TEST_F(AWebSocket, MayEndWhileItStarts) {
  tcp::acceptor acceptor(io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  tcp::socket socket(loop_.io());
  socket.connect(acceptor.local_endpoint());
  acceptor.accept(peer_);
  Write("HTTP/1.1 400 Bad Request\r\n\r\n");  // before it was asked for anything
  loop_.Post([this, socket = std::move(socket)]() mutable {
    echo_->connection = std::make_shared<WebSocket>(loop_, std::move(socket), nullptr, options_,
                                                    echo_, "h", "mill");
    echo_->connection->Start();
  });
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kNotOurs);
}

TEST_F(AWebSocket, EndsWithItsLoop) {
  Open();
  loop_.Stop();
  EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kStopping);
}

TEST_F(AWebSocket, AnswersTheSameHoweverItsBytesAreCutIntoPieces) {
  Random random(1, Purpose::kTest);
  const std::string request = OpeningRequest(kJoinTarget, "h", "KEY", "mill");
  std::vector<std::string> messages;
  for (const std::size_t size : {0U, 1U, 125U, 126U, 999U, 1000U}) {
    messages.emplace_back(size, static_cast<char>('a' + messages.size()));
  }
  for (int round = 0; round < 8; ++round) {
    peer_ = tcp::socket(io_);
    echo_ = std::make_shared<Echo>();
    Start();
    peer_.set_option(tcp::no_delay(true));
    Write(request.substr(0, random.Below(request.size())));
    std::string rest = request;
    peer_.close();  // cut within the request, it was no client
    EXPECT_EQ(echo_->WaitForEnd().kind, Kind::kLost);
    peer_ = tcp::socket(io_);
    echo_ = std::make_shared<Echo>();
    Start();
    for (const std::string& message : messages) {
      rest += Masked(Opcode::kBinary, message);
      while (!rest.empty()) {
        const std::size_t piece = 1 + random.Below(rest.size());
        Write(rest.substr(0, piece));
        rest.erase(0, piece);
      }
      const std::string answer = (&message == messages.data() ? OpeningAnswer("KEY") : "") +
                                 FrameHeader(Opcode::kBinary, message.size()) + message;
      EXPECT_EQ(Read(answer.size()), answer);
    }
  }
}

TEST_F(AWebSocket, EndsForGarbageOrWaitsForTheRestOfAFrame) {
  Random random(2, Purpose::kTest);
  int broken = 0;
  for (int n = 0; n < 60; ++n) {
    peer_ = tcp::socket(io_);
    echo_ = std::make_shared<Echo>();
    Open();
    std::string garbage(1 + random.Below(200), '\0');
    for (char& c : garbage) c = static_cast<char>(random.Below(256));
    Write(garbage);
    peer_.shutdown(tcp::socket::shutdown_send);
    const Ending ending = echo_->WaitForEnd();
    EXPECT_TRUE(ending.kind == Kind::kBroken || ending.kind == Kind::kLost || garbage[0] == '\x88')
        << ending.reason;
    EXPECT_EQ(ending.kind == Kind::kBroken, !echo_->broke().empty());
    broken += static_cast<int>(ending.kind == Kind::kBroken);
  }
  EXPECT_GT(broken, 50);
}

}  // namespace
}  // namespace polykern
