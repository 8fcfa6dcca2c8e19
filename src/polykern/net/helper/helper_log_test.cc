#include "polykern/net/helper/helper_log.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_ledger.h"
#include "polykern/net/helper/helper_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::set<std::string> kThree = {"a", "b", "c"};

/// SQL on the file itself, as a vandal would.
void ChangeLog(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

class AHelperLog : public testing::Test {
 protected:
  /// The request of a release that breaks no rule.
  ReleaseRequest Good(std::uint64_t number, std::uint64_t numbers = 20) {
    ReleaseRequest request = TestRequest(number, static_cast<std::uint32_t>(number % 3), numbers);
    clients.Clear();
    for (const std::string& name : kThree) clients.Send(name, number, 10 * numbers, request);
    return request;
  }
  HelperReply Ask(HelperLog& log, const ReleaseRequest& request) {
    return HelperLedger({.clients = kThree}, kTestHelper, helper.secret, log)
        .Release(request, clients);
  }

  TestFolder folder;
  const std::string path = folder.At("helper.db");
  const MaskKeys helper = MakeMaskKeys();
  MaskingClients clients{kThree, helper.open};
};

/// Beside one in memory, through random requests, epochs and restarts.
TEST_F(AHelperLog, KeepsEverything) {
  Random random(3, Purpose::kTest);
  MemoryHelperLog twin;
  auto log = OpenHelperLog(path);
  EXPECT_EQ(log->Contents(), twin.Contents());
  for (std::uint64_t n = 0; n < 60; ++n) {
    const std::uint64_t epoch = n / 20;
    ReleaseRequest request =
        TestRequest(n, static_cast<std::uint32_t>(random.Below(5)), 1 + random.Below(3000), epoch);
    std::vector<std::uint64_t> answer(request.numbers);
    for (std::uint64_t& number : answer) number = random.Bits();
    if (n % 5 == 4) answer.clear();  // it is refused
    std::map<std::string, std::uint64_t> next_steps;
    for (const std::string& name : kThree) {
      if (random.Below(3) > 0) next_steps[name] = n + (n == 37 ? UINT64_MAX / 2 : 0);
    }
    const LoggedRelease release{.request = request,
                                .digest = DigestOf(request),
                                .answer = answer,
                                .refusal = n % 5 == 4 ? "no" : "",
                                .unknowns = random.Below(1ULL << 40),
                                .next_steps = next_steps};
    for (HelperLog* each : {log.get(), static_cast<HelperLog*>(&twin)}) {
      each->WriteRelease(release);
      if (n % 7 == 0) each->WriteKeys({{"a", std::string(1, '\0') + std::to_string(n)}, {"b", ""}});
      if (n == 30) each->WriteBehind(request.federation, epoch);
    }
    ASSERT_EQ(log->Contents(), twin.Contents()) << n;
    if (n % 10 == 9) {
      log.reset();
      log = OpenHelperLog(path);
      ASSERT_EQ(log->Contents(), twin.Contents()) << n;
    }
  }
}

TEST_F(AHelperLog, IsForItsOwnerAloneAndForOneHelper) {
  const auto log = OpenHelperLog(path);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const std::string link = folder.At("link.db");
  fs::create_symlink(path, link);
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(link); }),
              HasSubstr("another process is using the helper's log"));
}

TEST_F(AHelperLog, IsNotTakenForAnotherFile) {
  folder.Write("text.db", "not a database, but a text that is long enough to be looked at");
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(folder.At("text.db")); }),
              HasSubstr("is not a helper's log of polykern"));
  ChangeLog(folder.At("other.db"), "CREATE TABLE t(x)");
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(folder.At("other.db")); }),
              HasSubstr("is not a helper's log of polykern"));
  OpenHelperLog(path);
  ChangeLog(path, "PRAGMA user_version = 7");
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(path); }), HasSubstr("made by a newer polykern"));
}

TEST_F(AHelperLog, NoticesTermsAndNumbersThatCannotBe) {
  for (const char* change : {"UPDATE noise SET numbers = 0", "UPDATE noise SET releases = 0",
                             "UPDATE noise SET releases = 1 << 40", "UPDATE noise SET bits = 63",
                             "UPDATE noise SET epsilon = -1", "UPDATE noise SET unit = 0",
                             "INSERT INTO stream SELECT 77, sum, numbers FROM stream",
                             "UPDATE answer SET refusal = 'no'", "UPDATE state SET numbers = 3"}) {
    {
      const auto log = OpenHelperLog(path);
      ReleaseRequest request = Good(0);
      request.kind = 0;
      request.noise = {.epsilon = 1, .releases = 1, .numbers = 20, .ring = kTestRing};
      std::vector<std::uint64_t> streams(20, 5);
      log->WriteRelease(
          {.request = request, .digest = DigestOf(request), .answer = streams, .streams = streams});
      EXPECT_EQ(log->Contents().noise, request.noise);
    }
    ChangeLog(path, change);
    EXPECT_THAT(MessageOf([&] { OpenHelperLog(path)->Contents(); }), HasSubstr("is damaged"))
        << change;
    fs::remove(path);
  }
}

