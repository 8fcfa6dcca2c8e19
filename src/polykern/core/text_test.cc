#include "polykern/core/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(Text, CountsTheEditsBetweenTwoWords) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("no2", "NO2"), 0U);
}

TEST(Text, OffersTheNearestNames) {
  const std::vector<std::string> names = {"year", "NO2", "O3", "SO2", "TEMP"};
  EXPECT_EQ(Suggest("NO3", names), "did you mean \"NO2\" or \"O3\"?");
  EXPECT_EQ(Suggest("temp", names), "did you mean \"TEMP\"?");
}

TEST(Text, ListsTheFirstNamesWhenNoneIsNear) {
  const std::vector<std::string> few = {"a1", "b1"};
  EXPECT_EQ(Suggest("pressure", few), "choose one of \"a1\", \"b1\"");
  const std::vector<std::string> many(20, "w");
  EXPECT_THAT(Suggest("pressure", many), testing::EndsWith("\"w\", .. (20 in all)"));
}

TEST(Text, JoinsItemsAndWhatIsMadeOfThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(Joined(Words{}), "");
  EXPECT_EQ(Joined(Words{"a"}), "a");
  EXPECT_EQ(Joined(Words{"", "b", ""}), ", b, ");
  EXPECT_EQ(Joined(std::array<std::string_view, 2>{"a", "b"}, "|"), "a|b");
  EXPECT_EQ(Joined(Words{"a", "b"}, ",", Quoted), "\"a\",\"b\"");
}

TEST(Text, LowersLettersOfEnglishAlone) {
  EXPECT_EQ(Lowered("aZ-[@09_NO2 \xC3\x84"), "az-[@09_no2 \xC3\x84");
}

TEST(Text, QuotesOnOneShortLine) {
  EXPECT_EQ(Quoted("NNW"), "\"NNW\"");
  EXPECT_EQ(Quoted("a\nb\tc"), "\"a?b?c\"");
  EXPECT_EQ(Quoted(std::string(40, 'x')), "\"" + std::string(30, 'x') + "..\"");
}

TEST(Text, QuotesForAShellOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellWord("data/a-b_c.csv"), "data/a-b_c.csv");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("my data"), "'my data'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
}

TEST(Text, NeverCutsACharacterInTwo) {
  const std::string text = std::string(29, 'x') + "\xC3\xA4\xC3\xA4";
  EXPECT_EQ(Quoted(text), "\"" + std::string(29, 'x') + "..\"");
}

TEST(ExactText, BringsBackEveryBit) {
  for (const double value : {0.1, 1.0 / 3, -1e-300, 5e-324, 1e300, 0.0}) {
    double back = 7;
    EXPECT_TRUE(ReadExact(ExactText(value), back));
    EXPECT_EQ(back, value);
  }
  EXPECT_EQ(ExactText(std::size_t{51}), "51");
  EXPECT_EQ(ExactText(1e-4), "1e-04");
  std::size_t count = 0;
  for (const char* text : {"", "-1", "7 ", " 7", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(ReadExact(text, count)) << text;
  }
}

/// Slow and obvious: the last characters are replaced, deleted or inserted, or stay.
std::size_t SlowDistance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::string less_a = a.substr(0, a.size() - 1);
  const std::string less_b = b.substr(0, b.size() - 1);
  const bool same = std::tolower(a.back()) == std::tolower(b.back());
  return std::min({SlowDistance(less_a, less_b) + (same ? 0 : 1), SlowDistance(less_a, b) + 1,
                   SlowDistance(a, less_b) + 1});
}

std::string RandomWord(Random& random, std::string_view letters, std::uint64_t longest) {
  std::string word;
  for (std::uint64_t left = random.Below(longest + 1); left > 0; --left) {
    word += letters[random.Below(letters.size())];
  }
  return word;
}

TEST(Text, CountsTheEditsThatTheSlowVersionCounts) {
  Random random(1, Purpose::kTest);
  for (int i = 0; i < 300; ++i) {
    const std::string a = RandomWord(random, "aAbBc_", 5);
    const std::string b = RandomWord(random, "aAbBc_", 5);
    EXPECT_EQ(EditDistance(a, b), SlowDistance(a, b)) << a << " " << b;
  }
}

TEST(Text, MeasuresADistance) {
  Random random(2, Purpose::kTest);
  for (int i = 0; i < 300; ++i) {
    const std::string a = RandomWord(random, "xyz", 12);
    const std::string b = RandomWord(random, "xyz", 12);
    const std::string c = RandomWord(random, "xyz", 12);
    EXPECT_EQ(EditDistance(a, a), 0U);
    EXPECT_EQ(EditDistance(a, b), EditDistance(b, a));
    EXPECT_LE(EditDistance(a, c), EditDistance(a, b) + EditDistance(b, c));
    EXPECT_LE(EditDistance(a, b), std::max(a.size(), b.size()));
  }
}

TEST(Text, OffersAtMostThreeNamesTheNearestFirst) {
  const std::vector<std::string> names = {"temp3", "tamp33", "temp", "temps", "TEMP"};
  EXPECT_EQ(Suggest("temp", names), "did you mean \"temp\", \"TEMP\" or \"temp3\"?");
  // One edit for each three letters: eight letters allow three, and five two.
  const std::vector<std::string> far = {"pressuXXX"};
  EXPECT_EQ(Suggest("pressure", far), "did you mean \"pressuXXX\"?");
  EXPECT_EQ(Suggest("pressurZ", std::vector<std::string>{"presXXXX"}),
            "choose one of \"presXXXX\"");
  EXPECT_EQ(Suggest("ab", std::vector<std::string>{"a"}), "did you mean \"a\"?");
  EXPECT_EQ(Suggest("a", std::vector<std::string>{"xy"}), "choose one of \"xy\"");
}

