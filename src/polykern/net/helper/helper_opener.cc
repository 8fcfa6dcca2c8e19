#include "polykern/net/helper/helper_opener.h"

#include <chrono>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/signed_mask_key.h"
#include "polykern/net/rounds/server_noise.h"
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
      noisy_(options.noise.noisy() ? std::optional<NoisyReleases>(options.noise) : std::nullopt),
      link_(options) {}

OpenerStatus HelperOpener::status() const {
  OpenerStatus status{.helper = OpenerStatus::Helper{link_.connected(), link_.answered_seconds()},
                      .trouble = link_.trouble()};
  const std::lock_guard lock(noisy_mutex_);
  if (noisy_) status.noise = NoiseStatusOf(*noisy_);
  if (!forgotten_.empty()) status.trouble = forgotten_;
  return status;
}

std::vector<double> HelperOpener::Save() const {
  const std::lock_guard lock(noisy_mutex_);
  return noisy_ ? noisy_->Save() : std::vector<double>();
}

void HelperOpener::Load(std::span<const double> saved) {
  const std::lock_guard lock(noisy_mutex_);
  if (noisy_) noisy_->Load(saved);
}

std::uint64_t HelperOpener::settled() const {
  const auto helper = link_.greeting();
  return helper ? helper->releases : 0;
}

std::string HelperOpener::ClientsNeed() {
  const std::lock_guard lock(mutex_);
  if (key_.empty()) {
    if (const auto greeting = link_.greeting()) key_ = Encode(greeting->key);
  }
  return key_;
}

void HelperOpener::AddKey(const std::string& client, const std::string& mask_key) {
  std::unique_lock lock(mutex_);
  const SignedMaskKey key = ReadClientKey(client, mask_key, door_);
  lock.unlock();
  link_.AddKey(client, key);
}

std::string HelperOpener::Open(Release& release, std::span<const std::string> clients) {
  release.refusal = Forgotten(release, false);
  release.number_taken = !release.refusal.empty();
  if (release.number_taken) return {};
  ReleaseRequest request{.federation = options_.federation,
                         .epoch = options_.epoch,
                         .number = release.number,
                         .kind = release.kind,
                         .numbers = release.sums.size(),
                         .ring = ring_,
                         .noise = options_.noise};
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
    release.refusal = Forgotten(release, true);
    release.number_taken = !release.refusal.empty();
    if (!release.number_taken) release.refusal = "the helper refuses: " + reply.reason;
  } else if (noisy_) {
    AddNoisy(reply.streams, release);
  } else {
    TakeOff(reply.streams, release.sums);
  }
  return {};
}

/// With noise an answer is made of all releases before it. If the helper has answered one that our
/// store does not know of, there is no use in its answers. But the newest may be the one that is
/// open, whose answer did not arrive: unless it is `refused`. Empty: nothing is missing.
std::string HelperOpener::Forgotten(const Release& release, bool refused) {
  const std::lock_guard lock(noisy_mutex_);
  const auto helper = link_.greeting();
  if (!noisy_ || !helper) return forgotten_;
  const std::uint64_t known = noisy_->size();
  const bool open = helper->noisy == known + 1 && helper->releases == release.number + 1;
  if (helper->noisy > known && (refused || !open)) {
    forgotten_ = "the server's store was restored from a backup: it knows of " +
                 std::to_string(known) + " noisy sums, the helper has answered " +
                 std::to_string(helper->noisy) +
                 ", and all that follow are made of all of them; put back the store from before, "
                 "or start again with a new store for the server and another for the helper";
  }
  return forgotten_;
}

/// What the helper tells is the weighted sum of all masks, less the noise.
void HelperOpener::AddNoisy(std::span<const std::uint64_t> told, Release& release) {
  std::vector<std::uint64_t> added(told.begin(), told.end());
  for (std::uint64_t& number : added) number = -number;
  const std::lock_guard lock(noisy_mutex_);
  if (noisy_->spent()) {
    release.refusal = noisy_->terms().AllSpent();
    return;
  }
  noisy_->Add(release.sums, added);
  noisy_->Fill(release);
}

}  // namespace polykern
