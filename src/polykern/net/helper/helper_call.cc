#include "polykern/core/error.h"
#include "polykern/net/helper/helper_call_internal.h"

namespace polykern {
namespace {

constexpr std::size_t kMostWaitingAnswers = 4;

}  // namespace

void HelperCall::Start(WebSocket::Socket socket, const TlsContext& tls,
                       const WebSocketOptions& options) {
  connection_ =
      std::make_shared<WebSocket>(loop_, std::move(socket), tls, options, shared_from_this());
  connection_->Start();
}

void HelperCall::End(const Ending& ending) {
  if (connection_ != nullptr) connection_->End(ending);
}

void HelperCall::Drop(const Ending& ending) {
  if (connection_ != nullptr) connection_->Finish(ending);
}

void HelperCall::Opened(const std::string&) {
  const std::string why = owner_.Opened(*this);
  let_in_ = why.empty();
  if (!let_in_) End({Ending::Kind::kRefused, why});
}

void HelperCall::Received(std::string message) {
  if (!let_in_) return;
  ToHelper decoded = DecodeToHelper(message);  // what it throws is a broken rule
  if (const auto* hello = std::get_if<HelperHello>(&decoded)) {
    if (greeted_) throw Error("received a second hello on one connection");
    if (hello->version != kHelperVersion) {
      End({Ending::Kind::kVersion, "the helper speaks version " + std::to_string(kHelperVersion) +
                                       " of the protocol, the server version " +
                                       std::to_string(hello->version) + ": update the older one"});
      return;
    }
    greeted_ = true;
    answers_.push_back(owner_.Greeted(*this, *hello));
  } else {
    if (!greeted_) throw Error("received a message before the hello");
    if (answers_.size() >= kMostWaitingAnswers) throw Error("more releases than answers are read");
    auto* const question = std::get_if<HelperQuestion>(&decoded);
    answers_.push_back(question != nullptr ? owner_.Asked(*this, std::move(*question))
                                           : owner_.Told(*this, std::get<HelperKeys>(decoded)));
  }
  Sent();
}

void HelperCall::Sent() {
  if (connection_ == nullptr || !connection_->is_open() || connection_->is_sending()) return;
  if (answers_.empty()) return;
  const auto next = std::make_shared<const std::string>(std::move(answers_.front()));
  answers_.pop_front();
  if (!next->empty()) connection_->Send(next);
}

void HelperCall::Broke(const std::string& why) {
  End({Ending::Kind::kBroken, why});
}

void HelperCall::Closed(const Ending& ending) {
  owner_.Closed(*this, ending);
  connection_.reset();
}

}  // namespace polykern
