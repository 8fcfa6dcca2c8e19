// Copies of stores: made while somebody writes, and put back.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class ABackup : public testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& place) {
    return OpenStore(place, ToTexts(federation));
  }

  TestFolder folder;
  FederationConfiguration federation{.problem = {3, 100, 1}};
  const std::string path = folder.At("store.db");
  const std::string copy = folder.At("copy.db");
};

TEST_F(ABackup, IsAWholeStoreOfOneMomentWhileAnotherThreadWrites) {
  const auto store = Open(path);
  EnrolIn(*store, {"a", "b"});
  CommitTo(*store, 1, {0});
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (std::uint64_t step = 2; !stop; ++step) CommitTo(*store, step, {0, 1});
  });
  std::uint64_t last = 0;
  for (int n = 0; n < 20; ++n) {
    const std::string file = folder.At("copy-" + std::to_string(n));
    const std::uint64_t steps = BackupStore(path, file);
    const StoreContents contents = ReadStore(file);
    EXPECT_GE(steps, last);
    last = steps;
    ASSERT_TRUE(contents.newest);
    EXPECT_EQ(contents.newest->steps, steps);
    EXPECT_EQ(contents.newest->state, StateOf(steps));
    EXPECT_EQ(contents.clients.at(0).accepted, steps) << "of the same moment";
    struct stat status {};
    ASSERT_EQ(stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_FALSE(FileExists(file + ".part"));
  }
  stop = true;
}

TEST_F(ABackup, TakesThePlaceOfItsStoreWhichIsKept) {
  {
    const auto store = Open(path);
    EnrolIn(*store, {"a"});
    CommitTo(*store, 1, {0});
    BackupStore(path, copy);
    CommitTo(*store, 2, {0});
    EXPECT_THAT(MessageOf([&] { RestoreStore(copy, path); }), HasSubstr("stop it first"));
    EXPECT_EQ(ReadStore(path).newest->steps, 2U);
  }
  EXPECT_EQ(RestoreStore(copy, path), 1U);
  EXPECT_EQ(ReadStore(path).newest->steps, 1U);
  EXPECT_EQ(ReadStore(path + "-before").newest->steps, 2U);
  EXPECT_FALSE(FileExists(path + ".part"));
  const auto store = Open(path);
  CommitTo(*store, 2, {0});
  EXPECT_EQ(store->Contents().newest->state, StateOf(2));
}

TEST_F(ABackup, MakesAStoreWhereThereIsNone) {
  { CommitTo(*Open(path), 3); }
  BackupStore(path, copy);
  EXPECT_EQ(RestoreStore(copy, folder.At("new.db")), 3U);
  EXPECT_EQ(Open(folder.At("new.db"))->Contents().newest->steps, 3U);
}

TEST_F(ABackup, OfAnotherFederationIsRefused) {
  { EnrolIn(*Open(path), {"a"}); }
  { EnrolIn(*Open(folder.At("names.db")), {"b"}); }
  federation.problem.seed = 9;
  { EnrolIn(*Open(folder.At("seed.db")), {"a"}); }
  BackupStore(folder.At("seed.db"), copy);
  EXPECT_THAT(MessageOf([&] { RestoreStore(copy, path); }),
              HasSubstr("the backup is of another federation (seed: 1 -> 9)"));
  EXPECT_THAT(MessageOf([&] { RestoreStore(folder.At("names.db"), path); }),
              HasSubstr("(client 0: a -> b)"));
  EXPECT_EQ(ReadStore(path).clients[0].name, "a");
}

TEST_F(ABackup, IsRefusedWhereItWouldSpendNoiseAgain) {
  federation.algorithm = "pof-gram";
  federation.options.epsilon = 1;
  { CommitTo(*Open(path), 1); }
  BackupStore(path, copy);
  EXPECT_THAT(MessageOf([&] { RestoreStore(copy, path); }), HasSubstr("adds noise itself"));
}

TEST_F(ABackup, SaysWhatIsWrongWithFiles) {
  EXPECT_THAT(MessageOf([&] { BackupStore(path, copy); }), HasSubstr("there is no store here"));
  { CommitTo(*Open(path), 1); }
  EXPECT_THAT(MessageOf([&] { BackupStore(path, path); }), HasSubstr("already exists"));
  EXPECT_THAT(MessageOf([&] { BackupStore(path, folder.At("no/copy.db")); }),
              HasSubstr("cannot be written"));
  ReplaceFile(copy, "no database", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { RestoreStore(copy, path); }), HasSubstr("is not a store"));
  EXPECT_THAT(MessageOf([&] { RestoreStore(folder.At("none"), path); }),
              HasSubstr("there is no backup here"));
  EXPECT_THAT(MessageOf([&] { BackupStore("memory:", copy); }), HasSubstr("there is no store"));
  EXPECT_EQ(ReadStore(path).newest->steps, 1U);
}

}  // namespace
}  // namespace polykern
