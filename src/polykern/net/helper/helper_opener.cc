#include "polykern/net/helper/helper_opener.h"

#include <chrono>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/signed_mask_key.h"
#include "polykern/privacy/mask_sealing.h"

namespace polykern {
namespace {

constexpr std::chrono::milliseconds kLongestWait{1000};

}  // namespace

HelperOpener::HelperOpener(const HelperLinkOptions& options, const Ring& ring)
    : options_(options),
      ring_(ring),
      door_(AuthorityPaths(options.certificates).certificate,
            AuthorityPaths(options.certificates).revocations),
      link_(options) {}

std::string HelperOpener::ClientsNeed() {
  const std::lock_guard lock(mutex_);
  if (key_.empty()) {
    if (const auto greeting = link_.WaitForHelper(std::chrono::milliseconds(0))) {
      key_ = Encode(greeting->key);
    }
  }
  return key_;
}

void HelperOpener::AddKey(const std::string& client, const std::string& mask_key) {
  if (mask_key.empty()) {
    throw Error(
        "this federation masks what clients send, and you have no mask key: issue it with "
        "polykern pki issue " +
        client + " " + ShellSpelling("renew"));
  }
  const SignedMaskKey key = DecodeMaskKey(mask_key);
  {
    const std::lock_guard lock(mutex_);
    const std::string name = VerifyMaskKey(key, Role::kClient, door_).name;
    if (name != client) throw Error("your mask key is that of " + name);
  }
  link_.AddKey(client, key);
}

std::string HelperOpener::Open(Release& release, std::span<const std::string> clients) {
  ReleaseRequest request{.federation = options_.federation,
                         .epoch = options_.epoch,
                         .number = release.number,
                         .kind = release.kind,
                         .numbers = release.sums.size(),
                         .ring = ring_};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Contribution& each = release.contributions[i];
    request.messages.push_back(
        {clients[i], each.step, each.releases, each.count, each.new_unknowns, each.nonce});
  }
  HelperReply reply = link_.Ask(request, kLongestWait, stop_.get_token());
  if (reply.kind == HelperReply::Kind::kLater) {
    return "the helper has not taken the masks off release " + std::to_string(release.number) +
           ": " + reply.reason;
  }
  if (reply.kind == HelperReply::Kind::kRefused) {
    release.refusal = "the helper refuses: " + reply.reason;
  } else {
    TakeOff(reply.streams, release.sums);
  }
  return {};
}

}  // namespace polykern