TEST(Text, OffersNothingForNothing) {
  const std::vector<std::string> names = {"a", ""};
  EXPECT_EQ(Suggest("", names), "choose one of \"a\", \"\"");
  EXPECT_EQ(Suggest("a", {}), "none are available");
  EXPECT_EQ(Suggest("", {}), "none are available");
}

TEST(Text, ListsEightNamesAndThenHowMany) {
  std::vector<std::string> names;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"})
    names.emplace_back(name);
  const std::string all =
      "choose one of \"n1\", \"n2\", \"n3\", \"n4\", \"n5\", \"n6\", \"n7\", \"n8\"";
  EXPECT_EQ(Suggest("pressure", names), all);
  names.emplace_back("n9");
  EXPECT_EQ(Suggest("pressure", names), all + ", .. (9 in all)");
}

TEST(Text, QuotesAnyBytesOnOneShortLine) {
  Random random(3, Purpose::kTest);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random.Below(60), 'x');
    for (char& c : bytes) c = static_cast<char>(random.Below(256));
    const std::string quoted = Quoted(bytes);
    EXPECT_LE(quoted.size(), 34U);
    EXPECT_TRUE(quoted.starts_with('"') && quoted.ends_with('"'));
    for (const char c : quoted) {
      EXPECT_FALSE((c >= 0 && c < ' ') || c == 0x7F) << static_cast<int>(c);
    }
  }
  EXPECT_EQ(Quoted(std::string(30, 'x')), "\"" + std::string(30, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(40, '\x80')), "\"..\"");
  EXPECT_EQ(Quoted(std::string_view("a\0b", 3)), "\"a?b\"");
}

TEST(Text, CutsBetweenCharactersOfAnyLength) {
  const std::vector<std::string> characters = {"a", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x8C\x8A"};
  Random random(4, Purpose::kTest);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    std::vector<std::size_t> ends = {0};
    while (text.size() < 40) {
      text += characters[random.Below(characters.size())];
      ends.push_back(text.size());
    }
    const std::string quoted = Quoted(text);
    ASSERT_TRUE(quoted.ends_with("..\""));
    const std::size_t kept = quoted.size() - 4;
    EXPECT_EQ(quoted.substr(1, kept), text.substr(0, kept));
    EXPECT_NE(std::ranges::find(ends, kept), ends.end()) << text;
    EXPECT_GT(kept, 26U);
  }
}

/// What a POSIX shell makes of one word of quotes and backslashes; "?" for anything special.
std::string ShellReads(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      const std::size_t end = word.find('\'', i + 1);
      if (end == std::string_view::npos) return "?";
      text += word.substr(i + 1, end - i - 1);
      i = end;
    } else if (word[i] == '\\') {
      text += word[++i];
    } else if (std::string_view("$`\"|&;<>()*?[]{}~#! \t\n").find(word[i]) != word.npos) {
      return "?";
    } else {
      text += word[i];
    }
  }
  return text;
}

TEST(Text, IsOneWordForAShellWhateverItHolds) {
  Random random(5, Purpose::kTest);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = RandomWord(random, "ab/.-_'\"\\$`|&;<>()*?[]{}~#! \t\n=", 8);
    EXPECT_EQ(ShellReads(ShellWord(text)), text);
    EXPECT_NE(ShellWord(text), "");
  }
}

TEST(ExactText, BringsBackEveryBitOfRandomNumbers) {
  Random random(6, Purpose::kTest);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random.Bits();
    const auto number = std::bit_cast<double>(bits);
    if (std::isfinite(number)) {
      double back = 7;
      ASSERT_TRUE(ReadExact(ExactText(number), back));
      EXPECT_EQ(std::bit_cast<std::uint64_t>(back), bits);
    }
    const auto half = static_cast<std::uint32_t>(bits);
    if (std::isfinite(std::bit_cast<float>(half))) {
      float back = 7;
      ASSERT_TRUE(ReadExact(ExactText(std::bit_cast<float>(half)), back));
      EXPECT_EQ(std::bit_cast<std::uint32_t>(back), half);
    }
    std::uint64_t whole = 7;
    ASSERT_TRUE(ReadExact(ExactText(bits), whole));
    EXPECT_EQ(whole, bits);
  }
  double back = 0;
  EXPECT_TRUE(ReadExact("nan", back));
  EXPECT_TRUE(std::isnan(back));
  EXPECT_TRUE(ReadExact("-inf", back));
  EXPECT_TRUE(std::isinf(back));
  EXPECT_FALSE(ReadExact("0.5f", back));
  EXPECT_FALSE(ReadExact("+0.5", back));
}

TEST(Printable, SpellsControlCharactersAndKeepsTheRest) {
  EXPECT_EQ(Printable("a b\xC3\xA4"), "a b\xC3\xA4");
  EXPECT_EQ(Printable("a\n\x1B[2J\x7F"), "a\\x0a\\x1b[2J\\x7f");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
}

}  // namespace
}  // namespace polykern
