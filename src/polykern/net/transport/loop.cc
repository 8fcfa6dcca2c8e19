#include "polykern/net/transport/loop.h"

#include <csignal>
#include <vector>

namespace polykern {

Loop::Loop(std::chrono::milliseconds tick) : tick_(tick) {
  WaitForTick();
  thread_ = std::thread([this] {
    // OpenSSL writes to sockets whose other side may have gone; an error says so, too.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    io_.run();
  });
}

void Loop::Stop() {
  if (!thread_.joinable()) return;
  Post([this] {
    const auto members = std::exchange(members_, {});
    for (const auto& [key, member] : members) member->Drop();
    io_.stop();
  });
  thread_.join();
}

void Loop::Add(std::shared_ptr<Member> member) {
  const Member* const key = member.get();
  members_.emplace(key, std::move(member));
}

void Loop::WaitForTick() {
  timer_.expires_after(tick_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto now = Clock::now();
    // A tick may end members, or begin others.
    std::vector<std::shared_ptr<Member>> members;
    members.reserve(members_.size());
    for (const auto& [key, member] : members_) members.push_back(member);
    for (const auto& member : members) member->Tick(now);
    WaitForTick();
  });
}

}  // namespace polykern
