#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "polykern/net/configuration.h"
#include "polykern/net/postgresql/postgresql_internal.h"

namespace polykern {

/// A schema of its own for each test, in a real database: where POLYKERN_POSTGRESQL is the URL of
/// one that tests may fill (tests/e2e/postgresql_test.py starts it).
class InADatabase : public testing::Test {
 protected:
  void SetUp() override {
    const char* const url = std::getenv("POLYKERN_POSTGRESQL");
    if (url == nullptr) GTEST_SKIP() << "needs PostgreSQL: e2e.postgresql runs it";
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string schema = "f" + std::to_string(getpid()) + "_" + test->name();
    const std::string place = std::string(url).substr(std::string("postgresql:").size());
    Connection(place).Run(("CREATE SCHEMA \"" + schema + "\"").c_str());
    place_ = place + "&options=-csearch_path%3D%22" + schema + "%22";
  }

  std::string url() const { return "postgresql:" + place_; }
  std::int64_t Number(const char* sql) const { return Connection(place_).Number(sql); }
  void Run(const char* sql) const { Connection(place_).Run(sql); }

  FederationConfiguration configuration_;
  std::string place_;
};

}  // namespace polykern