TEST_F(AHelperLog, LeavesNothingOfAnEpochInItsFile) {
  auto log = OpenHelperLog(path);
  const std::vector<std::uint64_t> secret(3000, 0x5365637265747321);
  ReleaseRequest request = TestRequest(0, 0, secret.size(), 1);
  request.noise = {.epsilon = 1, .releases = 1, .numbers = secret.size(), .ring = kTestRing};
  log->WriteRelease({.request = request,
                     .digest = DigestOf(request),
                     .answer = std::vector<std::uint64_t>(secret.size()),
                     .streams = secret});
  log->WriteRelease({.request = TestRequest(0, 0, 20, 2), .digest = {}, .refusal = "no"});
  log.reset();
  EXPECT_THAT(ReadWholeFile(path), testing::Not(HasSubstr("!sterceS")));
}

TEST_F(AHelperLog, IsNotToBeRestoredWhereItsFileIsDamaged) {
  Ask(*OpenHelperLog(path), Good(0));
  folder.Write("helper.db", ReadWholeFile(path).substr(0, 3 * 16384 - 100));
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(path)->Contents(); }),
              testing::AllOf(HasSubstr("the helper's log is damaged"),
                             HasSubstr("do not restore an older copy"),
                             testing::Not(HasSubstr("restore the latest"))));
}

TEST_F(AHelperLog, NoticesThatItsAnswerIsDamaged) {
  Ask(*OpenHelperLog(path), Good(0));
  ChangeLog(path, "UPDATE answer SET numbers = zeroblob(160)");
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(path)->Contents(); }), HasSubstr("is damaged"));
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(path)->Contents(); }),
              testing::AllOf(HasSubstr("do not restore an older copy"),
                             HasSubstr("if the sums have noise, start again with a new store")));
  ChangeLog(path, "DELETE FROM answer");
  EXPECT_THAT(MessageOf([&] { OpenHelperLog(path)->Contents(); }), HasSubstr("is damaged"));
}

/// Killed at random moments: also after the release is written and before anybody has its answer.
TEST_F(AHelperLog, NeverGivesTwoAnswersToOneReleaseThoughItsHelperIsKilled) {
  std::uint64_t written = 0;  // releases whose answers never left
  for (std::uint64_t number = 0; number < 20; ++number) {
    const ReleaseRequest request = Good(number, 2000);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto log = OpenHelperLog(path);
      const char ready = 'r';
      if (write(ends[1], &ready, 1) != 1) _exit(1);
      Ask(*log, request);
      if (write(ends[1], &ready, 1) != 1) _exit(1);  // that there is an answer, not which
      for (;;) pause();
    }
    char ready = 0;
    ASSERT_EQ(read(ends[0], &ready, 1), 1);
    if (number % 5 == 4) {  // surely after it is written, on a slow machine as well
      ASSERT_EQ(read(ends[0], &ready, 1), 1);
    } else {
      usleep(static_cast<useconds_t>(number * 7919 % 10000));
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    close(ends[1]);
    const auto log = OpenHelperLog(path);
    const HelperContents found = log->Contents();
    ASSERT_GE(found.releases, number);
    ASSERT_LE(found.releases, number + 1);
    ReleaseRequest other = request;
    other.messages.pop_back();
    if (found.releases == number + 1) {
      ++written;
      EXPECT_EQ(Ask(*log, other).kind, HelperReply::Kind::kRefused);
      EXPECT_EQ(Ask(*log, request).streams, found.answer);
    }
    EXPECT_EQ(clients.Unmasked(Ask(*log, request)), clients.plain);
    EXPECT_EQ(Ask(*log, other).kind, HelperReply::Kind::kRefused);
    EXPECT_EQ(log->Contents().releases, number + 1);
  }
  EXPECT_GE(written, 4U);
}

TEST_F(AHelperLog, LeavesReleasesForLaterWhenTheDiskIsFull) {
  const FileSizeLimit limit(1 << 20);
  const auto log = OpenHelperLog(path);
  std::uint64_t number = 0;
  HelperReply reply;
  for (; number < 1000; ++number) {
    reply = Ask(*log, Good(number, 1000 * (number + 1)));
    if (reply.kind != HelperReply::Kind::kAnswered) break;
  }
  EXPECT_EQ(reply.kind, HelperReply::Kind::kLater);
  EXPECT_THAT(reply.reason, HasSubstr("the disk is full"));
  EXPECT_GT(number, 2U);
  EXPECT_EQ(log->Contents().releases, number);
  const ReleaseRequest request = Good(number, 1000 * (number + 1));
  EXPECT_EQ(Ask(*log, request).kind, HelperReply::Kind::kLater);
  limit.Lift();
  EXPECT_EQ(clients.Unmasked(Ask(*log, request)), clients.plain);
}

}  // namespace
}  // namespace polykern
