#include "polykern/data/mqtt/mqtt_link.h"

#include <cerrno>
#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>

#include "polykern/core/error.h"
#include "polykern/data/mqtt/mosquitto_internal.h"

namespace polykern {
namespace {

constexpr int kGood = 0;
constexpr int kErrno = 14;  // MOSQ_ERR_ERRNO
constexpr int kQosOne = 1;
constexpr int kMayNotRead = 128;  // of a subscription
constexpr int kKeepalive = 60;    // seconds
constexpr int kTurn = 500;        // milliseconds that a wait lasts
constexpr std::chrono::seconds kOpeningTime{10};
constexpr std::chrono::milliseconds kPause{500};  // before the next attempt to connect

}  // namespace

class MqttLink::Impl {
 public:
  Impl(const MqttAddress& address, const std::string& client, bool subscribes, Tell tell)
      : library_(TheMosquitto()),
        address_(address),
        subscribes_(subscribes),
        tell_(std::move(tell)),
        connection_(library_.create(client.c_str(), false, this), library_.destroy),
        handle_(connection_.get()) {
    if (!subscribes && address_.topic.find_first_of("+#") != std::string::npos) {
      throw Error(address_.name() + ": a topic to publish to cannot contain + or #");
    }
    if (handle_ == nullptr) throw Error(address_.name() + ": out of memory");
    // Then nothing is sent but by loop_write: acknowledgements wait until they are due.
    library_.threaded_set(handle_, true);
    library_.on_connect(handle_,
                        [](MosquittoConnection*, void* own, int code) { Of(own).Connected(code); });
    library_.on_message(
        handle_, [](MosquittoConnection*, void* own, const MosquittoMessage* message) {
          Of(own).inbox_.push_back({static_cast<std::uint64_t>(message->mid),
                                    std::string(static_cast<const char*>(message->payload),
                                                static_cast<std::size_t>(message->payloadlen)),
                                    std::exchange(Of(own).first_, false)});
        });
    library_.on_subscribe(handle_,
                          [](MosquittoConnection*, void* own, int, int count, const int* granted) {
                            if (count > 0 && granted[0] == kMayNotRead) {
                              Of(own).Refuse("does not allow reading that topic");
                            }
                            Of(own).ready_ = true;
                          });
    library_.on_publish(handle_,
                        [](MosquittoConnection*, void* own, int id) { Of(own).published_ = id; });
    if (!address_.user.empty()) {
      library_.username_pw_set(handle_, address_.user.c_str(), address_.password.c_str());
    }
    Open();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  MqttMessage Receive() {
    while (inbox_.empty()) Turn();
    MqttMessage message = std::move(inbox_.front());
    inbox_.pop_front();
    return message;
  }

  void Publish(const std::string& payload) {
    int id = 0;
    for (published_ = 0; published_ == 0 || published_ != id;) {
      if (id == 0 && ready_) {
        const int code =
            library_.publish(handle_, &id, address_.topic.c_str(), static_cast<int>(payload.size()),
                             payload.data(), kQosOne, false);
        if (code != kGood) id = 0;
      }
      Turn();  // where the connection is lost, libmosquitto sends it again
    }
  }

 private:
  static Impl& Of(void* own) { return *static_cast<Impl*>(own); }

  void Connected(int code) {
    first_ = true;
    if (code != kGood) {
      Refuse(std::string("refuses (") + library_.connack_string(code) + ")");
    } else if (!subscribes_) {
      ready_ = true;
    } else if (library_.subscribe(handle_, nullptr, address_.topic.c_str(), kQosOne) != kGood) {
      refusal_ = "not a topic; + and # replace whole levels of one";
    }
  }

  void Refuse(const std::string& how) {
    refusal_ = "the broker " + how + "; " +
               (address_.user.empty() ? "name a user that may, as in mqtt://USER:PASSWORD@HOST.."
                                      : "check user and password, and what it may do");
  }

  /// The first time; a broker that is not there now is a wrong address.
  void Open() {
    Connect();
    if (!up_) {
      throw Error(address_.name() + ": cannot connect (" + why_ +
                  "); is the address right, and is the broker running?");
    }
    const auto end = std::chrono::steady_clock::now() + kOpeningTime;
    while (!ready_ && inbox_.empty()) {  // a session that resumes has messages before all else
      Turn();
      if (std::chrono::steady_clock::now() > end) {
        throw Error(address_.name() + ": is not an MQTT broker; is the address right?");
      }
    }
  }

  void Connect() {
    errno = 0;
    const int code = library_.connect(handle_, address_.host.c_str(), address_.port, kKeepalive);
    up_ = code == kGood;
    if (!up_) {
      why_ = code == kErrno ? std::generic_category().message(errno) : library_.strerror(code);
    }
  }

  /// Sends what there is to send, and takes what comes in half a second, but no more than a message
  /// or two; connects again if need be.
  void Turn() {
    if (!up_) {
      Connect();
      if (!up_) {
        if (!std::exchange(told_, true)) tell_(address_.name() + ": " + why_ + "; waiting for it");
        std::this_thread::sleep_for(kPause);
        return;
      }
    }
    pollfd socket{library_.socket(handle_), POLLIN, 0};
    // Nothing is acknowledged before it was read.
    if (inbox_.empty() && library_.want_write(handle_)) socket.events = POLLIN | POLLOUT;
    const int ready = poll(&socket, 1, kTurn);
    int code = kGood;
    if (ready > 0 && (socket.revents & POLLOUT) != 0) code = library_.loop_write(handle_, 1);
    if (code == kGood && ready > 0 && (socket.revents & ~POLLOUT) != 0) {
      code = library_.loop_read(handle_, 1);
    }
    if (code == kGood) code = library_.loop_misc(handle_);
    if (!refusal_.empty()) throw Error(address_.name() + ": " + refusal_);
    if (code != kGood) {
      up_ = ready_ = false;
      why_ = "the connection was lost";
    } else if (ready_ && std::exchange(told_, false)) {
      tell_(address_.name() + ": it is back");
    }
  }

  const Mosquitto& library_;
  const MqttAddress address_;
  const bool subscribes_;
  const Tell tell_;
  /// Ended without a word: what is not acknowledged comes again.
  const std::unique_ptr<MosquittoConnection, void (*)(MosquittoConnection*)> connection_;
  MosquittoConnection* const handle_;
  bool up_ = false;     // as far as is known
  bool ready_ = false;  // the broker has said that all is well
  bool told_ = false;   // that it is away
  bool first_ = true;   // nothing has come on this connection
  std::string why_;
  std::string refusal_;  // and what to do about it
  int published_ = 0;    // the last that the broker has
  std::deque<MqttMessage> inbox_;
};

MqttLink::MqttLink(const MqttAddress& address, const std::string& client, bool subscribes,
                   Tell tell)
    : impl_(std::make_unique<Impl>(address, client, subscribes, std::move(tell))) {}

MqttLink::~MqttLink() = default;

MqttMessage MqttLink::Receive() {
  return impl_->Receive();
}

void MqttLink::Publish(const std::string& payload) {
  impl_->Publish(payload);
}

}  // namespace polykern
