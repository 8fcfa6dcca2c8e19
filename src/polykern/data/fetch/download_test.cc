#include "polykern/data/fetch/download.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/data/fetch/loopback_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() {
    setenv("no_proxy", "127.0.0.1", 1);  // the server is this machine
    options.first_wait = std::chrono::milliseconds(1);
    options.timeout = std::chrono::seconds(20);
    options.retries = 0;
  }

  bool Get(const Loopback& server, const DownloadProgress& progress = {}) {
    return Download(server.address() + "/f", path, options, progress);
  }
  std::string Complaint(const Loopback& server) {
    return MessageOf([&] { Get(server); });
  }
  std::string Read(const std::string& suffix = "") const {
    std::ifstream file(path + suffix, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool NothingIsLeft() const { return std::filesystem::is_empty(folder.path()); }
  /// Leaves the first bytes of an earlier download from `server`.
  void Begin(const Loopback& server, std::string_view bytes, const std::string& validator = "") {
    folder.Write("f.part", bytes);
    folder.Write("f.part.from", server.address() + "/f\n" + validator + "\n");
  }

  const std::string body = "0123456789abcdefghij";
  TestFolder folder;
  const std::string path = folder.At("f.part");
  DownloadOptions options;
};

TEST_F(DownloadTest, WritesWhatComesAndRemembersWhoseItIs) {
  Loopback server({Whole(body, "\r\netag:  \"v 1\" ")});
  EXPECT_FALSE(Get(server));
  EXPECT_EQ(Read(), body);
  EXPECT_EQ(Read(".from"), server.address() + "/f\n\"v 1\"\n");
  EXPECT_THAT(server.Join(), ElementsAre(HasSubstr("User-Agent: polykern\r\n")));
  ForgetDownload(path);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(DownloadTest, RemembersTheDateWhereTheTagIsWeak) {
  const std::string date = "Mon, 06 Jan 2020 10:00:00 GMT";
  Loopback server({Whole(body, "\r\nETAG: W/\"v1\"\r\nLAST-MODIFIED: " + date),
                   Whole(body, "\r\nETag: W/\"v1\"")});
  Get(server);
  EXPECT_THAT(Read(".from"), EndsWith("/f\n" + date + "\n"));
  ForgetDownload(path);
  Get(server);
  EXPECT_THAT(Read(".from"), EndsWith("/f\n\n"));
}

TEST_F(DownloadTest, ContinuesTheBeginningOfAnEarlierRun) {
  Loopback server({Rest(body, 7)});
  Begin(server, body.substr(0, 7), "\"v1\"");
  EXPECT_TRUE(Get(server));
  EXPECT_EQ(Read(), body);
  EXPECT_THAT(server.Join(), ElementsAre(HasSubstr("Range: bytes=7-\r\n")));
}

TEST_F(DownloadTest, AsksWithoutAConditionWhereNoneIsKnown) {
  Loopback server({Rest(body, 7)});
  Begin(server, body.substr(0, 7));
  EXPECT_TRUE(Get(server));
  EXPECT_THAT(server.Join(), ElementsAre(Not(HasSubstr("If-Range"))));
}

TEST_F(DownloadTest, StartsOverWhereTheServerSendsAllOfIt) {
  Loopback server({Whole(body, "\r\nETag: \"v2\"")});
  Begin(server, "another beginning that is longer than the file", "\"v1\"");
  EXPECT_FALSE(Get(server));
  EXPECT_EQ(Read(), body);
  EXPECT_THAT(Read(".from"), EndsWith("\"v2\"\n"));
}

TEST_F(DownloadTest, DoesNotContinueWhatItDoesNotKnow) {
  Loopback server({Whole(body)});
  folder.Write("f.part", "of unknown origin");
  EXPECT_FALSE(Get(server));
  EXPECT_EQ(Read(), body);
  EXPECT_THAT(server.Join(), ElementsAre(Not(HasSubstr("Range"))));
}

TEST_F(DownloadTest, HasAllOfItWhereNothingLiesBehindWhatIsThere) {
  Loopback server({Answer("416 Range Not Satisfiable\r\nContent-Range: bytes */20", "", 0)});
  Begin(server, body);
  EXPECT_TRUE(Get(server));
  EXPECT_EQ(Read(), body);
}

TEST_F(DownloadTest, StartsOverWhereTheFileIsShorterNow) {
  options.retries = 1;
  for (const char* range : {"\r\nContent-Range: bytes */19", ""}) {
    Loopback server({Answer("416 Range Not Satisfiable" + std::string(range), "", 0), Whole(body)});
    Begin(server, std::string(20, 'x'));
    EXPECT_FALSE(Get(server));
    EXPECT_EQ(Read(), body);
    EXPECT_THAT(server.Join().back(), Not(HasSubstr("Range")));
  }
}

TEST_F(DownloadTest, ForgetsAPartWhoseWholeHasAnotherSize) {
  Loopback server(
      {Answer("206 Partial Content\r\nContent-Range: bytes 7-19/25", body.substr(7), 13)});
  Begin(server, body.substr(0, 7));
  EXPECT_THAT(Complaint(server), EndsWith("/f: the file changed during the download"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(DownloadTest, TakesAFileWhoseLengthIsUnknown) {
  Loopback server({"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  Get(server, [&](std::uint64_t done, std::uint64_t total) { told.emplace_back(done, total); });
  EXPECT_EQ(Read(), body);
  ASSERT_THAT(told, Not(IsEmpty()));
  EXPECT_EQ(told.back(), std::pair(std::uint64_t{20}, std::uint64_t{0}));
}

TEST_F(DownloadTest, TakesAFileWithoutAByte) {
  folder.Write("f.part", "old");
  Loopback server({Whole("")});
  EXPECT_FALSE(Get(server));
  EXPECT_EQ(Read(), "");
}

TEST_F(DownloadTest, FollowsARedirectAndForgetsTheHeadersBeforeIt) {
  Loopback server(
      {Answer("302 Found\r\nLocation: /elsewhere\r\nETag: \"page\"", "moved", 5), Whole(body)});
  Get(server);
  EXPECT_EQ(Read(), body);
  EXPECT_THAT(Read(".from"), EndsWith("/f\n\n"));
  EXPECT_THAT(server.Join().back(), HasSubstr("GET /elsewhere HTTP/1.1\r\n"));
}

TEST_F(DownloadTest, FollowsNoRedirectToAFileAndNoneForEver) {
  Loopback to_file({Answer("302 Found\r\nLocation: file:///etc/passwd", "", 0)});
  EXPECT_THAT(Complaint(to_file), HasSubstr("download failed ("));
  EXPECT_TRUE(NothingIsLeft());
  Loopback circle(std::vector<std::string>(9, Answer("302 Found\r\nLocation: /f", "", 0)));
  EXPECT_THAT(Complaint(circle), HasSubstr("download failed ("));
  EXPECT_THAT(circle.Join(), SizeIs(6));  // the first and five more
}

TEST_F(DownloadTest, SaysWhatTheServerAnswersAndTriesAgainWhereThatMayHelp) {
  struct Case {
    const char* status;
    const char* text;
    bool again;
  };
  for (const Case& c :
       {Case{"404 Gone", "404 (not found); the file may have moved: see from", false},
        Case{"403 No", "403 (it refuses); check the address", false},
        Case{"408 Slow", "408 (it cannot serve this now); try again later", true},
        Case{"429 Many", "429 (it cannot serve this now); try again later", true},
        Case{"500 Oops", "500 (it cannot serve this now); try again later", true},
        Case{"204 None", "204 (it refuses); check the address", false}}) {
    const std::string answer =
        "HTTP/1.1 " + std::string(c.status) + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    options.retries = 2;
    Loopback server({answer, answer, answer, Whole(body)});
    EXPECT_EQ(Complaint(server), server.address() + "/f: the server answers " + c.text);
    EXPECT_THAT(server.Join(), SizeIs(c.again ? 3 : 1)) << c.status;
    EXPECT_TRUE(NothingIsLeft()) << c.status;
  }
}

TEST_F(DownloadTest, KeepsWhatCameBeforeABreak) {
  Loopback server({Piece(body, 5)});
  EXPECT_EQ(Complaint(server), server.address() +
                                   "/f: the connection was lost after 5 of 20 bytes; run the "
                                   "same command again to resume");
  EXPECT_EQ(Read(), body.substr(0, 5));
}

TEST_F(DownloadTest, SaysThatAServerHangsUpAtOnce) {
  Loopback server({""});
  EXPECT_THAT(Complaint(server), EndsWith("/f: the connection was lost after 0 bytes"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(DownloadTest, GivesUpOnAServerThatSendsNoMore) {
  options.timeout = std::chrono::seconds(1);
  Loopback server({Piece(body, 5)}, /*hold=*/true);
  EXPECT_THAT(Complaint(server),
              HasSubstr("the server sends nothing, or too slowly (5 of 20 bytes, "
                        "waited 1 s); run the same command again"));
}

TEST_F(DownloadTest, RefusesMoreThanTheMostBytesAlsoOfAContinuation) {
  options.most_bytes = 19;
  Loopback server({Rest(body, 7)});
  Begin(server, body.substr(0, 7));
  EXPECT_EQ(Complaint(server),
            server.address() +
                "/f: more than 19 bytes arrived, more than the file can have; check the address");
  options.most_bytes = 20;
  Loopback other({Whole(body)});
  EXPECT_NO_THROW(Get(other));
}

TEST_F(DownloadTest, SpeaksHttpAlone) {
  for (const char* url : {"file:///etc/hostname", "ftp://127.0.0.1/f", "gopher://127.0.0.1/f"}) {
    EXPECT_THAT(MessageOf([&] { Download(url, path, options, {}); }),
                testing::AllOf(HasSubstr("download failed ("), HasSubstr("check the address")));
    EXPECT_TRUE(NothingIsLeft());
  }
}

TEST_F(DownloadTest, SaysThatThereIsNoConnection) {
  std::string closed;
  {
    Loopback server({});
    closed = server.address();
  }
  EXPECT_THAT(MessageOf([&] { Download(closed + "/f", path, options, {}); }),
              testing::AllOf(HasSubstr("/f: no connection ("), HasSubstr("); check the network")));
}

TEST_F(DownloadTest, PassesOnWhatTheProgressThrows) {
  Loopback server({Whole(body)});
  EXPECT_EQ(
      MessageOf([&] { Get(server, [](std::uint64_t, std::uint64_t) { throw Error("stop"); }); }),
      "stop");
}

}  // namespace
}  // namespace polykern
