#include "polykern/net/helper/helper_server.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/helper/helper_log.h"
#include "polykern/net/helper/helper_server_testing.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/helper/release.h"
#include "polykern/net/pki/authority.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST_F(AHelper, UnmasksSumsForItsServer) {
  Start();
  HelperLink link(link_options);
  Meet(link);
  EXPECT_EQ(link.trouble(), "");
  for (std::uint64_t number = 0; number < 3; ++number) {
    const ReleaseRequest request = Good(number, 1000);
    const HelperReply reply = link.Ask(request, kEver);
    ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
    EXPECT_EQ(clients->Unmasked(reply), clients->plain);
    EXPECT_EQ(link.Ask(request, kEver).streams, reply.streams);
  }
  EXPECT_EQ(helper->counts().answered, 3U);
  EXPECT_EQ(helper->counts().repeated, 3U);
  EXPECT_THAT(Told(), HasSubstr("answered: release 2 of epoch 0: 1000 numbers of kind 0, 3 "
                                "clients, 30000 samples"));
}

TEST_F(AHelper, RefusesAClientThatIsRevoked) {
  Start();
  HelperLink link(link_options);
  Meet(link);
  const ReleaseRequest request = Good(0);
  RevokeClient(pki, "b");
  const HelperReply reply = link.Ask(request, kEver);
  EXPECT_EQ(reply.kind, HelperReply::Kind::kRefused);
  EXPECT_THAT(reply.reason, HasSubstr("b: the mask key is not valid: the certificate is revoked"));
  ReleaseRequest others = request;
  ++others.number;
  std::erase_if(others.messages, [](const auto& message) { return message.client == "b"; });
  EXPECT_EQ(link.Ask(others, kEver).kind, HelperReply::Kind::kAnswered);
}

TEST_F(AHelper, NeedNotHearOfAClientTwice) {
  Start();
  ReleaseRequest second;
  {
    HelperLink link(link_options);
    Meet(link);
    ASSERT_EQ(link.Ask(Good(0), kEver).kind, HelperReply::Kind::kAnswered);
    second = Good(1);
  }
  helper.reset();
  Start();
  HelperLink link(link_options);  // of a server that has no keys, since no client has come yet
  EXPECT_EQ(clients->Unmasked(link.Ask(second, kEver)), clients->plain);
}

TEST_F(AHelper, WaitsForKeysThatHaveNotCome) {
  Start();
  HelperLink link(link_options);
  clients.emplace(kClients, link.WaitForHelper(kEver)->key.key);
  link.AddKey("a", KeyOf("a"));
  link.AddKey("b", KeyOf("b"));
  Certify("c");
  const ReleaseRequest request = Good(0);
  const HelperReply reply = link.Ask(request, kEver);
  EXPECT_EQ(reply.kind, HelperReply::Kind::kLater);
  EXPECT_THAT(reply.reason, HasSubstr("c: its mask key is missing"));
  EXPECT_EQ(link.trouble(), reply.reason);
  link.AddKey("c", KeyOf("c"));
  EXPECT_EQ(clients->Unmasked(link.Ask(request, kEver)), clients->plain);
  EXPECT_EQ(link.trouble(), "");
}

/// A release that brings no keys is answered once its clients have shown theirs to the server.
TEST_F(AHelper, IsToldOfKeysBeforeAReleaseNeedsThem) {
  options.insecure = link_options.insecure = true;
  Start();
  HelperLink link(link_options);
  Meet(link);
  Caller without_keys(Calling());
  without_keys.Begin(Encode(HelperHello{.federation = kTestFederation}));
  ASSERT_TRUE(without_keys.Next());
  const std::string question = Encode(HelperQuestion{.id = 7, .release = Good(0)});
  HelperReply reply;
  while (reply.kind == HelperReply::Kind::kLater) {  // they are on their way
    without_keys.Send(question);
    const auto bytes = without_keys.Next();
    ASSERT_TRUE(bytes);
    reply = std::get<HelperAnswer>(DecodeFromHelper(*bytes)).reply;
  }
  EXPECT_EQ(clients->Unmasked(reply), clients->plain) << reply.reason;
}

TEST_F(AHelper, JudgesKeysThatComeWithoutARelease) {
  Start();
  HelperLink link(link_options);
  clients.emplace(kClients, link.WaitForHelper(kEver)->key.key);
  Certify("a");
  link.AddKey("a", Certify("b"));  // not its own
  for (const char* name : {"b", "c"}) link.AddKey(name, KeyOf(name));
  ReleaseRequest request = Good(0);
  const HelperReply reply = link.Ask(request, kEver);
  EXPECT_EQ(reply.kind, HelperReply::Kind::kRefused);
  EXPECT_EQ(reply.reason, "a: its mask key is that of b");
}

