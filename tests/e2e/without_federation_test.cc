#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands.h"
#include "polykern/core/error.h"

namespace {

using testing::HasSubstr;

TEST(WithoutFederation, EveryCommandOfItSaysHowToGetIt) {
  for (const std::string name :
       {"serve", "join", "status", "helper", "load", "pki", "client", "store", "predict"}) {
    CLI::App program;
    polykern::AddFederationCommands(program);
    try {
      program.parse(name + " init --listen 127.0.0.1:0 --help", false);
      FAIL() << name;
    } catch (const polykern::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("'scripts/run " + name + "'"));
    }
  }
}

}  // namespace
