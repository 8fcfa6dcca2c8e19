#include "polykern/net/server/control.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/server/http_server.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class AControl : public RoundsOfAFederation {
 protected:
  AControl() {
    options_.roster = {};
    Start();
  }
  std::string Ask(const std::string& method, const std::string& target) {
    return AnswerControl({.method = method, .target = target}, *rounds_);
  }
};

TEST_F(AControl, SaysWhereItCannotListen) {
  const auto listen = [](const std::string& path) {
    HttpServer(path, [](const HttpHead&, const HttpPeer&) { return ""; });
  };
  EXPECT_EQ(MessageOf([&] { listen("/no/where/store.db-control"); }),
            "/no/where/store.db-control: cannot listen there; name a store in a folder where this "
            "user may make files (No such file or directory)");
}

TEST_F(AControl, ListsClients) {
  Join("a");
  Leave(Join("b"));
  rounds_->Label("b", "the <old> one");
  const std::string answer = Ask("GET", "/clients");
  const auto list = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["connected"], true);
  EXPECT_EQ(list[1]["connected"], false);
  EXPECT_EQ(list[1]["label"], "the <old> one");
  EXPECT_TRUE(list[1]["expires"].is_null());
}

TEST_F(AControl, ForgetsAndLabelsAndWritesItBeforeItAnswers) {
  const TestClient a = Join("a");
  EXPECT_THAT(Ask("POST", "/forget?a"), StartsWith("HTTP/1.1 409 Conflict"));
  Leave(a);
  EXPECT_THAT(Ask("POST", "/forget?a"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_TRUE(store_->Contents().clients[0].note.forgotten);
  EXPECT_THAT(Ask("POST", "/label?a?north%20side%3f"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(store_->Contents().clients[0].note.label, "north side?");
}

TEST_F(AControl, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Ask("POST", "/clients"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("GET", "/forget?a"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("POST", "/label?a"), StartsWith("HTTP/1.1 404"));
  for (const char* target : {"/forget?%", "/forget?%4", "/forget?%zz", "/forget?%+1"}) {
    EXPECT_THROW(Ask("POST", target), Error) << target;
  }
}

TEST(AControlsPath, IsBesideAFile) {
  EXPECT_EQ(ControlPath("sqlite:some.db"), "some.db-control");
  EXPECT_EQ(ControlPath("/there/some.db"), "/there/some.db-control");
  EXPECT_EQ(ControlPath("postgresql://a/b"), "");
  EXPECT_EQ(ControlPath("/" + std::string(200, 'x')), "") << "too long for a socket";
}

TEST_F(AControl, IsNotNeededWhereNoServerRuns) {
  Join("a");
  rounds_.reset();
  LabelClient(*store_, "a", "roof");
  ForgetClient(*store_, "a");
  const ClientNote note = store_->Contents().clients[0].note;
  EXPECT_EQ(note.label, "roof");
  EXPECT_TRUE(note.forgotten);
  EXPECT_THAT(MessageOf([&] { ForgetClient(*store_, "b"); }), HasSubstr("not a client"));
}

}  // namespace
}  // namespace polykern
