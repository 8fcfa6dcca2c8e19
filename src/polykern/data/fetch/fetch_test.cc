#include "polykern/data/fetch/fetch.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "polykern/data/fetch/loopback_testing.h"
#include "polykern/data/fetch/zip_writer_testing.h"
#include "polykern/io/checksum.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FetchTest : public testing::Test {
 protected:
  /// Two files of known sums, in one archive.
  FetchTest() {
    setenv("no_proxy", "127.0.0.1", 1);  // the server is this machine
    options.data_dir = folder.path() + "/data";
    options.download.first_wait = std::chrono::milliseconds(1);
    options.download.timeout = std::chrono::seconds(20);
    for (const auto& [name, text] : {std::pair("a.csv", a), std::pair("b.csv", b)}) {
      publication.files.push_back(
          {.path = std::string("set/") + name, .sha256 = Sha256OfFile(folder.Write("sum", text))});
    }
    std::filesystem::remove(folder.path() + "/sum");
  }

  std::vector<FetchedFile> Get(const Loopback& server) {
    options.from = server.address();
    return Fetch(publication, options, {});
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(options.data_dir + "/set/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> There() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(options.data_dir + "/set")) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  const std::string a = std::string(5000, '1') + "\n";
  const std::string b = std::string(7000, '2') + "\n";
  const std::string zip = ZipOf({{"x/a.csv", a}, {"x/b.csv", b}}, /*compress=*/false);
  const std::string tag = "\r\nETag: \"v1\"";
  TestFolder folder;
  Publication publication = {.name = "set", .archive = "1/set.zip"};
  FetchOptions options;
};

TEST_F(FetchTest, BringsEveryFileAndLeavesNothingElse) {
  Loopback server({Whole(zip)});
  const auto files = Get(server);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0].fresh && files[1].fresh);
  EXPECT_THAT(There(), ElementsAre("a.csv", "b.csv"));
  EXPECT_EQ(Read("a.csv"), a);
  EXPECT_EQ(Read("b.csv"), b);
  EXPECT_THAT(server.Join(), ElementsAre(HasSubstr("GET /1/set.zip HTTP/1.1\r\n")));
}

TEST_F(FetchTest, BringsOnlyWhatIsMissing) {
  folder.Write("data/set/a.csv", a);
  const auto before = std::filesystem::last_write_time(options.data_dir + "/set/a.csv");
  Loopback server({Whole(zip)});
  const auto files = Get(server);
  EXPECT_FALSE(files[0].fresh);
  EXPECT_TRUE(files[1].fresh);
  EXPECT_EQ(std::filesystem::last_write_time(options.data_dir + "/set/a.csv"), before);
  EXPECT_FALSE(Get(server)[1].fresh);
  EXPECT_EQ(server.Join().size(), 1U);
}

TEST_F(FetchTest, ReplacesAnAlteredFileOnlyByForce) {
  folder.Write("data/set/b.csv", "mine");
  Loopback server({Whole(zip)});
  EXPECT_THAT(MessageOf([&] { Get(server); }), HasSubstr("set/b.csv: differs"));
  EXPECT_EQ(Read("b.csv"), "mine");
  options.force = true;
  Get(server);
  EXPECT_EQ(Read("b.csv"), b);
}

TEST_F(FetchTest, ResumesAfterABreakIfTheServerHasTheSameFile) {
  Loopback server({Piece(zip, 1000, tag), Rest(zip, 1000)});
  Get(server);
  EXPECT_EQ(Read("b.csv"), b);
  const auto& requests = server.Join();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_THAT(requests[0], Not(HasSubstr("Range")));
  EXPECT_THAT(requests[1], HasSubstr("Range: bytes=1000-\r\n"));
  EXPECT_THAT(requests[1], HasSubstr("If-Range: \"v1\"\r\n"));
}

TEST_F(FetchTest, GuardsAContinuationByTheDateButNeverByAWeakTag) {
  const std::string weak = "\r\nETag: W/\"v1\"\r\nLast-Modified: Mon, 06 Jan 2020 10:00:00 GMT";
  Loopback server({Piece(zip, 1000, weak), Rest(zip, 1000)});
  Get(server);
  EXPECT_THAT(server.Join().back(), HasSubstr("If-Range: Mon, 06 Jan 2020 10:00:00 GMT\r\n"));
}

TEST_F(FetchTest, StartsOverWhenTwoHalvesDoNotFit) {
  const std::string other = std::string(zip.size(), 'x');
  Loopback server({Piece(other, 1000), Rest(zip, 1000), Whole(zip)});
  Get(server);
  EXPECT_EQ(Read("a.csv"), a);
  EXPECT_THAT(server.Join()[2], Not(HasSubstr("Range")));
}

