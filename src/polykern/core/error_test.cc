#include "polykern/core/error.h"

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(AnError, NamesOptionsInTheSpellingOfWhoeverShowsIt) {
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

}  // namespace
}  // namespace polykern
