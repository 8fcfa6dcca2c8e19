#include "polykern/net/rounds/release_opener.h"

#include <sstream>

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"

namespace polykern {

std::string NewsOfNoise(const ReleaseOpener& opener) {
  const auto noise = opener.status().noise;
  if (!noise) return {};
  std::ostringstream said;
  said << noise->releases << " of " << noise->releases + noise->releases_left
       << " noisy sums so far; epsilon " << noise->spent << " of " << noise->epsilon << " is spent";
  if (noise->releases_left == 0) said << ", and the model stays as it is";
  return said.str();
}

std::vector<double> WithOpener(std::vector<double> state, const ReleaseOpener* opener) {
  if (opener == nullptr) return state;
  const std::vector<double> kept = opener->Save();
  if (kept.empty()) return state;
  state.insert(state.end(), kept.begin(), kept.end());
  state.push_back(static_cast<double>(kept.size()));
  return state;
}

SplitState Split(std::span<const double> state) {
  const double kept = state.empty() ? -1 : state.back();
  if (!(kept >= 0 && kept < static_cast<double>(state.size()))) {
    throw Error("a saved state does not fit: it was made with other settings");
  }
  const auto size = static_cast<std::size_t>(kept);
  const std::size_t model = state.size() - 1 - size;
  return {state.first(model), state.subspan(model, size)};
}

std::span<const double> WithoutOpener(std::span<const double> state, const ReleaseOpener* opener) {
  return opener == nullptr || opener->Save().empty() ? state : Split(state).model;
}

std::span<const double> GiveOpener(std::span<const double> state, ReleaseOpener* opener) {
  if (opener == nullptr || opener->Save().empty()) return state;
  const SplitState parts = Split(state);
  opener->Load(parts.opener);
  return parts.model;
}

SignedMaskKey ReadClientKey(const std::string& client, const std::string& mask_key,
                            Admission& door) {
  if (mask_key.empty()) {
    throw Error(
        "this federation masks what clients send, and you have no mask key: issue it with "
        "polykern pki issue " +
        client + " " + ShellSpelling("renew"));
  }
  SignedMaskKey key = DecodeMaskKey(mask_key);
  const std::string name = VerifyMaskKey(key, Role::kClient, door).name;
  if (name != client) throw Error("your mask key is that of " + name);
  return key;
}

}  // namespace polykern
