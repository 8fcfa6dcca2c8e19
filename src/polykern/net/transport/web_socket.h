#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include "polykern/net/ending.h"
#include "polykern/net/transport/frames.h"
#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/loop.h"
#include "polykern/net/transport/tls.h"

namespace polykern {

struct WebSocketOptions {
  const char* target = kJoinTarget;  ///< where it is opened; both sides must mean the same
  std::size_t longest_message = 0;   ///< that the other side may send
  /// From the first byte until messages can be sent.
  std::chrono::milliseconds opening_time{10'000};
  /// A silent peer is asked after this time whether it is there, and has as long to answer; one
  /// that does not read has twice as long.
  std::chrono::milliseconds keepalive{10'000};
};

/// One side of a WebSocket over TLS, or over TCP alone: opens it, carries binary messages, one at a
/// time, and closes it. What a peer can make it keep is bounded by one message, what it can make it
/// do by a number of frames for each message it is sent and for each tick of the loop.
///
/// It lives on a loop and is used on that loop's thread alone.
class WebSocket final : public Loop::Member, public std::enable_shared_from_this<WebSocket> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  /// What is done with it. Called on the loop's thread; what it is called for may be ended from
  /// within.
  class Handler {
   public:
    virtual ~Handler() = default;
    /// Messages can be sent. `name`: what a client without a certificate says it is.
    virtual void Opened(const std::string& name) = 0;
    /// A message came.
    virtual void Received(std::string message) = 0;
    /// The last message is with the system: there is room for another one.
    virtual void Sent() = 0;
    /// What came breaks a rule: nothing more will be read. The owner ends it.
    virtual void Broke(const std::string& why) = 0;
    /// The last call, and the only one if it was never opened.
    virtual void Closed(const Ending& ending) = 0;
  };

  /// Of an accepted connection.
  WebSocket(Loop& loop, Socket socket, const TlsContext& tls, const WebSocketOptions& options,
            std::shared_ptr<Handler> handler);
  /// To the server at this host, which has been connected to. `name` may be empty.
  WebSocket(Loop& loop, Socket socket, const TlsContext& tls, const WebSocketOptions& options,
            std::shared_ptr<Handler> handler, std::string host, std::string name);

  void Start();

  bool is_open() const { return state_ == State::kOpen; }
  /// A message is on its way: Sent will be called.
  bool is_sending() const { return sending_; }
  /// Only while it is open and not sending.
  void Send(const std::shared_ptr<const std::string>& message);
  /// Tells the other side why, after the message that is on its way.
  void End(const Ending& ending);
  /// Ends it without a word; Closed is called.
  void Finish(const Ending& ending);

  /// PEM; empty: none.
  std::string PeerCertificate() const { return tls_.PeerCertificate(); }
  std::shared_ptr<X509> Peer() const { return tls_.Peer(); }

  void Tick(Loop::Clock::time_point now) override;
  void Drop() override { Finish({Ending::Kind::kStopping, "this side stops"}); }

 private:
  /// Allowed with each message and each tick.
  static constexpr std::size_t kFramesAtOnce = 64;

  enum class State { kSecuring, kOpening, kOpen, kClosing, kClosed };
  using Result = TlsSocket::Result;

  WebSocket(Loop& loop, Socket socket, const TlsContext& tls, const WebSocketOptions& options,
            std::shared_ptr<Handler> handler, Side side, std::string host, std::string name);

  void Secure();
  void Read();
  void ReadLater();
  void Take(std::string_view bytes);
  void TakeHead(std::string_view bytes);
  void TakeRequest(const HttpHead& head);
  void TakeAnswer(const HttpHead& head);
  void TakeFrames(std::string_view bytes);
  void TakeControl(Frame frame);
  void Broke(const std::string& why);
  void Open(const std::string& name);
  void Flush();
  bool FlushOne();
  bool PickOutput();
  void SetOutput(Opcode opcode, std::string_view payload);
  /// What to do after an operation that is not done.
  void WaitFor(Result result, bool& waits_to_write);
  void WaitToRead();
  void WaitToWrite();

  Loop& loop_;
  Socket socket_;
  const WebSocketOptions options_;
  const Side side_;
  const std::string host_;
  const std::string name_;
  std::shared_ptr<Handler> handler_;
  TlsSocket tls_;
  FrameReader frames_;
  State state_ = State::kSecuring;

  std::string head_;  // of HTTP, as far as it has come
  std::string key_;   // a client's, of its request
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool broken_ = false;           // what comes is not read any more
  bool read_needs_room_ = false;  // TLS must write before it can read
  std::size_t idle_reads_ = 0;    // since the last tick, that gave nothing

  std::string raw_;  // to be sent: HTTP
  std::optional<std::string> pong_;
  bool ping_due_ = false;
  std::shared_ptr<const std::string> message_;
  bool sending_ = false;
  std::optional<Ending> close_;  // to be told
  bool finish_when_sent_ = false;
  Ending ending_{Ending::Kind::kLost, ""};  // if all goes as planned
  std::size_t closing_reads_ = 0;
  bool flushing_ = false;
  std::string out_head_;  // of what is on its way
  std::shared_ptr<const std::string> out_body_;
  std::size_t out_sent_ = 0;
  bool out_is_message_ = false;

  const Loop::Clock::time_point began_ = Loop::Clock::now();
  Loop::Clock::time_point heard_ = began_;  // from the other side
  Loop::Clock::time_point moved_ = began_;  // when something was sent, or began to be
  Loop::Clock::time_point closing_{};
  bool asked_ = false;  // whether it is there
};

}  // namespace polykern
