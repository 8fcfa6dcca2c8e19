// Clients of one of several front ends: they come from others, go to others, and leave.
#include <algorithm>
#include <set>
#include <utility>

#include "polykern/net/rounds/rounds.h"
#include "polykern/net/rounds/rounds_internal.h"

namespace polykern {

void Rounds::Claim(std::uint64_t client, const std::string& mask_key) {
  shared_->left.erase(client);
  if (members_[client].stored && mask_key.empty()) return;
  members_[client].stored = false;
  shared_->claims[client] = mask_key;
  shared_->new_claims = has_work_ = true;
}

void Rounds::Disconnect(std::uint64_t client) {
  members_.Disconnect(client);
  if (shared_ == nullptr) return;
  const auto place = shared_->places.find(members_[client].number);
  if (place != shared_->places.end() && place->second == client) shared_->left.insert(client);
}

/// Clients whose answers are not handed in yet are given up with the next partial.
bool Rounds::MayRelease() const {
  return counted_.empty() && shared_->late_from.empty();
}

void Rounds::ReleaseClients(FrontWork& work) {
  Shared& s = *shared_;
  if (!MayRelease()) return;
  work.released = s.wanted;
  for (const std::uint64_t client : s.left) {
    members_[client].stored = false;
    work.released.push_back(members_[client].number);
  }
}

void Rounds::ForgetReleased(const std::vector<std::uint64_t>& released) {
  Shared& s = *shared_;
  for (const std::uint64_t number : released) {
    if (const auto place = s.places.find(number); place != s.places.end()) {
      s.left.erase(place->second);
    }
  }
  const std::set<std::uint64_t> gone(released.begin(), released.end());
  std::erase_if(s.wanted, [&](std::uint64_t number) { return gone.contains(number); });
}

/// Its connection, if it has one, ends; what is known of it is asked for when it comes again.
void Rounds::Return(std::uint64_t client, const Ending& ending) {
  Member& member = members_[client];
  member.stored = false;
  if (member.session) End(*links_.Find(*member.session), ending);
}

/// What no other front end knows of does not count: its sender sends it again.
void Rounds::DropUnhanded() {
  coordinator_.DropUpdates();
  counts_.accepted -= counted_.size();
  for (const CountedUpdate& each : std::exchange(counted_, {})) {
    members_.Settle(each.client, members_[each.client].stored_next_step);
    Return(each.client, kComeAgain);
  }
}

void Rounds::TakeClients(const FrontNews& news) {
  Shared& s = *shared_;
  for (const FrontClient& each : news.claimed) {
    const std::uint64_t client = *members_.Find(each.name);
    Member& member = members_[client];
    member.number = each.number;
    member.known |= each.next_step > 0;
    s.places[each.number] = client;
    if (coordinator_.clients() <= each.number) {
      coordinator_.AddClients(each.number + 1 - coordinator_.clients());
    }
    if (!member.counted) members_.Settle(client, each.next_step);  // else this one knows better
    member.stored_next_step = std::min(each.next_step, published_.step());
    member.stored = true;
    s.claims.erase(client);
    if (member.session) {
      links_.Wake(*links_.Find(*member.session));
    } else {
      s.left.insert(client);
    }
  }
  for (const std::string& name : news.full) {
    const std::uint64_t client = *members_.Find(name);
    s.claims.erase(client);
    Return(client, {Ending::Kind::kBusy, "the federation has no room for another client"});
  }
  std::erase_if(s.claims, [this](const auto& each) { return !members_[each.first].session; });
  for (const FrontClient& each : news.confirmed) {
    if (each.here) continue;
    Return(s.places[each.number], kElsewhere);
    if (members_[s.places[each.number]].counted) DropUnhanded();
  }
  for (const std::uint64_t number : news.wanted) {
    if (std::ranges::find(s.wanted, number) != s.wanted.end()) continue;
    s.wanted.push_back(number);
    if (const auto place = s.places.find(number); place != s.places.end()) {
      Return(place->second, kElsewhere);
    }
  }
}

void Rounds::NoteShared(std::uint64_t client) {
  shared_->noted.insert(client);
}

void Rounds::RecheckShared(const std::function<bool(const ClientNote&)>& may_come_in) {
  const auto& fronts = shared_->all.fronts;
  if (std::ranges::any_of(fronts,
                          [](const FrontStatus& each) { return each.here && each.leads; })) {
    shared_->may_come_in = may_come_in;
  }
}

}  // namespace polykern
