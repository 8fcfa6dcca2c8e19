// What only stores in SQLite files do: how they fail, and how they do not.
#include "polykern/net/sqlite/sqlite_store.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// SQL on the file itself, as a vandal would.
void Execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

class ASqliteStore : public testing::Test {
 protected:
  TestFolder folder;
  const std::string path = folder.At("store.db");
};

TEST_F(ASqliteStore, IsForItsOwnerAlone) {
  OpenStore(path, kTestConfiguration);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(ASqliteStore, ThatWasBeingMadeIsMadeAgain) {
  const std::string half = folder.At("half.db");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(half.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database,
                         "PRAGMA cache_size = 1; BEGIN; CREATE TABLE t(x);"
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                         "100) INSERT INTO t SELECT randomblob(10000) FROM n",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  fs::copy_file(half, path);  // as a process leaves them that is killed now
  fs::copy_file(half + "-journal", path + "-journal");
  sqlite3_close(database);
  EXPECT_FALSE(HasStore(path));
  OpenStore(path, kTestConfiguration);
  EXPECT_EQ(ReadStore(path).configuration, kTestConfiguration);
}

TEST_F(ASqliteStore, HasOneWriterWhateverWayLeadsToIt) {
  const auto store = OpenStore(path, kTestConfiguration);
  const std::string link = folder.At("link.db");
  fs::create_symlink(path, link);
  const auto refused = [](const std::string& way) {
    return MessageOf([&] { OpenStore(way, kTestConfiguration); });
  };
  EXPECT_THAT(refused(link), HasSubstr("another process is using the store"));
  fs::remove(path + "-lock");
  EXPECT_THAT(refused(path), HasSubstr("another process is using the store"));
}

TEST_F(ASqliteStore, KeepsTwoStates) {
  {
    const auto store = OpenStore(path, kTestConfiguration);
    for (std::uint64_t steps = 1; steps <= 9; ++steps) CommitTo(*store, steps);
  }
  EXPECT_EQ(ReadStore(path).step_records, 9U);
  Execute(path, "CREATE TABLE two(n CHECK(n = 2)); INSERT INTO two SELECT count(*) FROM state");
}

TEST_F(ASqliteStore, GivesRoomBackToTheDisk) {
  const auto store = OpenStore(path, kTestConfiguration);
  for (std::uint64_t steps = 1; steps <= 50; ++steps) CommitTo(*store, steps, {}, 50000);
  const auto before = ReadStore(path).file_bytes;
  store->Prune({.keep_steps = 10});
  store->Compact();
  EXPECT_LT(ReadStore(path).file_bytes, before);
}

TEST_F(ASqliteStore, HoldsStatesUpToAGigabyte) {
  const auto store = OpenStore(path, kTestConfiguration);
  EXPECT_NO_THROW(store->CheckRoom(100'000'000));
  EXPECT_THROW(store->CheckRoom(126'253'000), Error);
}

TEST_F(ASqliteStore, OfANewerVersionIsRefused) {
  { const auto store = OpenStore(path, kTestConfiguration); }
  Execute(path, "PRAGMA user_version = 2");
  for (const std::string& text : {MessageOf([&] { OpenStore(path, kTestConfiguration); }),
                                  MessageOf([&] { ReadStore(path); })}) {
    EXPECT_THAT(text, HasSubstr("the store has version 2, made by a newer polykern"));
  }
}

TEST_F(ASqliteStore, IsNotAnyOtherFile) {
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_THAT(MessageOf([&] { OpenStore(path, kTestConfiguration); }), HasSubstr("is not a store"));
  EXPECT_EQ(fs::file_size(path), 5000U);
  const std::string other = folder.At("other.db");
  Execute(other, "CREATE TABLE shopping(list TEXT)");
  EXPECT_THAT(MessageOf([&] { OpenStore(other, kTestConfiguration); }),
              HasSubstr("is not a store"));
  EXPECT_THAT(MessageOf([&] { ReadStore(folder.At("none")); }), HasSubstr("there is no store"));
  EXPECT_THAT(MessageOf([&] { OpenStore(folder.At("none/x.db"), kTestConfiguration); }),
              HasSubstr("cannot be opened"));
}

TEST_F(ASqliteStore, ThatIsDamagedIsRefused) {
  {
    const auto store = OpenStore(path, kTestConfiguration);
    for (std::uint64_t steps = 1; steps <= 20; ++steps) CommitTo(*store, steps, {}, 5000);
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
      const auto store = OpenStore(copy, kTestConfiguration);
      const auto point = store->Contents().newest;
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
  EXPECT_THAT(MessageOf([&] { OpenStore(path, kTestConfiguration); }), HasSubstr("damaged"));
}

TEST_F(ASqliteStore, NeedsNoMoreMemoryWhenItsLogIsLong) {
  const auto store = OpenStore(path, kTestConfiguration);
  const auto write = [&](int events) {
    const std::vector<StoredEvent> thousand(1000, {0, "a client of some name", "connected", ""});
    for (int i = 0; i < events; i += 1000) store->Write({.events = thousand});
    return sqlite3_memory_used();
  };
  const std::int64_t early = write(1000);
  EXPECT_GT(early, 0);
  EXPECT_LT(write(60000), early + (700 << 10));
  EXPECT_GT(ReadStore(path).file_bytes, 2U << 20);
}

TEST_F(ASqliteStore, LosesNothingThatWasCommittedWhenKilled) {
  std::uint64_t acknowledged = 0;
  for (std::uint32_t round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pipe_ends[0]);
      const auto store = OpenStore(path, kTestConfiguration);
      if (store->Contents().clients.empty()) EnrolIn(*store, {"a"});
      const auto point = store->Contents().newest;
      for (std::uint64_t steps = point ? point->steps + 1 : 1;; ++steps) {
        CommitTo(*store, steps, {0}, 2000);
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
    const auto store = OpenStore(path, kTestConfiguration);
    const auto point = store->Contents().newest;
    ASSERT_TRUE(point);
    EXPECT_GE(point->steps, acknowledged);
    EXPECT_LE(point->steps, acknowledged + 1);  // committed, and killed before it could say so
    EXPECT_EQ(point->state, StateOf(point->steps, 2000));
    const StoredClient client = store->Contents().clients.at(0);
    EXPECT_EQ(client.next_step, point->steps);
    EXPECT_EQ(client.accepted, point->steps);  // each step once
    acknowledged = point->steps;
  }
}

/// Commits until there is no room, twice; then makes room and goes on.
void FillUp(const std::string& path, const std::function<void()>& make_room) {
  std::uint64_t steps = 0;
  {
    const auto store = OpenStore(path, kTestConfiguration);
    bool full = false;
    while (!full && steps < 10000) {
      try {
        CommitTo(*store, steps + 1, {}, 1000 * (steps + 1));
        ++steps;
      } catch (const DiskFull& error) {
        full = true;
        EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
      }
    }
    ASSERT_TRUE(full);
    EXPECT_GT(steps, 2U);
    EXPECT_THROW(CommitTo(*store, steps + 1, {}, 1000 * (steps + 1)), DiskFull);
    EXPECT_EQ(store->Contents().newest->steps, steps);
    EXPECT_EQ(store->Contents().newest->state, StateOf(steps, 1000 * steps));
    const std::vector<StoredEvent> events(5000, {0, "a", "connected", std::string(1000, 'x')});
    EXPECT_THROW(store->Write({.events = events}), DiskFull);
    EXPECT_EQ(store->Contents().events, 0U);
    make_room();
    CommitTo(*store, steps + 1, {}, 1000 * (steps + 1));
  }
  EXPECT_EQ(OpenStore(path, kTestConfiguration)->Contents().newest->state,
            StateOf(steps + 1, 1000 * (steps + 1)));
}

TEST_F(ASqliteStore, KeepsItsLastCommitWhenAFileMayNotGrow) {
  const FileSizeLimit limit(1 << 20);
  FillUp(path, [&] { limit.Lift(); });
}

TEST_F(ASqliteStore, KeepsItsLastCommitWhenTheDiskIsFull) {
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
      FillUp(mount_point + "/store->db",
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
