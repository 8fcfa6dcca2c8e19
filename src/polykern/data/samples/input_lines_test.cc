#include "polykern/data/samples/input_lines.h"

#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream input(text);
  InputLines lines(input, "input");
  std::vector<std::string> all;
  while (lines.Next()) all.push_back(lines.text());
  return all;
}

/// FNV-1a, as its inventors write it down.
std::uint64_t SlowSum(std::string_view bytes) {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    sum *= 1099511628211ULL;
  }
  return sum;
}

TEST(InputLines, EndWithLfOrCrlfOrTheInput) {
  EXPECT_THAT(LinesOf("a\nb\r\nc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(LinesOf("a\n"), ElementsAre("a"));
  EXPECT_THAT(LinesOf(""), ElementsAre());
  EXPECT_THAT(LinesOf("a\rb\n"), ElementsAre("a\rb"));  // an old Mac's ends are none
}

TEST(InputLines, LeaveOutWhatIsBlankAndTheMarkOfUtf8) {
  EXPECT_THAT(LinesOf("\xef\xbb\xbf"
                      "a\n\n  \t\n\r\n b \n"),
              ElementsAre("a", " b "));
  EXPECT_THAT(LinesOf("a\n\xef\xbb\xbf"
                      "b\n"),
              ElementsAre("a",
                          "\xef\xbb\xbf"
                          "b"));  // only in front of the first line
  EXPECT_THAT(LinesOf("\xef\xbb\xbf\n"), ElementsAre());
}

TEST(InputLines, MayHoldAnyBytes) {
  const std::string odd("a\0b\x80\xff", 5);
  EXPECT_THAT(LinesOf(odd + "\n" + std::string(1, '\0')), ElementsAre(odd, std::string(1, '\0')));
}

TEST(InputLines, AreCountedBlankOnesTooAndSummed) {
  const std::string text = "\xef\xbb\xbfh\r\n\n1,2\nlast";
  std::istringstream input(text);
  InputLines lines(input, "input");
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> wanted = {{1, 6}, {3, 11}, {4, 15}};
  for (const auto& [line, bytes] : wanted) {
    ASSERT_TRUE(lines.Next());
    EXPECT_EQ(lines.read().line, line);
    EXPECT_EQ(lines.read().bytes, bytes);
    EXPECT_EQ(lines.read().sum, SlowSum(std::string_view(text).substr(0, bytes)));
  }
  EXPECT_FALSE(lines.Next());
}

TEST(InputLines, ThatNeverEndTakeNoMoreMemoryThanTheLongest) {
  const std::string just_fits(InputLines::kLongest, 'x');
  std::istringstream input(just_fits + "\n" + just_fits + "yz\nb\n");
  InputLines lines(input, "input");
  ASSERT_TRUE(lines.Next());
  EXPECT_EQ(lines.text().size(), InputLines::kLongest);
  EXPECT_FALSE(lines.too_long());
  ASSERT_TRUE(lines.Next());
  EXPECT_TRUE(lines.too_long());
  EXPECT_EQ(lines.text().size(), InputLines::kLongest);
  EXPECT_EQ(lines.read().bytes, 2 * InputLines::kLongest + 4);  // all of it was read
  ASSERT_TRUE(lines.Next());
  EXPECT_FALSE(lines.too_long());
  EXPECT_EQ(lines.text(), "b");
}

TEST(InputLines, TellWhetherAFileBeginsWithWhatWasReadOfIt) {
  std::istringstream first("h\n1\n2\n3\n");
  InputLines before(first, "input");
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(before.Next());
  const InputPosition position = before.read();
  const auto begins = [&](const std::string& text) {
    std::istringstream input(text);
    InputLines lines(input, "input");
    const bool same = lines.BeginsWith(position);
    EXPECT_EQ(lines.Next(), !text.empty());  // from the beginning
    EXPECT_EQ(lines.read().line, text.empty() ? 0U : 1U);
    return same;
  };
  EXPECT_TRUE(begins("h\n1\n2\n3\n"));
  EXPECT_TRUE(begins("h\n1\n2\n3\n4\n"));   // it grew
  EXPECT_TRUE(begins("h\n1\n2\nother\n"));  // behind that nobody looks
  EXPECT_FALSE(begins("h\n1\n7\n3\n"));
  EXPECT_FALSE(begins("h\n1\n"));  // it shrank
  EXPECT_FALSE(begins("h\r\n1\n2\n"));
  EXPECT_FALSE(begins(""));
}

TEST(InputLines, OfAPositionThatSaysNoBytesBeginNothing) {
  std::istringstream input("h\n");
  InputLines lines(input, "input");
  // As an agent's state of the first format says it: a line, but not what it was.
  EXPECT_FALSE(lines.BeginsWith({.line = 7}));
  ASSERT_TRUE(lines.Next());
  EXPECT_EQ(lines.text(), "h");
}

/// Some text, and then an error of the device.
class FailingBuffer : public std::streambuf {
 public:
  explicit FailingBuffer(std::string text) : text_(std::move(text)) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 protected:
  int underflow() override {
    throw std::ios_base::failure("read", std::make_error_code(std::errc::connection_reset));
  }

 private:
  std::string text_;
};

TEST(InputLines, ThatBreakAreNotTheEndAndACutOffOneIsNone) {
  FailingBuffer buffer("a\nhal");
  std::istream input(&buffer);
  InputLines lines(input, "tcp://host:1");
  ASSERT_TRUE(lines.Next());
  EXPECT_EQ(lines.text(), "a");
  EXPECT_THROW(lines.Next(), BrokenInput);
  EXPECT_THAT(MessageOf([&] { lines.Next(); }),
              HasSubstr("tcp://host:1, line 2: cannot be read (Connection reset by peer)"));
}

}  // namespace
}  // namespace polykern
