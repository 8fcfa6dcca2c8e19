#include "polykern/net/pki/authority_folder.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/authority_index_internal.h"
#include "polykern/net/pki/client_folder_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FolderOfAnAuthority : public testing::Test {
 protected:
  /// As many files and folders as are in the test's folder, hidden ones too.
  std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }

  const TestFolder folder;
};

TEST_F(FolderOfAnAuthority, ExistsWithItsCertificate) {
  EXPECT_THAT(MessageOf([&] { CheckAuthority(folder.path()); }),
              HasSubstr(": there is no authority here; make one with: polykern pki init --dir "));
  EXPECT_THAT(MessageOf([&] { CheckAuthority("pki"); }),
              HasSubstr("make one with: polykern pki init"));
  folder.Write("ca.crt", "anything");
  CheckAuthority(folder.path());
  EXPECT_EQ(AuthorityPaths("x").Client("a"), "x/clients/a");
}

TEST(ACertificate, IsGoodUntilItIsRevokedOrExpires) {
  IssuedCertificate certificate{"a", "0A", 100, 200, {}};
  EXPECT_EQ(StateOf(certificate, 150), "good");
  EXPECT_EQ(StateOf(certificate, 199), "good");
  EXPECT_EQ(StateOf(certificate, 200), "expired");
  certificate.revoked = 120;
  EXPECT_EQ(StateOf(certificate, 150), "revoked");
  EXPECT_EQ(StateOf(certificate, 300), "revoked");
}

TEST_F(FolderOfAnAuthority, RemembersEveryCertificate) {
  const std::string path = folder.At("index.json");
  WriteIndex(path, {});
  EXPECT_THAT(ReadIndex(path), IsEmpty());
  WriteIndex(path, {{"a", "0A", 1, 2, {}}, {"b", "0B", 3, 4, 5}});
  const auto all = ReadIndex(path);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].serial, "0A");
  EXPECT_EQ(all[0].issued, 1);
  EXPECT_EQ(all[0].expires, 2);
  EXPECT_EQ(all[0].revoked, std::nullopt);
  EXPECT_EQ(all[1].revoked, 5);
  EXPECT_EQ(ReadWholeFile(path),
            "[\n {\"name\":\"a\",\"serial\":\"0A\",\"issued\":1,\"expires\":2,\"revoked\":null},\n"
            " {\"name\":\"b\",\"serial\":\"0B\",\"issued\":3,\"expires\":4,\"revoked\":5}\n]\n");
}

TEST_F(FolderOfAnAuthority, RemembersWhichCertificateIsAHelpers) {
  const std::string path = folder.At("index.json");
  WriteIndex(path, {{"a", "0A", 1, 2, {}}, {"b", "0B", 3, 4, {}, Role::kHelper}});
  const auto all = ReadIndex(path);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].role, Role::kClient);
  EXPECT_EQ(all[1].role, Role::kHelper);
  EXPECT_THAT(ReadWholeFile(path), HasSubstr("\"revoked\":null,\"role\":\"helper\"}"));
  for (const char* role : {"7", "\"king\""}) {
    folder.Write("index.json",
                 std::string("[{\"name\":\"a\",\"serial\":\"0A\",\"issued\":1,\"expires\":2,") +
                     "\"revoked\":null,\"role\":" + role + "}]");
    EXPECT_THAT(MessageOf([&] { ReadIndex(path); }), HasSubstr("index.json: is damaged")) << role;
  }
}

TEST_F(FolderOfAnAuthority, RefusesAnIndexThatIsDamaged) {
  for (const char* text :
       {"", "{", "[{}]", "[1]", "[{\"name\":7}]",
        "[{\"name\":\"a\",\"serial\":\"0A\",\"issued\":1,\"expires\":2,\"revoked\":\"x\"}]"}) {
    const std::string path = folder.Write("index.json", text);
    EXPECT_THAT(MessageOf([&] { ReadIndex(path); }), HasSubstr("index.json: is damaged")) << text;
  }
}

TEST_F(FolderOfAnAuthority, KnowsWhatTheIndexOrTheListRevokes) {
  const KeyPair authority = MakeAuthority({0, 4'000'000'000});
  const AuthorityPaths paths(folder.path());
  const std::vector<IssuedCertificate> clients = {{"a", "0A", 1, 2, 7}, {"b", "0B", 1, 2, {}}};
  EXPECT_THAT(ReadRevocations(paths, authority.certificate, clients).revoked, SizeIs(1));
  ReplaceFile(paths.revocations, MakeRevocationList(authority, {{{"0B", 9}}, 3}, 10),
              FileMode::kOpen);
  const RevocationList both = ReadRevocations(paths, authority.certificate, clients);
  EXPECT_EQ(both.number, 3);
  ASSERT_THAT(both.revoked, SizeIs(2));
  EXPECT_EQ(both.revoked[0].serial, "0B");
  EXPECT_EQ(both.revoked[1].serial, "0A");
  EXPECT_EQ(both.revoked[1].when, 7);
}

TEST_F(FolderOfAnAuthority, OfAClientIsThereAsAWholeOrNotAtAll) {
  const fs::path place = folder.At("a");
  {
    NewClientFolder fresh(place);
    ReplaceFile(fresh.path() + "/client.key", "new", FileMode::kSecret);
    EXPECT_FALSE(fs::exists(place));
  }
  EXPECT_EQ(Entries(), 0U);  // not put in its place: nothing is left
  NewClientFolder first(place);
  ReplaceFile(first.path() + "/client.key", "first", FileMode::kSecret);
  first.MoveTo(place);
  EXPECT_EQ(ReadWholeFile(folder.At("a/client.key")), "first");
  {
    NewClientFolder second(place);
    ReplaceFile(second.path() + "/client.key", "second", FileMode::kSecret);
    second.MoveTo(place);
  }
  EXPECT_EQ(ReadWholeFile(folder.At("a/client.key")), "second");
  EXPECT_EQ(Entries(), 1U);  // the first one is gone
}

TEST_F(FolderOfAnAuthority, OfAClientReplacesNothingElse) {
  CheckReplaceable(folder.At("none"), "client");
  fs::create_directory(folder.At("empty"));
  CheckReplaceable(folder.At("empty"), "client");
  for (const char* file : {"ca.crt", "client.crt", "client.key", "mask.key"}) {
    folder.Write(std::string("client/") + file, "");
  }
  CheckReplaceable(folder.At("client"), "client");
  for (const char* file : {"ca.crt", "ca.crl", "helper.crt", "helper.key", "mask.key"}) {
    folder.Write(std::string("helper/") + file, "");
  }
  CheckReplaceable(folder.At("helper"), "helper");
  EXPECT_THAT(MessageOf([&] { CheckReplaceable(folder.At("helper"), "client"); }),
              HasSubstr("already exists and is not a client's folder"));
  EXPECT_THAT(MessageOf([&] { CheckReplaceable(folder.At("client"), "helper"); }),
              HasSubstr("already exists and is not a helper's folder"));
  folder.Write("client/diary.txt", "dear");
  EXPECT_THAT(MessageOf([&] { CheckReplaceable(folder.At("client"), "client"); }),
              HasSubstr("already exists and is not a client's folder"));
  const std::string file = folder.Write("file", "");
  EXPECT_THROW(CheckReplaceable(file, "client"), Error);
  EXPECT_THAT(MessageOf([&] { NewClientFolder(file + "/a"); }),
              HasSubstr("the folder cannot be made"));
}

}  // namespace
}  // namespace polykern
