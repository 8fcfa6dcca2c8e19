#include "polykern/net/helper/helper_server.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/transport/client_stream.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::AnyOf;
using testing::HasSubstr;

constexpr milliseconds kEver{60'000};
const std::set<std::string> kClients = {"a", "b", "c"};

/// A connection to a helper that says what it likes.
class Caller final : private ClientStream::Handler {
 public:
  explicit Caller(const ClientStreamOptions& options) : stream_(loop_, options, *this) {}
  ~Caller() override {
    stream_.Cancel();
    End();
  }

  void Begin(const std::string& hello) { stream_.Begin(hello); }
  void Send(const std::string& bytes) { stream_.Send(bytes); }
  /// Nothing: the connection has ended.
  std::optional<std::string> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kEver, [this] { return !received_.empty() || ending_; });
    if (received_.empty()) return {};
    std::string next = received_.front();
    received_.erase(received_.begin());
    return next;
  }
  Ending End() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kEver, [this] { return ending_.has_value(); })) return {};
    return *ending_;
  }

 private:
  bool Received(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    received_.emplace_back(bytes);
    changed_.notify_all();
    return true;
  }
  void Ended(const Ending& ending) override {
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> received_;
  std::optional<Ending> ending_;
  Loop loop_{milliseconds(5)};
  ClientStream stream_;
};

/// An authority, its helper, and clients with mask keys that it has certified.
class AHelper : public testing::Test {
 protected:
  AHelper() {
    InitAuthority(pki, {.hosts = {"127.0.0.1"}});
    IssueHelper(pki, kTestHelper, {.hosts = {"127.0.0.1"}});
    options.listen = "127.0.0.1:0";
    options.certificates = pki + "/helpers/" + kTestHelper;
    options.log = folder.At("helper.db");
    options.rules.clients = kClients;
    link_options.certificates = pki;
    link_options.federation = kTestFederation;
    link_options.most_numbers = 5000;
    link_options.first_wait = milliseconds(2);
    link_options.longest_wait = milliseconds(20);
  }

  /// A second time it has the same address and the same log.
  void Start() {
    helper.emplace(options, [this](const std::string& event, const std::string& detail) {
      const std::lock_guard lock(mutex);
      told.push_back(event + ": " + detail);
    });
    options.listen = helper->address();
    link_options.helper = helper->address();
  }
  std::string Told() {
    const std::lock_guard lock(mutex);
    std::string all;
    for (const std::string& line : told) all += line + "\n";
    return all;
  }
  /// The clients mask for the helper that answers; the link knows their keys.
  void Meet(HelperLink& link) {
    const auto greeting = link.WaitForHelper(kEver);
    ASSERT_TRUE(greeting) << link.trouble();
    EXPECT_EQ(greeting->name, kTestHelper);
    if (!clients) clients.emplace(kClients, greeting->key.key);
    for (const std::string& name : kClients) link.AddKey(name, KeyOf(name));
  }
  /// Signed by the client's certificate, if there are any.
  SignedMaskKey KeyOf(const std::string& name) {
    SignedMaskKey key;
    key.key = clients->KeysOf(name).open;
    if (options.insecure) return key;
    return Certify(name);
  }
  /// Its own certificate and mask key, which the masking client then uses.
  SignedMaskKey Certify(const std::string& name) {
    const std::string place = pki + "/clients/" + name;
    if (!fs::exists(place)) IssueClient(pki, name, {});
    const ClientIdentity own = ReadClientIdentity(place, std::time(nullptr));
    clients->Use(name, own.mask_key);
    return SignMaskKey(own);
  }
  ReleaseRequest Good(std::uint64_t number, std::uint64_t numbers = 20) {
    ReleaseRequest request = TestRequest(number, 0, numbers);
    clients->Clear();
    for (const std::string& name : kClients) clients->Send(name, number, 10 * numbers, request);
    return request;
  }
  ClientStreamOptions Calling() const {
    return {.server = helper->address(), .target = kHelperTarget};
  }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  HelperServerOptions options;
  HelperLinkOptions link_options;
  std::optional<MaskingClients> clients;
  std::mutex mutex;
  std::vector<std::string> told;
  std::optional<HelperServer> helper;
};

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

TEST_F(AHelper, TellsAServerOfAnotherFederationOrOlderEpoch) {
  Start();
  link_options.epoch = 3;
  {
    HelperLink link(link_options);
    Meet(link);
    ReleaseRequest request = TestRequest(0, 0, 20, 3);
    for (const std::string& name : kClients) clients->Send(name, 0, 50, request);
    ASSERT_EQ(link.Ask(request, kEver).kind, HelperReply::Kind::kAnswered);
  }
  const auto trouble = [this] {
    HelperLink link(link_options);
    while (link.trouble().find("away") == std::string::npos) std::this_thread::yield();
    return link.trouble();
  };
  link_options.epoch = 2;
  EXPECT_THAT(trouble(), HasSubstr("epoch 2 is over"));
  link_options.epoch = 3;
  link_options.federation = "another";
  EXPECT_THAT(trouble(), HasSubstr("belongs to another federation"));
  link_options.federation = kTestFederation;
  HelperLink link(link_options);
  EXPECT_EQ(link.WaitForHelper(kEver)->releases, 1U);
}

