// A client's connection, against servers that answer whatever a test likes.
#include "polykern/net/transport/client_stream.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/net/transport/client_stream_testing.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A client, and a server of plain sockets that does what a test says.
class AClientStream : public testing::Test {
 protected:
  AClientStream() {
    options_.server = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  ~AClientStream() override { loop_.Stop(); }

  void Make() { stream_ = std::make_unique<ClientStream>(loop_, options_, notebook_); }
  void Begin(const std::string& hello = "hello") {
    if (stream_ == nullptr) Make();
    stream_->Begin(hello);
  }
  /// The server's side of it: what the client asks for.
  HttpHead Accept() {
    acceptor_.accept(peer_);
    boost::asio::read_until(peer_, boost::asio::dynamic_buffer(came_), "\r\n\r\n");
    return *TakeRequestHead(came_);
  }
  void Write(const std::string& bytes) {
    boost::system::error_code ignored;  // the client may have gone
    boost::asio::write(peer_, boost::asio::buffer(bytes), ignored);
  }
  /// It has done all that it had to do so far.
  void WaitForLoop() {
    std::promise<void> done;
    loop_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }
  void Open() { Write(OpeningAnswer(Accept().key)); }
  /// Again, with another client.
  void Renew() {
    stream_.reset();
    peer_ = tcp::socket(io_);
    came_.clear();
    reader_.emplace(Side::kServer, 1 << 24);
    next_ = std::make_unique<Notebook>();
    stream_ = std::make_unique<ClientStream>(loop_, options_, *next_);
  }
  /// What the client sends; none: it has ended the connection.
  std::optional<Frame> Next() {
    std::string part(4096, '\0');
    for (;;) {
      std::string_view rest = came_;
      auto frame = reader_->Next(rest);
      came_ = std::string(rest);
      if (frame) return frame;
      boost::system::error_code error;
      const std::size_t got = peer_.read_some(boost::asio::buffer(part), error);
      if (error) return {};
      came_ += part.substr(0, got);
    }
  }
  std::string NextMessage() {
    const auto frame = Next();
    return frame && frame->opcode == Opcode::kBinary ? frame->payload : "no message";
  }
  static std::string Message(std::string_view payload) {
    return FrameHeader(Opcode::kBinary, payload.size()) + std::string(payload);
  }
  static std::string Close(const Ending& ending) {
    const std::string payload = ClosePayload(ending);
    return FrameHeader(Opcode::kClose, payload.size()) + payload;
  }

  Notebook notebook_;
  std::unique_ptr<Notebook> next_;
  boost::asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  tcp::socket peer_{io_};
  std::string came_;
  std::optional<FrameReader> reader_{std::in_place, Side::kServer, std::size_t{1} << 24};
  ClientStreamOptions options_;
  Loop loop_{milliseconds(10)};
  std::unique_ptr<ClientStream> stream_;
};

TEST_F(AClientStream, SaysWhereItWantsToGoAndWhoItIs) {
  options_.name = "mill";
  options_.target = "/elsewhere";
  Begin();
  const HttpHead head = Accept();
  EXPECT_TRUE(head.upgrades);
  EXPECT_EQ(head.target, "/elsewhere");
  EXPECT_EQ(head.name, "mill");
}

TEST_F(AClientStream, SendsItsHelloFirstAndReceivesMessagesInOrder) {
  Begin();
  Open();
  EXPECT_EQ(NextMessage(), "hello");
  Write(Message("one") + Message("") + Message("three") + Message("enough"));
  const auto last = Next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->opcode, Opcode::kClose);
  EXPECT_EQ(ReadClose(last->payload).kind, Ending::Kind::kFinished);
  peer_.close();
  EXPECT_EQ(notebook_.WaitForEnd().kind, Ending::Kind::kFinished);
  EXPECT_THAT(notebook_.messages(), ElementsAre("one", "", "three", "enough"));
}

TEST_F(AClientStream, DropsWhatIsSentBeforeItBegins) {
  Make();
  stream_->Send("early");
  stream_->SendLowPriority("early, too");
  Begin();
  Open();
  EXPECT_EQ(NextMessage(), "hello");
  stream_->Send("late");
  EXPECT_EQ(NextMessage(), "late");
}

TEST_F(AClientStream, SendsTheNewestOfWhatWaitsAndThenWhatMattersLess) {
  Begin();
  const HttpHead head = Accept();
  WaitForLoop();
  stream_->SendLowPriority("first aside");
  stream_->Send("one");
  stream_->SendLowPriority("second aside");
  stream_->Send("two");
  WaitForLoop();
  Write(OpeningAnswer(head.key));
  EXPECT_EQ(NextMessage(), "two");
  EXPECT_EQ(NextMessage(), "second aside");
  stream_->Cancel();
  EXPECT_EQ(Next()->opcode, Opcode::kClose) << "nothing else was sent";
}

