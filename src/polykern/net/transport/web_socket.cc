#include "polykern/net/transport/web_socket.h"

#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using Clock = Loop::Clock;
using Kind = Ending::Kind;
using TlsState = TlsSocket::State;

constexpr std::size_t kIdleReads = 4096;  // of TLS's own records, or parts of them, in a tick
constexpr int kUnsentBytes = 65536;
constexpr std::size_t kClosingReads = 64;        // of what a peer sends that was told to go
constexpr int kReadsAtOnce = 4;                  // before others have their turn
constexpr std::chrono::seconds kClosingTime{2};  // for the other side to say it, too

}  // namespace

WebSocket::WebSocket(Loop& loop, Socket socket, const TlsContext& tls,
                     const WebSocketOptions& options, std::shared_ptr<Handler> handler, Side side,
                     std::string host, std::string name)
    : loop_(loop),
      socket_(std::move(socket)),
      options_(options),
      side_(side),
      host_(std::move(host)),
      name_(std::move(name)),
      handler_(std::move(handler)),
      tls_(tls, socket_.native_handle(), side, host_),
      frames_(side, options.longest_message) {}

WebSocket::WebSocket(Loop& loop, Socket socket, const TlsContext& tls,
                     const WebSocketOptions& options, std::shared_ptr<Handler> handler)
    : WebSocket(loop, std::move(socket), tls, options, std::move(handler), Side::kServer, "", "") {}

WebSocket::WebSocket(Loop& loop, Socket socket, const TlsContext& tls,
                     const WebSocketOptions& options, std::shared_ptr<Handler> handler,
                     std::string host, std::string name)
    : WebSocket(loop, std::move(socket), tls, options, std::move(handler), Side::kClient,
                std::move(host), std::move(name)) {}

void WebSocket::Start() {
  const std::shared_ptr<WebSocket> self = shared_from_this();  // it may end in here
  loop_.Add(self);
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  // The system keeps no queue either for a peer that does not read.
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
             sizeof kUnsentBytes);
  side_ == Side::kServer ? WaitToRead() : Secure();
}

void WebSocket::Secure() {
  const Result result = tls_.Handshake();
  if (result.state != TlsState::kDone) {
    WaitFor(result, read_needs_room_);
    return;
  }
  if (tls_.WantsHttp2()) {
    Finish({Kind::kVersion, "it speaks HTTP/2, as polykern before 0.2 did"});
    return;
  }
  state_ = State::kOpening;
  if (side_ == Side::kClient) {
    key_ = NewWebSocketKey();
    raw_ = OpeningRequest(options_.target, host_, key_, name_);
    Flush();
  }
  if (state_ != State::kClosed) Read();
}

void WebSocket::Read() {
  for (int n = 0; n < kReadsAtOnce; ++n) {
    const Result result = tls_.Read(loop_.read_buffer(), Loop::kBufferBytes);
    if (result.state != TlsState::kDone) {
      if (result.state == TlsState::kNeedsRead && ++idle_reads_ > kIdleReads) {
        Broke("too much data without a message");
        Finish({Kind::kBroken, "too much data without a message"});
        return;
      }
      WaitFor(result, read_needs_room_);
      return;
    }
    heard_ = Clock::now();
    asked_ = false;
    if (state_ == State::kClosing && ++closing_reads_ > kClosingReads) {
      Finish(ending_);
      return;
    }
    Take({loop_.read_buffer(), result.bytes});
    if (state_ == State::kClosed) return;
    if (result.bytes < Loop::kBufferBytes && !tls_.HasMore()) {
      WaitToRead();
      return;
    }
  }
  ReadLater();
}

void WebSocket::ReadLater() {
  loop_.Post([self = shared_from_this()] {
    if (self->state_ != State::kClosed) self->Read();
  });
}

void WebSocket::Take(std::string_view bytes) {
  try {
    if (state_ == State::kOpening) {
      TakeHead(bytes);
    } else if (!broken_) {
      TakeFrames(bytes);
    }
  } catch (const Error& error) {
    if (state_ == State::kOpening) {
      Finish({side_ == Side::kClient ? Kind::kNotOurs : Kind::kBroken, error.what()});
    } else {
      Broke(error.what());
    }
  }
}

void WebSocket::Broke(const std::string& why) {
  if (std::exchange(broken_, true) || state_ == State::kClosed) return;
  if (state_ == State::kClosing) {
    Finish(ending_);
  } else {
    handler_->Broke(why);
  }
}

void WebSocket::TakeHead(std::string_view bytes) {
  head_ += bytes;
  constexpr char kTlsHandshake = 0x16;
  if (head_.starts_with(kTlsHandshake)) throw Error("TLS, but this server has no certificates");
  const auto head = side_ == Side::kServer ? TakeRequestHead(head_) : TakeAnswerHead(head_);
  if (!head) return;
  const std::string rest = std::exchange(head_, {});
  side_ == Side::kServer ? TakeRequest(*head) : TakeAnswer(*head);
  if (state_ == State::kOpen && !rest.empty()) TakeFrames(rest);
}

