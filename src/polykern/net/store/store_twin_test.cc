// Stores on disks beside the one in memory, which is slow and obvious.
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/postgresql/database_testing.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

/// What a server does, by chance, to a store and to one in memory, which is slow and obvious.
class TwinStores {
 public:
  TwinStores(std::uint64_t seed, Store& twin) : random_(seed, Purpose::kTest), twin_(twin) {}

  void Write(Store& store) {
    std::vector<std::string> names(random_.Below(3));
    for (std::string& name : names) {
      name = "client " + std::to_string(next_steps_.size());
      next_steps_.push_back(0);
    }
    std::vector<CountedUpdate> counted;
    std::vector<Rejections> rejected;
    std::vector<NotedClient> notes;
    const std::uint64_t steps = steps_ + 1 + random_.Below(2);
    for (std::uint64_t k = 0; k < next_steps_.size(); ++k) {
      for (std::uint64_t n = random_.Below(3); n > 0 && next_steps_[k] < steps; --n) {
        const std::uint64_t step = next_steps_[k] + random_.Below(steps - next_steps_[k]);
        counted.push_back({k, step});
        next_steps_[k] = step + 1;
      }
      if (random_.Below(4) == 0) rejected.push_back({k, 1 + random_.Below(9)});
      if (random_.Below(6) == 0) {
        notes.push_back({k,
                         {.label = std::string(random_.Below(5), '\''),
                          .forgotten = random_.Below(2) == 0,
                          .serial = std::to_string(random_.Below(100)),
                          .expires = static_cast<std::int64_t>(random_.Below(1000))}});
      }
    }
    const std::vector<double> state = StateOf(steps, random_.Below(300));
    const std::vector<StoredEvent> events(random_.Below(4), {std::time(nullptr), "a", "did", "x"});
    StoreBatch batch{.clients = names, .events = events, .notes = notes};
    if (random_.Below(4) > 0 || !counted.empty()) {
      batch.step = StepCommit{steps, state, counted, rejected};
      steps_ = steps;
    }
    store.Write(batch);
    twin_.Write(batch);
  }
  void Prune(Store& store) {
    const PruneOptions options{.keep_steps = random_.Below(10)};
    EXPECT_EQ(store.Prune(options).steps, twin_.Prune(options).steps);
  }
  void Compare(Store& store) const {
    EXPECT_EQ(Describe(store.Contents()), Describe(twin_.Contents()));
  }

 private:
  /// All but times.
  static std::string Describe(const StoreContents& contents) {
    std::ostringstream text;
    text << contents.participants << ' ' << contents.step_records << ' ' << contents.events << '\n';
    if (contents.newest) {
      text << contents.newest->steps << ": " << testing::PrintToString(contents.newest->state);
    }
    for (const StoredClient& each : contents.clients) {
      text << '\n'
           << each.name << ' ' << each.accepted << ' ' << each.rejected << ' ' << each.next_step
           << ' ' << each.note.label << ' ' << each.note.forgotten << ' ' << each.note.serial << ' '
           << each.note.expires;
    }
    return text.str();
  }

  Random random_;
  Store& twin_;
  std::uint64_t steps_ = 0;
  std::vector<std::uint64_t> next_steps_;  // of each client
};

/// Sometimes the store is closed, and opened again.
void BeTwins(const std::function<std::unique_ptr<Store>()>& open) {
  const auto memory = OpenStore("memory:", kTestConfiguration);
  TwinStores twins(5, *memory);
  std::unique_ptr<Store> store = open();
  for (int n = 0; n < 100; ++n) {
    twins.Write(*store);
    if (n % 9 == 0) twins.Prune(*store);
    if (n % 13 == 0) {
      store.reset();
      store = open();
    }
    if (n % 3 == 0) twins.Compare(*store);
  }
}

TEST(ASqliteTwin, DoesWhatAStoreInMemoryDoesWhateverIsWritten) {
  const TestFolder folder;
  BeTwins([&] { return OpenStore(folder.At("store.db"), kTestConfiguration); });
}

class TablesOfATwin : public InADatabase {};

TEST_F(TablesOfATwin, DoWhatAStoreInMemoryDoesWhateverIsWritten) {
  BeTwins([&] { return OpenStore(url(), kTestConfiguration); });
}

}  // namespace
}  // namespace polykern