/// Everybody else of the federation has a certificate, too.
TEST_F(AHelper, LetsNobodyInButTheServer) {
  Start();
  IssueClient(pki, "a", {});
  const std::string authority = ReadWholeFile(pki + "/ca.crt");
  for (const std::string& own :
       {pki + "/clients/a/client", pki + "/helpers/" + kTestHelper + "/helper"}) {
    ClientStreamOptions calling = Calling();
    calling.tls = MakeClientTls({.authority = authority,
                                 .certificate = ReadWholeFile(own + ".crt"),
                                 .key = ReadWholeFile(own + ".key")},
                                Role::kHelper);
    Caller caller(calling);
    caller.Begin(Encode(HelperHello{.federation = kTestFederation}));
    EXPECT_FALSE(caller.Next()) << own;
  }
  Caller plain(Calling());  // nor without TLS
  plain.Begin(Encode(HelperHello{.federation = kTestFederation}));
  EXPECT_FALSE(plain.Next());
}

/// A server's certificate, or a client's, does not pass for a helper's.
TEST_F(AHelper, IsNotPlayedByOthers) {
  IssueClient(pki, "a", {});
  fs::copy_file(pki + "/ca.crl", pki + "/clients/a/ca.crl");
  const std::string posing = folder.At("posing");
  fs::create_directory(posing);
  for (const char* name : {"ca.crt", "ca.crl"}) {
    fs::copy_file(pki + "/" + name, posing + "/" + name);
  }
  fs::copy_file(options.certificates + "/mask.key", posing + "/mask.key");
  fs::copy_file(pki + "/server.crt", posing + "/helper.crt");
  fs::copy_file(pki + "/server.key", posing + "/helper.key");
  options.certificates = posing;
  try {
    Start();
  } catch (const Error& error) {  // it is noticed before anybody asks
    EXPECT_THAT(error.what(), HasSubstr("helper"));
    return;
  }
  HelperLink link(link_options);
  EXPECT_FALSE(link.WaitForHelper(milliseconds(200)));
  EXPECT_THAT(link.trouble(), HasSubstr("certificate"));
}

TEST_F(AHelper, IsOfNoUseOnceItIsRevoked) {
  Start();
  RevokeClient(pki, kTestHelper);
  HelperLink link(link_options);
  EXPECT_FALSE(link.WaitForHelper(milliseconds(100)));
  while (link.trouble().find("away") == std::string::npos) std::this_thread::yield();
  EXPECT_THAT(link.trouble(), HasSubstr("revoked"));
}

TEST_F(AHelper, EndsConnectionsThatBreakTheRules) {
  options.insecure = true;
  Start();
  const std::string hello = Encode(HelperHello{.federation = kTestFederation});
  const auto ending = [&](const std::string& first, const std::string& second) {
    Caller caller(Calling());
    caller.Begin(first);
    if (!second.empty() && caller.Next()) caller.Send(second);
    return caller.End();
  };
  EXPECT_THAT(ending("garbage \xff\xff", "").reason, HasSubstr("not a valid message"));
  EXPECT_THAT(ending(hello, std::string(1000, '\x93')).reason, HasSubstr("not a valid message"));
  EXPECT_THAT(ending(hello, hello).reason, HasSubstr("second hello"));
  HelperQuestion early{.id = 1, .release = TestRequest(0)};
  EXPECT_THAT(ending(Encode(early), "").reason, HasSubstr("before the hello"));
  EXPECT_THAT(ending(Encode(HelperKeys{.id = 1}), "").reason, HasSubstr("before the hello"));
  // It may still be writing when the connection ends.
  EXPECT_THAT(ending(hello, std::string(LongestToHelper(kClients.size()) + 1, 'x')).reason,
              testing::AnyOf(HasSubstr("a message of more than"), HasSubstr("connection was cut")));
  const Ending old = ending(Encode(HelperHello{.version = 9, .federation = kTestFederation}), "");
  EXPECT_EQ(old.kind, Ending::Kind::kVersion);
  EXPECT_THAT(old.reason, HasSubstr("update the older one"));
  ClientStreamOptions wrong = Calling();
  wrong.target = kJoinTarget;  // an agent that was given the helper's address
  Caller agent(wrong);
  agent.Begin(hello);
  EXPECT_EQ(agent.End().kind, Ending::Kind::kNotOurs);
  HelperLink link(link_options);  // nobody else has suffered
  link_options.insecure = true;
  HelperLink good(link_options);
  EXPECT_TRUE(good.WaitForHelper(kEver));
}

TEST_F(AHelper, HasRoomForFewConnections) {
  options.insecure = true;
  options.hello_time = milliseconds(100);
  Start();
  std::vector<std::unique_ptr<Caller>> callers;
  for (int n = 0; n < 6; ++n) {
    callers.push_back(std::make_unique<Caller>(Calling()));
    callers.back()->Begin(Encode(HelperHello{.federation = kTestFederation}));
    ASSERT_TRUE(callers.back()->Next());
  }
  EXPECT_FALSE(callers[0]->Next());  // the oldest made way
  EXPECT_FALSE(callers[1]->Next());
  HelperQuestion question{.id = 77, .release = TestRequest(0)};
  callers[5]->Send(Encode(question));
  EXPECT_TRUE(callers[5]->Next());
}

TEST_F(AHelper, WorksWithoutCertificatesOnTheLoopback) {
  options.insecure = true;
  link_options.insecure = true;
  Start();
  ReleaseRequest second;
  {
    HelperLink link(link_options);
    Meet(link);
    EXPECT_EQ(clients->Unmasked(link.Ask(Good(0), kEver)), clients->plain);
    second = Good(1);
  }
  helper.reset();
  Start();  // its mask key is the same
  HelperLink link(link_options);
  EXPECT_EQ(clients->Unmasked(link.Ask(second, kEver)), clients->plain);
  options.listen = "0.0.0.0:0";
  options.log = folder.At("other.db");
  EXPECT_THAT(MessageOf([&] { HelperServer(options, nullptr); }), HasSubstr("loopback only"));
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