void WebSocket::TakeRequest(const HttpHead& head) {
  if (head.target == options_.target && head.upgrades) {
    raw_ = OpeningAnswer(head.key);
    Open(head.name);
    return;
  }
  const bool wrong = head.target != options_.target;
  const std::string why =
      wrong ? "there is no such page; clients join at " + std::string(options_.target)
            : "clients join with a WebSocket";
  raw_ = HttpAnswer(wrong ? 404 : 426, "text/plain; charset=utf-8", why + "\n");
  ending_ = {Kind::kBroken, why};
  finish_when_sent_ = true;
  state_ = State::kClosing;
  closing_ = Clock::now();
  broken_ = true;
  Flush();
}

void WebSocket::TakeAnswer(const HttpHead& head) {
  if (head.status != 101 || !head.upgrades || head.accepted != AcceptKey(key_)) {
    throw Error("it answers with HTTP " + std::to_string(head.status));
  }
  Open("");
}

void WebSocket::Open(const std::string& name) {
  state_ = State::kOpen;
  frames_.Allow(kFramesAtOnce);
  const std::shared_ptr<Handler> handler = handler_;
  handler->Opened(name);
  if (state_ != State::kClosed) Flush();
}

void WebSocket::TakeFrames(std::string_view bytes) {
  const std::shared_ptr<Handler> handler = handler_;
  while (state_ != State::kClosed && !broken_) {
    std::optional<Frame> frame = frames_.Next(bytes);
    if (!frame) return;
    if (frame->opcode != Opcode::kBinary) {
      TakeControl(*std::move(frame));
    } else if (state_ == State::kOpen) {
      handler->Received(std::move(frame->payload));
    }
  }
}

void WebSocket::TakeControl(Frame frame) {
  if (frame.opcode == Opcode::kPing) {
    if (state_ != State::kOpen) return;
    pong_ = std::move(frame.payload);
    Flush();
  } else if (frame.opcode == Opcode::kClose) {
    const Ending told = ReadClose(frame.payload);
    if (state_ == State::kClosing) {  // we have said so first
      Finish(ending_);
      return;
    }
    state_ = State::kClosing;
    closing_ = Clock::now();
    ending_ = told;
    close_ = told;
    message_.reset();
    finish_when_sent_ = true;
    Flush();
  }
}

void WebSocket::Send(const std::shared_ptr<const std::string>& message) {
  sending_ = true;
  message_ = message;
  Flush();
}

void WebSocket::End(const Ending& ending) {
  if (state_ == State::kClosing || state_ == State::kClosed) return;
  if (state_ != State::kOpen) {
    Finish(ending);
    return;
  }
  state_ = State::kClosing;
  closing_ = Clock::now();
  ending_ = ending;
  close_ = ending;
  Flush();
}

void WebSocket::Finish(const Ending& ending) {
  if (state_ == State::kClosed) return;
  const std::shared_ptr<WebSocket> self = shared_from_this();
  const bool opened = state_ != State::kSecuring && state_ != State::kOpening;
  state_ = State::kClosed;
  const std::shared_ptr<Handler> handler = std::exchange(handler_, nullptr);
  handler->Closed(ending);
  if (opened) tls_.SayGoodbye();
  boost::system::error_code ignored;
  socket_.close(ignored);
  loop_.Remove(*this);
}

void WebSocket::WaitFor(Result result, bool& waits_to_write) {
  switch (result.state) {
    case TlsState::kNeedsRead:
      WaitToRead();
      break;
    case TlsState::kNeedsWrite:
      waits_to_write = true;
      WaitToWrite();
      break;
    case TlsState::kClosed:
      Finish(state_ == State::kClosing ? ending_
                                       : Ending{Kind::kLost, "the connection was closed"});
      break;
    default:
      Finish(state_ == State::kClosing ? ending_ : Ending{Kind::kLost, tls_.error()});
  }
}

void WebSocket::WaitToRead() {
  if (std::exchange(waits_to_read_, true)) return;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const auto& error) {
    self->waits_to_read_ = false;
    if (error || self->state_ == State::kClosed) return;
    self->state_ == State::kSecuring ? self->Secure() : self->Read();
  });
}

void WebSocket::WaitToWrite() {
  if (std::exchange(waits_to_write_, true)) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const auto& error) {
    self->waits_to_write_ = false;
    if (error || self->state_ == State::kClosed) return;
    if (self->state_ == State::kSecuring) {
      self->Secure();
      return;
    }
    self->Flush();
    if (std::exchange(self->read_needs_room_, false) && self->state_ != State::kClosed) {
      self->Read();
    }
  });
}

void WebSocket::Tick(Clock::time_point now) {
  frames_.Allow(kFramesAtOnce);
  idle_reads_ = 0;
  if (state_ == State::kSecuring || state_ == State::kOpening) {
    if (now > began_ + options_.opening_time) {
      Finish({Kind::kLost, "it took too long to connect"});
    }
    return;
  }
  if (state_ == State::kClosing) {
    if (now > closing_ + kClosingTime) Finish(ending_);
    return;
  }
  const bool stuck = !out_head_.empty() || out_body_ != nullptr;
  if (stuck && now > moved_ + 2 * options_.keepalive) {
    Finish({Kind::kLost, "the other side does not read its messages"});
  } else if (now > heard_ + 2 * options_.keepalive && asked_) {
    Finish({Kind::kLost, "the other side is silent"});
  } else if (now > heard_ + options_.keepalive && !asked_) {
    asked_ = true;
    ping_due_ = true;
    Flush();
  }
}

}  // namespace polykern
