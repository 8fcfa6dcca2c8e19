#include "polykern/net/rounds/rounds_core.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {
namespace {

void CheckNumber(const RoundsOptions& options, const Algorithm& algorithm) {
  const std::size_t most = options.roster.empty() ? options.most_clients : options.roster.size();
  if (most <= algorithm.most_clients()) return;
  throw Error(std::to_string(most) + " clients are too many for sums that stay exact: at most " +
              std::to_string(algorithm.most_clients()) + "; lower " + OptionName("max_clients") +
              " or " + OptionName("most_samples"));
}

/// The coordinator where the store is, if rounds with these options can resume there.
Coordinator Resume(const Algorithm& algorithm, const Store& store, const RoundsOptions& options,
                   const StoreContents& contents) {
  CheckRounds(options, algorithm.name(), contents.clients);
  CheckNumber(options, algorithm);
  Coordinator coordinator(algorithm, contents.clients.size());
  store.CheckRoom(coordinator.Save().size());
  if (options.uses_late()) coordinator.TakeLateUpdates();
  if (options.opener != nullptr) {
    options.opener->masked() ? coordinator.TakeMasked() : coordinator.LetCallerOpen();
  }
  std::vector<std::uint64_t> next_steps;
  for (const StoredClient& client : contents.clients) next_steps.push_back(client.next_step);
  if (const auto& newest = contents.newest) {
    // Of several front ends the one that ends steps opens sums.
    coordinator.Load(newest->steps,
                     options.front == nullptr ? GiveOpener(newest->state, options.opener)
                                              : WithoutOpener(newest->state, options.opener),
                     next_steps);
  }
  return coordinator;
}

/// At one of several front ends only those that come here.
std::span<const StoredClient> ClientsHere(const RoundsOptions& options,
                                          const StoreContents& contents) {
  if (options.front != nullptr) return {};
  return contents.clients;
}

}  // namespace

RoundsCore::RoundsCore(const Algorithm& of, Store& store, const RoundsOptions& given,
                       const StoreContents& contents)
    : algorithm(of.name()),
      writer(store),
      options(given),
      coordinator(Resume(of, store, given, contents)),
      published(of.shape(), contents.configuration, given.steps, coordinator.broadcast()),
      members(options, ClientsHere(given, contents), published.step()) {}

void RoundsCore::Log(const std::string& name, const char* event, const std::string& detail) {
  if (options.observer != nullptr) options.observer->Event(name, event, detail);
  writer.Log(name, event, detail);
}

void RoundsCore::End(Link& link, const Ending& ending) {
  if (link.client) members.Disconnect(*link.client);
  if (ending.kind == Ending::Kind::kBusy) {
    link.replies.push_back(Encode(options.RetryWindow(ending.reason)));
  }
  links.End(link, ending);
}

/// Where late updates are used; else the next model says as much.
void RoundsCore::Confirm(const CountedUpdate& update) {
  if (!options.uses_late()) return;
  if (const auto& session = members[update.client].session) {
    links.Find(*session)->counted = update.step;
  }
}

std::vector<double> RoundsCore::StateNow() const {
  return WithOpener(coordinator.Save(), options.opener);
}

void RoundsCore::LogDiscarded() {
  for (const std::string& what : coordinator.discarded()) {
    ++counts.discarded;
    Log("", "discarded", what);
  }
}

}  // namespace polykern
