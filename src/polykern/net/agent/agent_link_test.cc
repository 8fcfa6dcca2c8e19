#include "polykern/net/agent/agent_link.h"

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/net/agent/federation_testing.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/transport/client_stream.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;

/// Writes down what a link tells its owner.
class Owner final : public AgentLink::Handler {
 public:
  std::string Greet() override {
    const std::lock_guard lock(mutex_);
    ++greetings_;
    return hello;
  }
  bool Received(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    received_.emplace_back(bytes);
    changed_.notify_all();
    return useful;
  }
  AgentLink::NextAttempt Lost(const std::string& why, bool refused) override {
    const std::lock_guard lock(mutex_);
    lost_.emplace_back(why, refused);
    changed_.notify_all();
    return {.refused = refused, .earliest = stay_away, .latest = stay_away};
  }

  /// The message of this number, once it is there; nothing if it does not come.
  std::optional<ServerMessage> Message(std::size_t number) {
    std::unique_lock lock(mutex_);
    if (!Wait(lock, [&] { return received_.size() > number; })) return {};
    return DecodeServerMessage(received_[number]);
  }
  /// Likewise, the end of a connection: why, and whether it was a refusal.
  std::pair<std::string, bool> End(std::size_t number) {
    std::unique_lock lock(mutex_);
    if (!Wait(lock, [&] { return lost_.size() > number; })) return {"it did not end", false};
    return lost_[number];
  }
  std::size_t ends() {
    const std::lock_guard lock(mutex_);
    return lost_.size();
  }
  std::size_t greetings() {
    const std::lock_guard lock(mutex_);
    return greetings_;
  }

  // To be set before there is a link.
  std::string hello = Encode(Hello{});
  bool useful = true;
  milliseconds stay_away{0};

 private:
  template <typename Condition>
  bool Wait(std::unique_lock<std::mutex>& lock, Condition holds) {
    return changed_.wait_for(lock, std::chrono::minutes(1), holds);
  }

  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  std::size_t greetings_ = 0;
  std::vector<std::string> received_;
  std::vector<std::pair<std::string, bool>> lost_;
};

class LinkOverTls : public testing::Test {
 protected:
  LinkOverTls() {
    options.certificates = federation.folder.At("a");
    options.first_wait = milliseconds(2);
    options.longest_wait = milliseconds(8);
    options.refused_wait = milliseconds(8);
    Issue(false);
  }

  void Start() {
    federation.Start();
    options.server = federation.address();
  }
  void Issue(bool renew) {
    IssueClient(federation.pki(), "a", {.out = options.certificates, .renew = renew});
  }
  /// An update for step 0: one block of four numbers.
  static std::string Update() {
    Updates updates;
    updates.clients = {0};
    updates.first = {0, 1};
    updates.blocks = {0};
    updates.values.assign(4, 0.5F);
    return Encode(updates);
  }

  TestFederation federation;
  LinkOptions options;
  Owner owner;
};

TEST_F(LinkOverTls, CarriesMessagesBothWays) {
  Start();
  const auto link = OpenAgentLink(options, owner);
  const auto welcome = owner.Message(0);
  ASSERT_TRUE(welcome && std::holds_alternative<Welcome>(*welcome));
  link->Send(Update());
  const auto model = owner.Message(1);
  ASSERT_TRUE(model && std::holds_alternative<ModelChange>(*model));
  EXPECT_EQ(std::get<ModelChange>(*model).step, 1U);
  EXPECT_EQ(owner.greetings(), 1U);
}

TEST_F(LinkOverTls, SendsWhatMattersLessAsWell) {
  Start();
  const auto link = OpenAgentLink(options, owner);
  ASSERT_TRUE(owner.Message(0));
  link->SendLowPriority(Encode(ClientReport{1, 0.25, 0}));
  link->Send(Update());  // may overtake it, but not replace it
  ASSERT_TRUE(owner.Message(1));
  while (federation.status().reporting == 0) std::this_thread::yield();
  EXPECT_EQ(federation.status().reported_squared_error, 0.25);
}

TEST_F(LinkOverTls, DropsWhatCannotBeDelivered) {
  options.server = "127.0.0.1:1";
  const auto link = OpenAgentLink(options, owner);
  EXPECT_FALSE(owner.End(0).second);
  link->Send(Update());
  link->SendLowPriority(Update());
  EXPECT_FALSE(owner.End(2).second);  // and tries again
}

