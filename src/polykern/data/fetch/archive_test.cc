#include "polykern/data/fetch/archive.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/data/fetch/zip_writer_testing.h"
#include "polykern/io/checksum.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Archive : public testing::Test {
 protected:
  using Files = std::vector<std::pair<std::string, std::string>>;

  /// What comes out of these bytes under these names, in order.
  Files Take(const std::string& zip, const std::vector<std::string>& names,
             const UnpackOptions& options = {}) {
    const std::string path = folder.Write("some.zip", zip);
    Files files;
    Unpack(path, names, folder.path(), options,
           [&](const std::string& name, const std::string& file) {
             files.emplace_back(name, ReadAll(file));
           });
    return files;
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TestFolder folder;
};

TEST_F(Archive, GivesFilesByTheirBaseNameWhereverTheyLie) {
  const std::string zip = ZipOf({{"deep/er/a.txt", "one"}, {"b.txt", "two"}, {"c.txt", "three"}});
  EXPECT_THAT(Take(zip, {"a.txt", "b.txt"}),
              ElementsAre(Pair("a.txt", "one"), Pair("b.txt", "two")));
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, LooksIntoAZipInsideTheZipButNoDeeper) {
  const std::string inner = ZipOf({{"x/a.txt", "one"}});
  EXPECT_THAT(Take(ZipOf({{"in.zip", inner}}), {"a.txt"}), ElementsAre(Pair("a.txt", "one")));
  const std::string deeper = ZipOf({{"out.zip", ZipOf({{"in.zip", inner}})}});
  EXPECT_THAT(Take(deeper, {"a.txt"}), IsEmpty());
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, NeverUsesAPathOfTheArchive) {
  const std::string zip = ZipOf({{"../../a.txt", "one"}, {"/etc/a.txt", "two"}, {"../evil", "x"}});
  EXPECT_THAT(Take(zip, {"a.txt"}), ElementsAre(Pair("a.txt", "one"), Pair("a.txt", "two")));
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, SaysThatItIsDamaged) {
  const std::string text(100'000, 'x');
  const std::string zip = ZipOf({{"a.txt", text}});
  ASSERT_EQ(Take(zip, {"a.txt"}).front().second, text);
  for (const std::size_t length :
       {zip.size() - 1, zip.size() / 2, std::size_t{4}, std::size_t{0}}) {
    EXPECT_THAT(MessageOf([&] { Take(zip.substr(0, length), {"a.txt"}); }),
                HasSubstr("damaged or cut off"))
        << length;
  }
  EXPECT_THAT(MessageOf([&] { Take("<html>moved</html>", {"a.txt"}); }), HasSubstr("damaged"));
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, SeesAFlippedBitByTheSumInside) {
  std::string zip = ZipOf({{"a.txt", std::string(1000, 'x')}}, /*compress=*/false);
  zip[zip.find("xxxx") + 500] ^= 1;
  EXPECT_THAT(MessageOf([&] { Take(zip, {"a.txt"}); }), HasSubstr("damaged"));
}

TEST_F(Archive, IsNotBlownUp) {
  const std::string big(1'000'000, '0');
  const std::string zip = ZipOf({{"a.txt", big}});
  ASSERT_LT(zip.size(), 10'000U);
  EXPECT_THAT(MessageOf([&] { Take(zip, {"a.txt"}, {.most_bytes = 999'999}); }),
              HasSubstr("more than 999999 bytes"));
  EXPECT_EQ(Take(zip, {"a.txt"}, {.most_bytes = 1'000'000}).size(), 1U);
  EXPECT_THAT(Take(zip, {"b.txt"}, {.most_bytes = 10}), IsEmpty());  // what nobody wants is free
  const std::string many = ZipOf({{"1", ""}, {"2", ""}, {"3", ""}});
  EXPECT_THAT(MessageOf([&] { Take(many, {"3"}, {.most_members = 2}); }), HasSubstr("members"));
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, PassesOnWhatTheTakerThrows) {
  const std::string path = folder.Write("some.zip", ZipOf({{"a.txt", "one"}}));
  const std::vector<std::string> names = {"a.txt"};
  EXPECT_EQ(MessageOf([&] {
              Unpack(path, names, folder.path(), {},
                     [](const std::string&, const std::string&) { throw Error("no"); });
            }),
            "no");
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST(Checksum, IsTheKnownOne) {  // FIPS 180-2's examples
  const TestFolder folder;
  EXPECT_EQ(Sha256OfFile(folder.Write("abc", "abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256OfFile(folder.Write("none", "")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256OfFile(folder.Write("million", std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_THAT(MessageOf([&] { Sha256OfFile(folder.path() + "/not"); }), HasSubstr("No such file"));
  EXPECT_THAT(MessageOf([&] { Sha256OfFile(folder.path()); }), HasSubstr("cannot be read"));
}

TEST_F(Archive, NeverGivesOtherBytesThanWereThere) {
  const std::string text = "line 1\nline 2\nline 3\n";
  std::size_t refused = 0;
  for (const bool compress : {false, true}) {
    const std::string zip = ZipOf({{"a", text}}, compress);
    for (std::size_t at = compress ? 1 : 0; at < zip.size(); at += 2) {
      std::string damaged = zip;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      try {
        for (const auto& [name, content] : Take(damaged, {"a"})) {
          EXPECT_EQ(content, text) << "byte " << at;
        }
      } catch (const ArchiveError&) {
        ++refused;
      }
      ASSERT_THAT(Left(), ElementsAre("some.zip"));
    }
  }
  EXPECT_GT(refused, text.size());
}

TEST_F(Archive, CutOffAnywhereIsRefused) {
  const std::string zip = ZipOf({{"a", "one"}});
  for (std::size_t length = 0; length < zip.size(); ++length) {
    EXPECT_THAT(MessageOf([&] { Take(zip.substr(0, length), {"a"}); }),
                HasSubstr("the archive is damaged or cut off ("))
        << length;
  }
}

TEST_F(Archive, KnowsNamesByEveryLetter) {
  const std::string zip =
      ZipOf({{"A.txt", "1"}, {"xa.txt", "2"}, {"a.txt2", "3"}, {"w\\a.txt", "4"}});
  EXPECT_THAT(Take(zip, {"a.txt"}), ElementsAre(Pair("a.txt", "4")));
}

TEST_F(Archive, CountsWhatInnerArchivesUnpackTo) {
  const std::string inner = ZipOf({{"a.txt", std::string(600, 'x')}}, /*compress=*/false);
  const std::string zip = ZipOf({{"in.zip", inner}, {"a.txt", std::string(300, 'y')}});
  const std::uint64_t all = inner.size() + 600 + 300;
  EXPECT_EQ(Take(zip, {"a.txt"}, {.most_bytes = all}).size(), 2U);
  EXPECT_EQ(MessageOf([&] { Take(zip, {"a.txt"}, {.most_bytes = all - 1}); }),
            "the archive unpacks to more than " + std::to_string(all - 1) + " bytes");
  EXPECT_EQ(Take(zip, {"a.txt"}, {.most_members = 3}).size(), 2U);
  EXPECT_EQ(MessageOf([&] { Take(zip, {"a.txt"}, {.most_members = 2}); }),
            "the archive has more than 2 members");
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, TakesAnInnerArchiveThatIsAskedForAsAFile) {
  const std::string inner = ZipOf({{"a.txt", "one"}});
  EXPECT_THAT(Take(ZipOf({{"in.zip", inner}}), {"in.zip", "a.txt"}),
              ElementsAre(Pair("in.zip", inner)));
}

TEST_F(Archive, RefusesADamagedInnerOne) {
  EXPECT_THAT(MessageOf([&] {
                Take(ZipOf({{"in.zip", "<html>"}, {"a.txt", "x"}}), {"a.txt"});
              }),
              HasSubstr("damaged or cut off"));
  EXPECT_THAT(Left(), ElementsAre("some.zip"));
}

TEST_F(Archive, LetsTheTakerMoveTheFileAway) {
  const std::string path = folder.Write("some.zip", ZipOf({{"a.txt", "one"}, {"b.txt", "two"}}));
  const std::vector<std::string> names = {"a.txt", "b.txt"};
  Unpack(path, names, folder.path(), {}, [&](const std::string& name, const std::string& file) {
    std::filesystem::rename(file, folder.At("got_" + name));
  });
  EXPECT_EQ(ReadAll(folder.At("got_a.txt")), "one");
  EXPECT_EQ(ReadAll(folder.At("got_b.txt")), "two");
}

}  // namespace
}  // namespace polykern
