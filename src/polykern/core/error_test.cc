#include "polykern/core/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(AnError, NamesOptionsInTheSpellingOfItsCaller) {
  const Error error(OptionName("learning_rate") + " is 0; raise it, or add " +
                    OptionName("schedule", "anytime"));
  EXPECT_STREQ(error.what(), "learning_rate is 0; raise it, or add schedule=anytime");
  EXPECT_EQ(error.Spelled(ShellSpelling),
            "--learning-rate is 0; raise it, or add --schedule anytime");
  EXPECT_EQ(error.key(), "learning_rate");
  EXPECT_EQ(Error("\x01 before " + OptionName("ridge")).key(), "ridge");
}

TEST(AnError, KeepsItsOptionsInsideAFurtherOne) {
  const Error inner("raise " + OptionName("server_memory"));
  const Error outer("pof-newton: " + inner.marked());
  EXPECT_EQ(outer.Spelled(ShellSpelling), "pof-newton: raise --server-memory");
  EXPECT_EQ(outer.key(), "server_memory");
}

TEST(AnError, LeavesEveryOtherTextAlone) {
  for (const std::string text : {"", "a_b --c-d", "\x01", "x\x01y", "\x01\x03\x02", "\x02\x03"}) {
    const Error error(text);
    EXPECT_EQ(error.what(), text);
    EXPECT_EQ(error.Spelled(ShellSpelling), text);
    EXPECT_EQ(error.key(), "");
  }
}

TEST(ACommand, IsTypedIntoAShellWhateverShowsIt) {
  const Error error("run: polykern data get naval " + ShellSpelling("data_dir", "/x"));
  EXPECT_STREQ(error.what(), "run: polykern data get naval --data-dir /x");
  EXPECT_EQ(error.Spelled(ShellSpelling), error.what());
}

std::string InBrackets(std::string_view key, std::string_view value) {
  return "<" + std::string(key) + "|" + std::string(value) + ">";
}

TEST(AnError, SpellsEveryOptionOfARandomTextAndNothingElse) {
  const std::vector<std::string> plain = {"is 0; ", "--x-y ", "a_b", "\x01", "\x02 ", "\x03", " "};
  const std::vector<std::string> keys = {"ridge", "learning_rate", "p2"};
  const std::vector<std::string> values = {"", "0.5", "a b", "COLUMN=LOW:HIGH"};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, Purpose::kTest);
    std::string text;
    std::string expected;
    std::string first;
    for (std::uint64_t left = random.Below(7); left > 0; --left) {
      if (random.Below(2) == 0) {
        // A stray mark would swallow what follows up to another, so plain texts end with a blank.
        const std::string& piece = plain[random.Below(plain.size())];
        text += piece + " ";
        expected += piece + " ";
      } else {
        const std::string& key = keys[random.Below(keys.size())];
        const std::string& value = values[random.Below(values.size())];
        text += OptionName(key, value);
        expected += InBrackets(key, value);
        if (first.empty()) first = key;
      }
    }
    EXPECT_EQ(Error(text).Spelled(InBrackets), expected) << seed;
    EXPECT_EQ(Error(text).key(), first) << seed;
    EXPECT_EQ(Error(text).marked(), text);
    EXPECT_EQ(Error(Error(text).marked()).Spelled(InBrackets), expected);
  }
}

TEST(AnError, ShowsAnOptionThatWasCutOffAsItIs) {
  const std::string option = OptionName("learning_rate", "0.5");
  for (std::size_t length = 0; length < option.size(); ++length) {
    const Error error("see " + option.substr(0, length));
    EXPECT_EQ(error.what(), "see " + option.substr(0, length));
    EXPECT_EQ(error.key(), "");
  }
  EXPECT_EQ(Error(option.substr(1)).Spelled(InBrackets), option.substr(1));
}

TEST(AnError, KnowsOptionsByTheLettersOfKeys) {
  for (const char* odd : {"Ridge", "learning-rate", "a b", "\xC3\xA4"}) {
    EXPECT_EQ(Error(OptionName(odd)).key(), "") << odd;
  }
  EXPECT_EQ(Error(OptionName("l2_ridge_0")).key(), "l2_ridge_0");
}

TEST(ASpelling, IsThatOfItsLanguage) {
  EXPECT_EQ(KeySpelling("learning_rate", ""), "learning_rate");
  EXPECT_EQ(KeySpelling("learning_rate", "a_b"), "learning_rate=a_b");
  EXPECT_EQ(ShellSpelling("learning_rate", "a_b"), "--learning-rate a_b");
  EXPECT_EQ(ShellSpelling("force"), "--force");
}

}  // namespace
}  // namespace polykern
