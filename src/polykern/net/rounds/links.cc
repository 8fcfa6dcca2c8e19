#include "polykern/net/rounds/links.h"

#include "polykern/algorithms/broken_rule.h"

namespace polykern {
namespace {

constexpr std::size_t kMostReplies = 8;  // that wait for a client which does not read
// Of a client with a new connection: its last update again, and an answer to the model it had.
constexpr std::size_t kMostEarlier = 2;

}  // namespace

void Link::CheckAnswer(std::uint64_t step) const {
  if (step < next_step) {
    throw BrokenRule(Rule::kTwice, "step " + std::to_string(step) + " was answered before");
  }
  if (step < began && earlier == kMostEarlier) {
    throw BrokenRule(Rule::kStep, "step " + std::to_string(step) +
                                      " was over before this connection began at step " +
                                      std::to_string(began) + ", and " +
                                      std::to_string(kMostEarlier) +
                                      " such updates were received before");
  }
}

void Link::Answered(std::uint64_t step) {
  next_step = step + 1;
  if (step < began) ++earlier;
}

void Link::Reply(std::string message) {
  if (replies.size() < kMostReplies) replies.push_back(std::move(message));
}

SessionId Links::Open(std::shared_ptr<Peer> peer, std::uint64_t step) {
  const SessionId session = next_session_++;
  links_.emplace(session, Link{.peer = std::move(peer), .began = step});
  return session;
}

Link* Links::Find(SessionId session) {
  const auto found = links_.find(session);
  return found == links_.end() ? nullptr : &found->second;
}

void Links::End(Link& link, Ending ending) {
  link.client.reset();
  link.ending = std::move(ending);
  Wake(link);
}

void Links::WelcomeAgain() {
  for (auto& [session, link] : links_) link.welcomed = false;
  WakeClients();
}

void Links::WakeClients() {
  for (const auto& [session, link] : links_) {
    if (link.client) Wake(link);
  }
}

}  // namespace polykern