TEST_F(FetchTest, StartsOverWhenTheServerSendsAnotherPart) {
  Loopback server({Piece(zip, 1000), Rest(zip, 2000), Whole(zip)});
  Get(server);
  EXPECT_EQ(Read("a.csv"), a);
  EXPECT_EQ(server.Join().size(), 3U);
}

TEST_F(FetchTest, StartsOverFromAnotherAddress) {
  options.download.retries = 0;
  Loopback first({Piece(zip, 1000)});
  EXPECT_THAT(MessageOf([&] { Get(first); }), HasSubstr("was lost after 1000 of"));
  EXPECT_THAT(There(), ElementsAre(".set.zip.part", ".set.zip.part.from"));
  Loopback second({Whole(zip)});
  Get(second);
  EXPECT_THAT(second.Join(), ElementsAre(Not(HasSubstr("Range"))));
  EXPECT_THAT(There(), ElementsAre("a.csv", "b.csv"));
}

TEST_F(FetchTest, TakesTheRightOneOfSeveralMembersOfAName) {
  const std::string odd =
      ZipOf({{"old/a.csv", "old"}, {"a.csv", a}, {"b.csv", b}, {"older/b.csv", ""}});
  Loopback server({Whole(odd)});
  Get(server);
  EXPECT_EQ(Read("a.csv"), a);
  EXPECT_EQ(Read("b.csv"), b);
}

TEST_F(FetchTest, RefusesWrongBytesAndForgetsThem) {
  const std::string wrong = ZipOf({{"a.csv", a}, {"b.csv", "2\n"}});
  Loopback server({Whole(wrong), Whole(zip)});
  EXPECT_THAT(MessageOf([&] { Get(server); }), HasSubstr("its b.csv is not the published one"));
  EXPECT_THAT(There(), ElementsAre("a.csv"));
  Get(server);
  EXPECT_EQ(Read("b.csv"), b);
}

TEST_F(FetchTest, RefusesAFileThatNeverEnds) {
  options.download.most_bytes = zip.size() - 1;
  Loopback server({Whole(zip)});
  EXPECT_THAT(MessageOf([&] { Get(server); }), HasSubstr("more than the file can have"));
}

TEST_F(FetchTest, TriesAgainOnlyWhenThatMayHelp) {
  options.download.retries = 2;
  const std::string busy = Answer("503 Busy", "", 0);
  Loopback server({busy, busy, Whole(zip)});
  Get(server);
  EXPECT_EQ(Read("a.csv"), a);
  std::filesystem::remove_all(options.data_dir);
  Loopback gone({Answer("404 Gone", "none", 4), Whole(zip)});
  EXPECT_THAT(MessageOf([&] { Get(gone); }), HasSubstr("404 (not found)"));
  EXPECT_THAT(There(), IsEmpty());
  EXPECT_EQ(gone.Join().size(), 1U);
}

TEST_F(FetchTest, TellsHowFarItIs) {
  Loopback server({Piece(zip, 1000), Rest(zip, 1000)});
  options.from = server.address();
  std::uint64_t last = 0;
  Fetch(publication, options, [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    EXPECT_EQ(total, zip.size());
    last = done;
  });
  EXPECT_EQ(last, zip.size());
}

TEST_F(FetchTest, NeedsOneSlashBetweenTheAddresses) {
  Loopback server({Whole(zip)});
  options.from = server.address() + "/mirror/";
  Fetch(publication, options, {});
  EXPECT_THAT(server.Join(), ElementsAre(HasSubstr("GET /mirror/1/set.zip HTTP/1.1\r\n")));
}

TEST_F(FetchTest, SaysWhichFileTheArchiveLacks) {
  Loopback server({Whole(ZipOf({{"a.csv", a}}))});
  EXPECT_EQ(MessageOf([&] { Get(server); }),
            server.address() +
                "/1/set.zip: there is no b.csv in the archive; try again later, or see from");
  EXPECT_EQ(Read("a.csv"), a);
  EXPECT_THAT(There(), ElementsAre("a.csv"));
}

TEST_F(FetchTest, TriesAWholeArchiveThatIsDamagedOnlyOnce) {
  Loopback server({Whole("<html>moved</html>"), Whole(zip)});
  EXPECT_THAT(MessageOf([&] { Get(server); }), HasSubstr("the archive is damaged or cut off"));
  EXPECT_THAT(There(), IsEmpty());
  EXPECT_EQ(server.Join().size(), 1U);
}

TEST_F(FetchTest, SaysHowToReplaceAnAlteredFile) {
  folder.Write("data/set/a.csv", "mine");
  options.data_dir = folder.path() + "/data";
  Loopback server({});
  EXPECT_THAT(MessageOf([&] { Get(server); }),
              testing::EndsWith("); to replace it: polykern data get set --data-dir " +
                                options.data_dir + " --force"));
}

}  // namespace
}  // namespace polykern
