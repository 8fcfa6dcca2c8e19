#include "polykern/net/store.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/algorithms/registry.h"
#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

const StoreConfiguration kConfiguration{
    {"algorithm", "pof-mkl"}, {"features", "20"}, {"seed", "7"}};

/// A state that says which step it is of, in every number.
std::vector<double> StateOf(std::uint64_t steps, std::size_t size = 100) {
  std::vector<double> state(size);
  std::iota(state.begin(), state.end(), static_cast<double>(steps) * 1e6);
  return state;
}

void Commit(Store& store, std::uint64_t steps, std::vector<std::uint64_t> answered = {},
            std::size_t size = 100) {
  std::vector<CountedUpdate> counted;
  for (const std::uint64_t client : answered) counted.push_back({client, steps - 1});
  store.Commit({.steps = steps, .state = StateOf(steps, size), .counted = counted});
}

/// SQL on the file itself, as a vandal would.
void Execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

class AStore : public testing::Test {
 protected:
  TestFolder folder;
  const std::string path = folder.At("store.db");
};

TEST_F(AStore, IsEmptyWhenNew) {
  Store store(path, kConfiguration);
  EXPECT_FALSE(store.Resume());
  EXPECT_THAT(store.clients(), IsEmpty());
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(AStore, GivesBackTheNewestStepAfterReopening) {
  {
    Store store(path, kConfiguration);
    EXPECT_EQ(store.Enrol("b"), 0U);
    EXPECT_EQ(store.Enrol("a"), 1U);
    EXPECT_EQ(store.Enrol("b"), 0U);
    for (std::uint64_t steps = 1; steps <= 5; ++steps) Commit(store, steps, {steps % 2});
    const Rejections rejected[] = {{.client = 1, .count = 3}};
    store.Commit({.steps = 6, .state = StateOf(6), .counted = {}, .rejected = rejected});
  }
  Store store(path, kConfiguration);
  const auto point = store.Resume();
  ASSERT_TRUE(point);
  EXPECT_EQ(point->steps, 6U);
  EXPECT_EQ(point->state, StateOf(6));
  EXPECT_EQ(store.Enrol("c"), 2U);
  const auto clients = store.clients();
  ASSERT_EQ(clients.size(), 3U);
  EXPECT_EQ(clients[0].name, "b");
  EXPECT_EQ(clients[0].accepted, 2U);  // steps 2 and 4
  EXPECT_EQ(clients[0].answered, 4U);
  EXPECT_EQ(clients[1].accepted, 3U);  // steps 1, 3 and 5
  EXPECT_EQ(clients[1].answered, 5U);
  EXPECT_EQ(clients[1].rejected, 3U);
  EXPECT_EQ(clients[2].answered, 0U);
  EXPECT_GT(clients[2].first_seen, 0);
}

TEST_F(AStore, KeepsEveryBitOfAState) {
  const std::vector<double> odd{-0.0, 5e-324, 1.7976931348623157e308, 0.1, -1.0 / 3};
  Store(path, kConfiguration).Commit({.steps = 1, .state = odd, .counted = {}});
  const auto state = Store(path, kConfiguration).Resume()->state;
  ASSERT_EQ(state.size(), odd.size());
  EXPECT_EQ(std::memcmp(state.data(), odd.data(), odd.size() * sizeof(double)), 0);
}

TEST_F(AStore, TakesAStateWithoutNumbers) {
  Store(path, kConfiguration).Commit({.steps = 1, .state = {}, .counted = {}});
  EXPECT_EQ(Store(path, kConfiguration).Resume()->steps, 1U);
}

TEST_F(AStore, SaysHowAnotherConfigurationDiffers) {
  Store(path, kConfiguration).Enrol("a");
  EXPECT_THAT(MessageOf([&] {
                Store(path, {{"algorithm", "pof-mkl"}, {"features", "40"}, {"mode", "async"}});
              }),
              HasSubstr("(features: 20 -> 40, mode: (not set) -> async, seed: 7 -> (not set))"));
  Store store(path, kConfiguration);  // nothing was changed
}

TEST_F(AStore, ThatNobodyHasUsedTakesAnotherConfiguration) {
  StoreConfiguration other = kConfiguration;
  other["seed"] = "8";
  { const Store store(path, kConfiguration); }
  {
    Store store(path, other);
    EXPECT_EQ(ReadStore(path).configuration, other);
    store.Enrol("a");
  }
  EXPECT_THROW(Store(path, kConfiguration), Error);
  EXPECT_EQ(ReadStore(path).configuration, other);
}

TEST_F(AStore, HoldsStatesUpToAGigabyte) {
  const Store store(path, kConfiguration);
  EXPECT_NO_THROW(store.CheckRoom(100'000'000));
  EXPECT_THROW(store.CheckRoom(126'253'000), Error);
}

TEST_F(AStore, IsUsedByOneAtATime) {
  Store store(path, kConfiguration);
  EXPECT_THAT(MessageOf([&] { Store(path, kConfiguration); }), HasSubstr("stop it first"));
  Commit(store, 1);
  EXPECT_EQ(ReadStore(path).newest->steps, 1U);  // readers may look
  Commit(store, 2);
  EXPECT_EQ(ReadStore(path).newest->steps, 2U);
}

TEST_F(AStore, OfANewerVersionIsRefused) {
  { Store store(path, kConfiguration); }
  Execute(path, "PRAGMA user_version = 2");
  for (const std::string& text :
       {MessageOf([&] { Store(path, kConfiguration); }), MessageOf([&] { ReadStore(path); })}) {
    EXPECT_THAT(text, HasSubstr("the store has version 2, made by a newer polykern"));
  }
}

TEST_F(AStore, IsNotAnyOtherFile) {
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_THAT(MessageOf([&] { Store(path, kConfiguration); }), HasSubstr("is not a store"));
  EXPECT_EQ(fs::file_size(path), 5000U);
  const std::string other = folder.At("other.db");
  Execute(other, "CREATE TABLE shopping(list TEXT)");
  EXPECT_THAT(MessageOf([&] { Store(other, kConfiguration); }), HasSubstr("is not a store"));
  EXPECT_THAT(MessageOf([&] { ReadStore(folder.At("none")); }), HasSubstr("there is no store"));
  EXPECT_THAT(MessageOf([&] { Store(folder.At("none/x.db"), kConfiguration); }),
              HasSubstr("cannot be opened"));
}

TEST_F(AStore, ThatIsDamagedIsRefused) {
  {
    Store store(path, kConfiguration);
    for (std::uint64_t steps = 1; steps <= 20; ++steps) Commit(store, steps, {}, 5000);
  }
  const auto size = fs::file_size(path);
  // Whatever 4 kB are overwritten: refused with one line, or not needed by what is given back.
  int refused = 0;
  for (std::uintmax_t at = 0; at < size; at += 4096) {
    const std::string copy = folder.At("copy.db");
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(4096, '\xa5');
    file.close();
    try {
      Store store(copy, kConfiguration);
      const auto point = store.Resume();
      ASSERT_TRUE(point);
      EXPECT_EQ(point->state, StateOf(20, 5000)) << at;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(copy));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      ++refused;
    }
    fs::remove(copy + "-wal");
    fs::remove(copy + "-shm");
  }
  EXPECT_GT(refused, 10);  // at least the ten pages of the newest state
  fs::resize_file(path, size / 2);
  EXPECT_THAT(MessageOf([&] { Store(path, kConfiguration); }), HasSubstr("damaged"));
}

