#include "polykern/net/helper/key_ring.h"

#include <limits>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

constexpr std::int64_t kJudgeAgain = 60;  // seconds: clocks may be set

}  // namespace

KeyRing::KeyRing(std::set<std::string> clients, Admission* door, HelperLog& log,
                 std::function<std::int64_t()> clock)
    : clients_(std::move(clients)), door_(door), log_(log), clock_(std::move(clock)) {
  for (const auto& [client, bytes] : log.Contents().keys) {
    if (!clients_.contains(client)) continue;
    try {
      entries_[client] = Prove(client, DecodeMaskKey(bytes));
    } catch (const Error&) {  // it will be sent again
    }
  }
}

void KeyRing::Take(const std::map<std::string, SignedMaskKey>& keys) {
  if (door_ != nullptr && door_->Refresh()) ++list_;
  for (const auto& [client, key] : keys) {
    if (!clients_.contains(client)) continue;
    const auto held = entries_.find(client);
    if (held != entries_.end() && held->second.key == key) continue;
    Entry entry = Prove(client, key);
    if (entry.reason.empty()) {
      unwritten_[client] = Encode(key);
    } else if (held != entries_.end() && held->second.reason.empty()) {
      continue;
    }
    entries_[client] = std::move(entry);
  }
  if (unwritten_.empty()) return;
  try {
    log_.WriteKeys(unwritten_);
    unwritten_.clear();
  } catch (const DiskFull&) {
  }
}

ClientKeys::Found KeyRing::Find(const std::string& client) {
  const auto found = entries_.find(client);
  if (found == entries_.end()) {
    return {.reason = "its mask key is missing: it has not connected since", .later = true};
  }
  Entry& entry = found->second;
  if (IsStale(entry, clock_())) entry = Prove(client, entry.key);
  if (!entry.reason.empty()) return {.reason = entry.reason};
  return {.key = entry.key.key};
}

KeyRing::Entry KeyRing::Prove(const std::string& client, const SignedMaskKey& key) {
  Entry entry{.key = key,
              .judged = clock_(),
              .valid_until = std::numeric_limits<std::int64_t>::max(),
              .list = list_};
  if (door_ == nullptr) return entry;
  try {
    const VerifiedMaskKey verified = VerifyMaskKey(key, Role::kClient, *door_);
    entry.valid_until = verified.valid_until;
    if (verified.name != client) entry.reason = "its mask key is that of " + verified.name;
  } catch (const Error& error) {
    entry.reason = error.what();
  }
  return entry;
}

/// One that was not good may be by now.
bool KeyRing::IsStale(const Entry& entry, std::int64_t now) const {
  return entry.list != list_ || now > entry.valid_until || now < entry.judged ||
         now >= entry.judged + kJudgeAgain;
}

}  // namespace polykern