TEST(ClientStreamOverTls, DropsWhatComesBeforeItBegins) {
  struct End final : ClientStream::Handler {
    bool Received(std::string_view) override { return true; }
    void Ended(const Ending&) override { over.set_value(); }
    std::promise<void> over;
  } end;
  Loop loop(milliseconds(50));
  ClientStream stream(loop, {.server = "127.0.0.1:1", .name = "a"}, end);
  stream.Send("too early");
  stream.SendLowPriority("too early");
  stream.Begin(Encode(Hello{}));
  end.over.get_future().get();
}

TEST_F(LinkOverTls, ComesBackToAServerThatWentAway) {
  Start();
  const auto link = OpenAgentLink(options, owner);
  ASSERT_TRUE(owner.Message(0));
  federation.Stop();
  EXPECT_FALSE(owner.End(0).second);
  Start();
  const auto again = owner.Message(1);
  EXPECT_TRUE(again && std::holds_alternative<Welcome>(*again));
}

TEST_F(LinkOverTls, EndsAConnectionThatIsOfNoUse) {
  Start();
  owner.useful = false;
  const auto link = OpenAgentLink(options, owner);
  EXPECT_FALSE(owner.End(1).second);
  EXPECT_GE(owner.greetings(), 2U);
}

TEST_F(LinkOverTls, SaysWhatAServerHasAgainstIt) {
  Start();
  owner.hello = "not a message";
  const auto link = OpenAgentLink(options, owner);
  EXPECT_FALSE(owner.End(0).second);  // it may be a better one next time
}

TEST_F(LinkOverTls, StaysAwayAsLongAsItIsTold) {
  options.server = "127.0.0.1:1";
  owner.stay_away = std::chrono::hours(1);
  const auto link = OpenAgentLink(options, owner);
  owner.End(0);
  EXPECT_EQ(owner.ends(), 1U);  // and it can be destroyed meanwhile
}

TEST_F(LinkOverTls, IsRefusedWithARevokedCertificateAndAsksAgain) {
  Start();
  RevokeClient(federation.pki(), "a");
  const auto link = OpenAgentLink(options, owner);
  const auto [why, refused] = owner.End(0);
  EXPECT_TRUE(refused);
  EXPECT_EQ(Error(why).Spelled(ShellSpelling),
            "the server refuses this agent: the certificate is revoked; it needs another "
            "certificate (polykern pki issue), or its name among the server's --clients");
  EXPECT_THAT(Error(why).what(), EndsWith("among the server's clients"));
  EXPECT_TRUE(owner.End(1).second);
  Issue(false);
  EXPECT_TRUE(owner.Message(0));
}

TEST_F(LinkOverTls, IsNotRefusedIfItHasABetterCertificateByThen) {
  Start();
  const auto link = OpenAgentLink(options, owner);
  ASSERT_TRUE(owner.Message(0));
  // The server puts it out for the old one when a new one already exists.
  const AuthorityPaths paths(federation.pki());
  const std::string old = ReadWholeFile(options.certificates + "/client.crt");
  Issue(true);
  const std::int64_t now = std::time(nullptr);
  const RevocationList list{{{ReadCertificate(old, "it").serial, now}}, 2};
  ReplaceFile(paths.revocations,
              MakeRevocationList({ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)}, list,
                                 now - 3600),
              FileMode::kOpen);
  const auto [why, refused] = owner.End(0);
  EXPECT_FALSE(refused);
  EXPECT_THAT(why, HasSubstr("the certificate is revoked"));
  EXPECT_TRUE(owner.Message(1));
}

TEST_F(LinkOverTls, KeepsItsCertificateWhenTheFilesCannotBeRead) {
  Start();
  const auto link = OpenAgentLink(options, owner);
  ASSERT_TRUE(owner.Message(0));
  std::filesystem::remove(options.certificates + "/client.crt");
  federation.Stop();
  EXPECT_THAT(owner.End(1).first, HasSubstr("client.crt: there is no such file"));
  Start();
  EXPECT_TRUE(owner.Message(1));
}

TEST_F(LinkOverTls, NeedsCertificatesOrAName) {
  LinkOptions bad = options;
  bad.certificates = federation.folder.At("none");
  EXPECT_THAT(MessageOf([&] { OpenAgentLink(bad, owner); }), HasSubstr("polykern pki issue NAME"));
  bad.insecure = true;
  EXPECT_THAT(MessageOf([&] { OpenAgentLink(bad, owner); }), HasSubstr("needs a name of its own"));
}

}  // namespace
}  // namespace polykern