TEST_F(AStore, KeepsTwoStatesAndWritesItsLog) {
  {
    Store store(path, kConfiguration);
    store.Log("a", "rejected", "values are not finite");
    for (std::uint64_t steps = 1; steps <= 9; ++steps) Commit(store, steps);
    EXPECT_EQ(ReadStore(path).events, 1U);
    for (int i = 0; i < 2500; ++i) store.Log("b", "connected", "");
    EXPECT_EQ(ReadStore(path).events, 2001U);
  }
  EXPECT_EQ(ReadStore(path).events, 2501U);  // the rest when it was closed
  EXPECT_EQ(ReadStore(path).step_records, 9U);
  Execute(path, "CREATE TABLE two(n CHECK(n = 2)); INSERT INTO two SELECT count(*) FROM state");
}

TEST_F(AStore, NeedsNoMoreMemoryWhenItsLogIsLong) {
  Store store(path, kConfiguration);
  const auto write = [&](int events) {
    for (int i = 0; i < events; ++i) store.Log("a client of some name", "connected", "");
    store.Flush();
    return sqlite3_memory_used();
  };
  const std::int64_t early = write(1000);
  EXPECT_GT(early, 0);
  EXPECT_LT(write(60000), early + (700 << 10));
  EXPECT_GT(ReadStore(path).file_bytes, 2U << 20);
}