TEST_F(AClientStream, CarriesLongMessagesBothWays) {
  Random random(3, Purpose::kTest);
  Begin();
  Open();
  NextMessage();
  std::vector<std::string> sent;
  for (const std::size_t size : {70'000, 1'000'000, 65'536}) {
    std::string message(size, '\0');
    for (char& c : message) c = static_cast<char>(random.Below(256));
    stream_->Send(message);
    EXPECT_EQ(NextMessage(), message);
    Write(Message(message));
    sent.push_back(message);
  }
  Write(Close({Ending::Kind::kFinished, ""}));
  notebook_.WaitForEnd();
  EXPECT_EQ(notebook_.messages(), sent);
}

TEST_F(AClientStream, SaysThatNothingListens) {
  acceptor_.close();
  Begin();
  const Ending ending = notebook_.WaitForEnd();
  EXPECT_EQ(ending.kind, Ending::Kind::kLost);
  EXPECT_THAT(ending.reason, AllOf(StartsWith("cannot connect to " + options_.server + ": "),
                                   HasSubstr("nothing listens there")));
}

TEST_F(AClientStream, SaysThatAnAddressMeansNothing) {
  options_.server = "127.0.0.1:no-such-service";
  Begin();
  EXPECT_THAT(notebook_.WaitForEnd().reason, HasSubstr("no-such-service: this name is not known"));
}

TEST_F(AClientStream, ConnectsToAddressesInBrackets) {
  boost::system::error_code error;
  const tcp::endpoint here(boost::asio::ip::address_v6::loopback(), 0);
  acceptor_.close();
  acceptor_.open(here.protocol(), error);
  if (!error) acceptor_.bind(here, error);
  if (error) GTEST_SKIP() << "this machine has no IPv6";
  acceptor_.listen();
  options_.server = "[::1]:" + std::to_string(acceptor_.local_endpoint().port());
  Begin();
  Open();
  EXPECT_EQ(NextMessage(), "hello");
}

TEST_F(AClientStream, TellsOtherServersFromOurs) {
  const std::string wrong_key = OpeningAnswer("another key");
  const std::string no_upgrade = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
  for (const auto& [answer, reason] :
       {std::pair{HttpAnswer(404, "text/plain", "no"), "it answers with HTTP 404"},
        std::pair{HttpAnswer(200, "text/html", "<p>hi"), "it answers with HTTP 200"},
        std::pair{wrong_key, "it answers with HTTP 101"},
        std::pair{no_upgrade, "it answers with HTTP 101"},
        std::pair{std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "bytes that are not HTTP"},
        std::pair{std::string(9000, 'x'), "an HTTP header that does not end"}}) {
    Renew();
    Begin();
    Accept();
    Write(answer);
    const Ending ending = next_->WaitForEnd();
    EXPECT_EQ(ending.kind, Ending::Kind::kNotOurs) << answer.substr(0, 30);
    EXPECT_EQ(ending.reason, reason);
    EXPECT_TRUE(next_->messages().empty());
  }
}

TEST_F(AClientStream, ThatIsCutBeforeAnAnswerIsToldWhatItMayBe) {
  Begin();
  Accept();
  peer_.close();
  const Ending ending = notebook_.WaitForEnd();
  EXPECT_EQ(ending.kind, Ending::Kind::kLost);
  EXPECT_THAT(ending.reason, AllOf(StartsWith(options_.server + ": the connection was "),
                                   HasSubstr("; if the server has certificates, add ")));
}

TEST_F(AClientStream, ThatIsCutLaterIsToldSoAlone) {
  Begin();
  Open();
  NextMessage();
  peer_.close();
  const Ending ending = notebook_.WaitForEnd();
  EXPECT_EQ(ending.kind, Ending::Kind::kLost);
  EXPECT_EQ(ending.reason, options_.server + ": the connection was closed");
}

