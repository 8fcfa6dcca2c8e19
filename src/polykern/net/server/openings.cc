#include "polykern/net/server/openings.h"

#include <utility>

namespace polykern {

std::shared_ptr<ServerCall> Openings::Add(const std::string& address,
                                          const std::shared_ptr<ServerCall>& call) {
  const std::lock_guard lock(mutex_);
  places_[call.get()] = openings_.insert(openings_.end(), {address, call});
  auto& own = of_address_[address];
  own.push_back(call);
  std::shared_ptr<ServerCall> oldest;
  if (own.size() > most_of_address_) {
    oldest = own.front();
  } else if (openings_.size() > most_) {
    oldest = openings_.front().call;
  }
  if (oldest != nullptr) RemoveLocked(*oldest);
  return oldest;
}

std::shared_ptr<ServerCall> Openings::TakeOldest() {
  const std::lock_guard lock(mutex_);
  if (openings_.empty()) return nullptr;
  const std::shared_ptr<ServerCall> oldest = openings_.front().call;
  RemoveLocked(*oldest);
  return oldest;
}

std::string Openings::Remove(const ServerCall& call) {
  const std::lock_guard lock(mutex_);
  return RemoveLocked(call);
}

std::string Openings::RemoveLocked(const ServerCall& call) {
  const auto place = places_.find(&call);
  if (place == places_.end()) return {};
  std::string address = std::move(place->second->address);
  const auto own = of_address_.find(address);
  std::erase(own->second, place->second->call);
  if (own->second.empty()) of_address_.erase(own);
  openings_.erase(place->second);
  places_.erase(place);
  return address;
}

std::size_t Openings::size() const {
  const std::lock_guard lock(mutex_);
  return openings_.size();
}

}  // namespace polykern
