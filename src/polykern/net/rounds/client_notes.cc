#include "polykern/net/rounds/client_notes.h"

#include <algorithm>
#include <array>

#include "polykern/core/error.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

template <typename Change>
void ChangeNote(Store& store, const StoreContents& contents, const std::string& name,
                const Change& change) {
  const auto found = std::ranges::find(contents.clients, name, &StoredClient::name);
  if (found == contents.clients.end()) throw Error(NotAClient(name));
  NotedClient noted{static_cast<std::uint64_t>(found - contents.clients.begin()), found->note};
  change(noted.note);
  const std::array notes = {noted};
  store.Write({.notes = notes});
}

}  // namespace

std::string NotAClient(const std::string& name) {
  return "'" + name + "' is not a client of this federation; see `polykern client list`";
}

std::string IsConnected(const std::string& name) {
  return "'" + name + "' is connected: stop its agent, or revoke its certificate with `polykern " +
         "pki revoke " + name + "`, and then forget it";
}

void ForgetClient(Store& store, const std::string& name) {
  const StoreContents contents = store.Contents();
  if (FromTexts(contents.configuration).options.masking == Masking::kPairwise) {
    throw Error(kNeverForgotten);
  }
  const auto found = std::ranges::find(contents.clients, name, &StoredClient::name);
  if (found != contents.clients.end() && found->connected) throw Error(IsConnected(name));
  ChangeNote(store, contents, name, [](ClientNote& note) { note.forgotten = true; });
}

void LabelClient(Store& store, const std::string& name, const std::string& label) {
  ChangeNote(store, store.Contents(), name, [&](ClientNote& note) { note.label = label; });
}

}  // namespace polykern
