// What an operator says of clients, and what their certificates say.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/rounds/rounds_testing.h"

namespace polykern {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class ClientsOfRounds : public RoundsOfAFederation {
 protected:
  ClientsOfRounds() {
    on_disk_ = true;
    options_.roster = {};
  }

  ClientNote NoteOf(std::size_t number) { return store_->Contents().clients.at(number).note; }
};

TEST_F(ClientsOfRounds, ThatLeftForGoodAreForgottenAndNotWaitedFor) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Answer(a, 0);
  Answer(b, 0);
  EXPECT_EQ(step(), 1U);
  EXPECT_THAT(rounds_->Forget("b", now_), HasSubstr("polykern pki revoke b"));
  EXPECT_THAT(rounds_->Forget("c", now_), HasSubstr("polykern client list"));
  Leave(b);
  Answer(a, 1);
  EXPECT_EQ(step(), 1U) << "all means b as well";
  EXPECT_EQ(rounds_->Forget("b", now_), "");
  Write();
  EXPECT_EQ(step(), 2U);
  EXPECT_TRUE(NoteOf(1).forgotten);
  EXPECT_EQ(rounds_->status().gone, 1U);
  Start();
  const TestClient again = Join("a");
  Answer(again, 2);
  EXPECT_EQ(step(), 3U) << "nor when the server starts again";
  const TestClient back = Join("b");
  EXPECT_EQ(Expect<Welcome>(back).client, 1U) << "it has its place again";
  EXPECT_FALSE(NoteOf(1).forgotten);
  Answer(again, 3);
  EXPECT_EQ(step(), 3U) << "and is waited for";
}

TEST_F(ClientsOfRounds, WithoutAValidCertificateAreNotWaitedFor) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  rounds_->NoteCertificate(a.session, "0A", 2000);
  rounds_->NoteCertificate(b.session, "0B", 3000);
  EXPECT_EQ(rounds_->status().first_expiry, 2000);
  Answer(a, 0);
  Answer(b, 0);
  Leave(b);
  EXPECT_EQ(NoteOf(1).serial, "0B");
  Answer(a, 1);
  const auto revoked = [](const std::string& serial) {
    return [serial](const ClientNote& note) { return note.serial != serial; };
  };
  rounds_->Recheck(revoked("0A"), now_);
  Write();
  EXPECT_EQ(step(), 1U) << "a is connected, so it is somebody else's to put out";
  rounds_->Recheck(revoked("0B"), now_);
  Write();
  EXPECT_EQ(step(), 2U);
  rounds_->Recheck(revoked(""), now_);
  Answer(a, 2);
  EXPECT_EQ(step(), 2U) << "its certificate is good again";
}

TEST_F(ClientsOfRounds, AreWaitedForAsTheNewestOptionsSay) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  const TestClient c = Join("c");
  Answer(a, 0);
  Answer(b, 0);
  EXPECT_EQ(step(), 0U);
  RoundsOptions changed = options_;
  changed.quorum.share = 0.5;
  changed.deadline = seconds(0);
  changed.most_clients = 3;
  rounds_->Change(changed, now_);
  Write();
  EXPECT_EQ(step(), 1U);
  EXPECT_THAT(Expect<Busy>(Join("d")).reason, HasSubstr("no room"));
  changed.retry_earliest = seconds(7);
  rounds_->Change(changed, now_);
  EXPECT_EQ(rounds_->RetryWindow("").earliest_milliseconds, 7000U);
  changed.quorum = {.count = 9};
  EXPECT_THROW(rounds_->Change(changed, now_), Error) << "at most three";
  EXPECT_EQ(rounds_->status().needed, 2U) << "nothing has changed";
}

TEST_F(ClientsOfRounds, HaveLabels) {
  Start();
  Join("a");
  EXPECT_EQ(rounds_->Label("a", "roof"), "");
  EXPECT_THAT(rounds_->Label("b", "yard"), HasSubstr("not a client"));
  Write();
  EXPECT_EQ(NoteOf(0).label, "roof");
  Start();
  ASSERT_EQ(rounds_->Clients().size(), 1U);
  EXPECT_EQ(rounds_->Clients()[0].note.label, "roof");
  EXPECT_FALSE(rounds_->Clients()[0].connected);
}

}  // namespace
}  // namespace polykern
