#include "polykern/data/gzip.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "polykern/core/error.h"
#include "polykern/data/csv.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Long() {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919LL % 65537) + "\n";
  return text;
}

TEST(GzipFiles, GiveBackWhatWasPacked) {
  for (const std::string& text : {std::string(), std::string("a,b\n1,2\n"), Long()}) {
    EXPECT_TRUE(IsGzip(Gzip(text)));
    EXPECT_EQ(Gunzip(Gzip(text), "f"), text);
  }
  EXPECT_EQ(Gunzip(Gzip("a,b\n") + Gzip("1,2\n"), "f"), "a,b\n1,2\n");  // two parts
  EXPECT_FALSE(IsGzip("a,b\n"));
}

TEST(GzipFiles, ThatAreDamagedOrCutOffAreRefused) {
  const std::string whole = Gzip(Long());
  for (const std::size_t size :
       {std::size_t{2}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THAT(MessageOf([&] { Gunzip(whole.substr(0, size), "f.gz"); }),
                HasSubstr("f.gz: the gzip file is damaged or cut off"));
  }
  std::string other = whole;
  other[whole.size() - 6] ^= 1;  // its checksum
  EXPECT_THAT(MessageOf([&] { Gunzip(other, "f.gz"); }), HasSubstr("damaged"));
  EXPECT_THAT(MessageOf([&] { Gunzip(whole + "more", "f.gz"); }), HasSubstr("damaged"));
}

TEST(GzipFiles, UnpackToSoMuchAndNoMore) {
  const std::string packed = Gzip(std::string(200000, 'a'));
  EXPECT_EQ(Gunzip(packed, "f", 200000).size(), 200000U);
  EXPECT_THAT(MessageOf([&] { Gunzip(packed, "f.gz", 199999); }),
              HasSubstr("f.gz: it unpacks to more than 199999 bytes"));
  EXPECT_THAT(MessageOf([&] { Gunzip(packed, "f.gz", 100); }), HasSubstr("more than 100 bytes"));
}

TEST(GzipFiles, AreReadLikeOthers) {
  const TestFolder folder;
  const CsvFile file = OpenCsv(folder.Write("a.csv.gz", Gzip("a;b\n1;2\n")), 0, HeaderLine::kAuto);
  EXPECT_THAT(file.names, ElementsAre("a", "b"));
  EXPECT_EQ(file.delimiter, ';');
}

}  // namespace
}  // namespace polykern