/// Two connections of the server, both in earnest: one answer.
TEST_F(AHelper, GivesConcurrentRequestsOneAnswer) {
  Start();
  HelperLink one(link_options);
  HelperLink two(link_options);
  Meet(one);
  Meet(two);
  for (std::uint64_t number = 0; number < 10; ++number) {
    const ReleaseRequest request = Good(number, 2000);
    ReleaseRequest other = request;
    other.messages.pop_back();
    auto first = std::async(std::launch::async, [&] { return one.Ask(request, kEver); });
    auto second = std::async(std::launch::async, [&] { return two.Ask(other, kEver); });
    const HelperReply a = first.get();
    const HelperReply b = second.get();
    EXPECT_NE(a.kind == HelperReply::Kind::kAnswered, b.kind == HelperReply::Kind::kAnswered);
    const bool first_won = a.kind == HelperReply::Kind::kAnswered;
    auto again = std::async(std::launch::async,
                            [&] { return one.Ask(first_won ? request : other, kEver).streams; });
    EXPECT_EQ(two.Ask(first_won ? request : other, kEver).streams,
              first_won ? a.streams : b.streams);
    EXPECT_EQ(again.get(), first_won ? a.streams : b.streams);
  }
  EXPECT_EQ(helper->counts().answered, 10U);
}

TEST_F(AHelper, AnswersAfterItWasAway) {
  Start();
  HelperLink link(link_options);
  Meet(link);
  const ReleaseRequest request = Good(0);
  helper.reset();
  const HelperReply nothing = link.Ask(request, milliseconds(20));
  EXPECT_EQ(nothing.kind, HelperReply::Kind::kLater);
  EXPECT_THAT(nothing.reason, HasSubstr("the helper is away"));
  EXPECT_EQ(link.trouble(), nothing.reason);
  auto reply = std::async(std::launch::async, [&] { return link.Ask(request, kEver); });
  Start();
  EXPECT_EQ(clients->Unmasked(reply.get()), clients->plain);
}

TEST_F(AHelper, IsWaitedForNoLongerThanAsked) {
  link_options.helper = "127.0.0.1:1";
  HelperLink link(link_options);
  EXPECT_FALSE(link.WaitForHelper(milliseconds(5)));
  EXPECT_EQ(link.Ask(TestRequest(0), milliseconds(5)).kind, HelperReply::Kind::kLater);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(link.Ask(TestRequest(0), kEver, stop.get_token()).kind, HelperReply::Kind::kLater);
  EXPECT_FALSE(link.WaitForHelper(kEver, stop.get_token()));
}

TEST_F(AHelper, PutsReleasesOffWhileItsDiskIsFull) {
  Start();
  HelperLink link(link_options);
  Meet(link);
  ASSERT_EQ(link.Ask(Good(0), kEver).kind, HelperReply::Kind::kAnswered);
  const ReleaseRequest request = Good(1, 5000);
  {
    const FileSizeLimit limit(4096);
    const HelperReply reply = link.Ask(request, kEver);
    EXPECT_EQ(reply.kind, HelperReply::Kind::kLater);
    EXPECT_THAT(reply.reason, HasSubstr("the disk is full"));
    EXPECT_THAT(helper->trouble(), HasSubstr("the disk is full"));
    EXPECT_FALSE(helper->failure());
  }
  EXPECT_EQ(clients->Unmasked(link.Ask(request, kEver)), clients->plain);
  EXPECT_EQ(helper->trouble(), "");
}

/// A helper in a process of its own, which is killed and started again. A third process without
/// threads sees to that: sanitizers want no other to fork.
class KilledHelper {
 public:
  explicit KilledHelper(const HelperServerOptions& options) {
    EXPECT_EQ(pipe(orders_.data()), 0);
    keeper_ = fork();
    if (keeper_ != 0) return;
    close(orders_[1]);
    pid_t helper = 0;
    char order = 0;
    do {
      Kill(helper);
      helper = fork();
      if (helper == 0) {
        const HelperServer server(options, [](const std::string&, const std::string&) {});
        for (;;) pause();
      }
    } while (read(orders_[0], &order, 1) == 1);
    Kill(helper);
    _exit(0);
  }
  ~KilledHelper() {
    close(orders_[1]);
    int status = 0;
    waitpid(keeper_, &status, 0);
    close(orders_[0]);
  }
  KilledHelper(const KilledHelper&) = delete;
  KilledHelper& operator=(const KilledHelper&) = delete;

  void KillAndStart() const { EXPECT_EQ(write(orders_[1], "k", 1), 1); }

 private:
  static void Kill(pid_t process) {
    if (process == 0) return;
    kill(process, SIGKILL);
    int status = 0;
    waitpid(process, &status, 0);
  }

  std::array<int, 2> orders_{};
  pid_t keeper_ = 0;
};

TEST_F(AHelper, AnswersEachReleaseOnceHoweverOftenItIsKilled) {
  Start();  // for an address that is free
  helper.reset();
  {
    const KilledHelper killed(options);
    HelperLink link(link_options);
    Meet(link);
    for (std::uint64_t number = 0; number < 20; ++number) {
      const ReleaseRequest request = Good(number, 3000);
      auto asked = std::async(std::launch::async, [&] { return link.Ask(request, kEver); });
      std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 10000));
      killed.KillAndStart();
      const HelperReply reply = asked.get();
      ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
      EXPECT_EQ(clients->Unmasked(reply), clients->plain);
      ReleaseRequest other = request;
      other.messages.pop_back();
      EXPECT_EQ(link.Ask(other, kEver).kind, HelperReply::Kind::kRefused);
    }
  }
  EXPECT_EQ(OpenHelperLog(options.log)->Contents().releases, 20U);
}

}  // namespace
}  // namespace polykern