TEST_F(AStore, ForgetsWhatIsPruned) {
  Store store(path, kConfiguration);
  const std::uint64_t client = store.Enrol("a");
  for (std::uint64_t steps = 1; steps <= 50; ++steps) Commit(store, steps, {client}, 50000);
  store.Log("a", "connected", "");
  store.Flush();
  const auto before = ReadStore(path).file_bytes;
  EXPECT_EQ(store.Prune({.keep_steps = 10}).steps, 40U);
  EXPECT_EQ(store.Prune({.keep_seconds = 3600}).events, 0U);
  store.Compact();
  StoreContents now = ReadStore(path);
  EXPECT_LT(now.file_bytes, before);
  EXPECT_EQ(now.step_records, 10U);
  EXPECT_EQ(now.newest->state, StateOf(50, 50000));
  EXPECT_EQ(now.clients[0].accepted, 50U);
  store.Prune({.keep_steps = 0});
  EXPECT_EQ(ReadStore(path).step_records, 1U);  // the newest state's
  Commit(store, 51);
  EXPECT_EQ(store.Resume()->steps, 51U);
}

TEST_F(AStore, LosesNothingThatWasCommittedWhenKilled) {
  std::uint64_t acknowledged = 0;
  for (std::uint32_t round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      Store store(path, kConfiguration);
      const std::uint64_t client = store.Enrol("a");
      const auto point = store.Resume();
      for (std::uint64_t steps = point ? point->steps + 1 : 1;; ++steps) {
        Commit(store, steps, {client}, 2000);
        if (write(pipe_ends[1], &steps, sizeof steps) != sizeof steps) _exit(1);
      }
    }
    close(pipe_ends[1]);
    // The kill comes at a random moment after a random number of commits.
    const std::uint64_t wanted = acknowledged + 1 + (round * 7919U) % 23;
    std::uint64_t steps = 0;
    while (steps < wanted && read(pipe_ends[0], &steps, sizeof steps) == sizeof steps) {
    }
    usleep((round * 104729U) % 3000);
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &steps, sizeof steps) == sizeof steps) {
    }
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
    acknowledged = steps;
    Store store(path, kConfiguration);
    const auto point = store.Resume();
    ASSERT_TRUE(point);
    EXPECT_GE(point->steps, acknowledged);
    EXPECT_LE(point->steps, acknowledged + 1);  // committed, and killed before it could say so
    EXPECT_EQ(point->state, StateOf(point->steps, 2000));
    const StoredClient client = store.clients().at(0);
    EXPECT_EQ(client.answered, point->steps);
    EXPECT_EQ(client.accepted, point->steps);  // each step once
    acknowledged = point->steps;
  }
}

/// Commits until there is no room, twice; then makes room and goes on.
void FillUp(const std::string& path, const std::function<void()>& make_room) {
  std::uint64_t steps = 0;
  {
    Store store(path, kConfiguration);
    bool full = false;
    while (!full && steps < 10000) {
      try {
        Commit(store, steps + 1, {}, 1000 * (steps + 1));
        ++steps;
      } catch (const DiskFull& error) {
        full = true;
        EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
      }
    }
    ASSERT_TRUE(full);
    EXPECT_GT(steps, 2U);
    EXPECT_THROW(Commit(store, steps + 1, {}, 1000 * (steps + 1)), DiskFull);
    EXPECT_EQ(store.Resume()->steps, steps);
    EXPECT_EQ(store.Resume()->state, StateOf(steps, 1000 * steps));
    for (int i = 0; i < 5000; ++i) store.Log("a", "connected", std::string(1000, 'x'));
    make_room();
    Commit(store, steps + 1, {}, 1000 * (steps + 1));
  }
  EXPECT_EQ(Store(path, kConfiguration).Resume()->state, StateOf(steps + 1, 1000 * (steps + 1)));
}

TEST_F(AStore, KeepsItsLastCommitWhenAFileMayNotGrow) {
  const FileSizeLimit limit(1 << 20);
  FillUp(path, [&] { limit.Lift(); });
}

TEST_F(AStore, KeepsItsLastCommitWhenTheDiskIsFull) {
  const std::string mount_point = folder.At("small");
  fs::create_directory(mount_point);
  const pid_t child = fork();
  if (child == 0) {  // a small disk that only this process sees
    const char* const place = mount_point.c_str();
    const uid_t me = geteuid();
    const gid_t group = getegid();
    if (unshare(me == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    if (me != 0) {  // be root in there, of users and groups
      std::ofstream("/proc/self/uid_map") << "0 " << me << " 1";
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
    if (mount("tmpfs", place, "tmpfs", 0, "size=2m") != 0) _exit(77);
    try {
      FillUp(mount_point + "/store.db",
             [&] { mount("tmpfs", place, "tmpfs", MS_REMOUNT, "size=64m"); });
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no disk may be mounted here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace polykern
