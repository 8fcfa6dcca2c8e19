// What a helper does for a release: 1000 numbers of each client's stream, rules, and its log on the
// disk.
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "polykern/io/temporary_folder.h"
#include "polykern/net/helper/helper_ledger.h"
#include "polykern/net/helper/helper_testing.h"

namespace polykern {
namespace {

/// An item is a client.
void BM_HelperRelease(benchmark::State& state) {
  constexpr std::uint64_t kNumbers = 1000;
  const TemporaryFolder folder;
  const auto log = OpenHelperLog(folder.path() + "/helper.db");
  const MaskKeys helper = MakeMaskKeys();
  HelperRules rules;
  for (std::int64_t n = 0; n < state.range(0); ++n) rules.clients.insert("c" + std::to_string(n));
  MaskingClients clients(rules.clients, helper.open);
  ReleaseRequest request = TestRequest(0, 0, kNumbers);
  for (const std::string& name : rules.clients) clients.Send(name, 0, kNumbers, request);
  HelperLedger ledger(rules, kTestHelper, helper.secret, *log);
  ledger.Release(request, clients);  // now it has a key with each of them
  for (auto _ : state) {
    ++request.number;
    for (NamedContribution& message : request.messages) ++message.step;
    if (ledger.Release(request, clients).kind != HelperReply::Kind::kAnswered) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_HelperRelease)->Arg(10)->Arg(1000)->UseRealTime();

}  // namespace
}  // namespace polykern