TEST_F(AClientStream, HandsOverWholeMessagesWhereverItIsCut) {
  Random random(11, Purpose::kTest);
  std::string bytes;
  std::vector<std::string> messages;
  std::vector<std::size_t> ends;
  for (const std::size_t size : {0, 5, 200, 126, 3000}) {
    messages.emplace_back(size, static_cast<char>('a' + messages.size()));
    bytes += Message(messages.back());
    ends.push_back(bytes.size());
  }
  for (int round = 0; round < 25; ++round) {
    Renew();
    Begin();
    Open();
    EXPECT_EQ(NextMessage(), "hello");
    const std::size_t cut = random.Below(bytes.size() + 1);
    const std::size_t piece = random.Below(cut + 1);
    Write(bytes.substr(0, piece));
    Write(bytes.substr(piece, cut - piece));
    peer_.close();
    EXPECT_EQ(next_->WaitForEnd().kind, Ending::Kind::kLost) << cut;
    std::vector<std::string> whole;
    for (std::size_t k = 0; k < ends.size() && ends[k] <= cut; ++k) whole.push_back(messages[k]);
    EXPECT_EQ(next_->messages(), whole) << cut;
  }
}

TEST_F(AClientStream, EndsForFramesThatBreakARule) {
  options_.longest_message = 10;
  for (const auto& [bytes, why] :
       {std::pair{MaskedFrame(Opcode::kBinary, "x", {1, 2, 3, 4}), "that is masked"},
        std::pair{Message("eleven bytes"), "a message of more than 10 bytes"},
        std::pair{Message("eleven bytes").substr(0, 2), "a message of more than 10 bytes"},
        std::pair{std::string("\x81\x01x"), "a frame of kind 1"},
        std::pair{FrameHeader(Opcode::kContinuation, 1) + "x", "a fragment of no message"}}) {
    Renew();
    Begin();
    Open();
    NextMessage();
    Write(Message("good") + bytes);
    const auto told = Next();
    ASSERT_TRUE(told) << why;
    EXPECT_EQ(ReadClose(told->payload).kind, Ending::Kind::kBroken) << "the server is told";
    peer_.close();
    const Ending ending = next_->WaitForEnd();
    EXPECT_EQ(ending.kind, Ending::Kind::kBroken);
    EXPECT_THAT(ending.reason, HasSubstr(why));
    EXPECT_THAT(next_->messages(), ElementsAre("good"));
  }
}

TEST_F(AClientStream, HearsWhyItsServerEndsIt) {
  for (const Ending& told :
       {Ending{Ending::Kind::kStopping, "back at noon"},
        Ending{Ending::Kind::kRefused, "not on the list"},
        Ending{Ending::Kind::kVersion, "too old"}, Ending{Ending::Kind::kBusy, ""},
        Ending{Ending::Kind::kReplaced, "a newer connection"},
        Ending{Ending::Kind::kBroken, "not a message"}, Ending{Ending::Kind::kSilent, "no hello"},
        Ending{Ending::Kind::kFinished, ""}}) {
    Renew();
    Begin();
    Open();
    NextMessage();
    Write(Message("before") + Close(told));
    const Ending ending = next_->WaitForEnd();
    EXPECT_EQ(ending.kind, told.kind);
    EXPECT_EQ(ending.reason, told.reason);
    EXPECT_THAT(next_->messages(), ElementsAre("before"));
  }
}

TEST_F(AClientStream, CanBeCancelledAtAnyTime) {
  Begin();  // while it connects, or has no answer
  stream_->Cancel();
  const Ending ending = notebook_.WaitForEnd();
  EXPECT_EQ(ending.kind, Ending::Kind::kFinished);
  EXPECT_EQ(ending.reason, "cancelled");
  Renew();
  Begin();
  acceptor_.accept(peer_);  // the first one, or this one
  stream_->Cancel();
  EXPECT_EQ(next_->WaitForEnd().kind, Ending::Kind::kFinished);
  stream_->Send("to no one");
  stream_->Cancel();  // again: nothing happens
}

TEST_F(AClientStream, SendsWhatIsOnItsWayBeforeItIsCancelled) {
  Begin(std::string(4'000'000, 'h'));  // more than a socket takes at once
  const std::string key = Accept().key;
  Write(OpeningAnswer(key));
  came_ += std::string(1, '\0');
  peer_.read_some(boost::asio::buffer(came_.data() + came_.size() - 1, 1));  // it has begun
  stream_->Cancel();
  EXPECT_EQ(NextMessage(), std::string(4'000'000, 'h'));
  EXPECT_EQ(Next()->opcode, Opcode::kClose);
  peer_.close();
  EXPECT_EQ(notebook_.WaitForEnd().kind, Ending::Kind::kFinished);
}

TEST_F(AClientStream, EndsWithItsLoop) {
  Begin();
  Open();
  NextMessage();
  loop_.Stop();
  EXPECT_EQ(notebook_.WaitForEnd().kind, Ending::Kind::kStopping);
}

}  // namespace
}  // namespace polykern
