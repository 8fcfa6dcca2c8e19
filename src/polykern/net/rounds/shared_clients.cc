#include "polykern/net/rounds/shared_clients.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace polykern {
namespace {

// Of a client that another front end has not given up.
constexpr std::chrono::milliseconds kClaimAgain{250};

}  // namespace

void SharedClients::Claim(std::uint64_t client, const std::string& mask_key) {
  left_.erase(client);
  if (core_.members[client].stored && mask_key.empty()) return;
  core_.members[client].stored = false;
  claims_[client] = mask_key;
  new_claims_ = core_.has_work = true;
}

void SharedClients::NoteLeft(std::uint64_t client) {
  const auto place = places_.find(core_.members[client].number);
  if (place != places_.end() && place->second == client) left_.insert(client);
}

bool SharedClients::HasNews(RoundsTime now) const {
  return new_claims_ || confirm_ || (!claims_.empty() && now >= claimed_ + kClaimAgain);
}

void SharedClients::Tell(FrontWork& work, bool may_release) {
  for (const auto& [client, mask_key] : claims_) {
    const Member& member = core_.members[client];
    if (member.session) work.claims.push_back({member.name, mask_key});
  }
  new_claims_ = false;
  for (std::size_t k = 0; confirm_ && k < core_.members.size(); ++k) {
    if (core_.members[k].stored) work.confirms.push_back(core_.members[k].number);
  }
  work.may_come_in = may_come_in_;
  if (may_release) {
    work.released = wanted_;
    for (const std::uint64_t client : left_) {
      core_.members[client].stored = false;
      work.released.push_back(core_.members[client].number);
    }
  }
  for (const std::uint64_t client : noted_) {
    const Member& member = core_.members[client];
    if (member.stored) work.certificates.push_back({member.number, member.note});
  }
}

void SharedClients::NoteTold(const FrontWork& work, bool settled, RoundsTime now) {
  if (work.writes) {
    for (const auto& [number, note] : work.certificates) {
      if (core_.members[places_[number]].note == note) noted_.erase(places_[number]);
    }
    if (settled) ForgetReleased(work.released);
  }
  confirm_ = false;
  if (work.may_come_in) may_come_in_ = {};
  if (!work.claims.empty()) claimed_ = now;
}

void SharedClients::ForgetReleased(const std::vector<std::uint64_t>& released) {
  for (const std::uint64_t number : released) {
    if (const auto place = places_.find(number); place != places_.end()) {
      left_.erase(place->second);
    }
  }
  const std::set<std::uint64_t> gone(released.begin(), released.end());
  std::erase_if(wanted_, [&](std::uint64_t number) { return gone.contains(number); });
}

void SharedClients::TakeIn(const FrontNews& news) {
  for (const FrontClient& each : news.claimed) TakeClaimed(each);
  for (const std::string& name : news.full) {
    const std::uint64_t client = *core_.members.Find(name);
    claims_.erase(client);
    Return(client, {Ending::Kind::kBusy, "the federation has no room for another client"});
  }
  std::erase_if(claims_, [this](const auto& each) { return !core_.members[each.first].session; });
  for (const FrontClient& each : news.confirmed) {
    if (each.here) continue;
    Return(places_[each.number], kElsewhere);
    if (core_.members[places_[each.number]].counted) DropUnhanded();
  }
  for (const std::uint64_t number : news.wanted) {
    if (std::ranges::find(wanted_, number) != wanted_.end()) continue;
    wanted_.push_back(number);
    if (const auto place = places_.find(number); place != places_.end()) {
      Return(place->second, kElsewhere);
    }
  }
}

void SharedClients::TakeClaimed(const FrontClient& claimed) {
  const std::uint64_t client = *core_.members.Find(claimed.name);
  Member& member = core_.members[client];
  member.number = claimed.number;
  member.known |= claimed.next_step > 0;
  places_[claimed.number] = client;
  if (core_.coordinator.clients() <= claimed.number) {
    core_.coordinator.AddClients(claimed.number + 1 - core_.coordinator.clients());
  }
  // Else this one knows better.
  if (!member.counted) core_.members.Settle(client, claimed.next_step);
  member.stored_next_step = std::min(claimed.next_step, core_.published.step());
  member.stored = true;
  claims_.erase(client);
  if (member.session) {
    core_.links.Wake(*core_.links.Find(*member.session));
  } else {
    left_.insert(client);
  }
}

void SharedClients::End(Link& link, const Ending& ending) {
  const std::optional<std::uint64_t> client = link.client;
  core_.End(link, ending);
  if (client) NoteLeft(*client);
}

void SharedClients::Return(std::uint64_t client, const Ending& ending) {
  Member& member = core_.members[client];
  member.stored = false;
  if (member.session) End(*core_.links.Find(*member.session), ending);
}

/// What no other front end knows of does not count: its sender sends it again.
void SharedClients::DropUnhanded() {
  core_.coordinator.DropUpdates();
  core_.counts.accepted -= core_.counted.size();
  for (const CountedUpdate& each : std::exchange(core_.counted, {})) {
    core_.members.Settle(each.client, core_.members[each.client].stored_next_step);
    Return(each.client, kComeAgain);
  }
}

}  // namespace polykern
