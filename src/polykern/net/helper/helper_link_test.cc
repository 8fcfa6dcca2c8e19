// Helpers that are none, or that lie.
#include "polykern/net/helper/helper_link.h"

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/net/helper/helper_call_internal.h"
#include "polykern/net/helper/helper_server_testing.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/transport/listen.h"

namespace polykern {
namespace {

using testing::HasSubstr;

/// Answers a server as it likes.
class FakeHelper final : public HelperCall::Owner {
 public:
  FakeHelper(const ClientIdentity& own, const SignedMaskKey& shown)
      : tls_(MakeServerTls({own.certificate, own.key}, own.authority, Role::kServer)),
        shown_(shown),
        acceptor_(ListenOn(loop_.io(), "127.0.0.1:0")),
        address_(AddressOf(acceptor_, "127.0.0.1:0")) {
    loop_.Post([this] { Accept(); });
  }
  ~FakeHelper() override { loop_.Stop(); }

  const std::string& address() const { return address_; }

  std::function<HelperReply(const ReleaseRequest&)> reply = [](const ReleaseRequest&) {
    return HelperReply{};
  };

 private:
  void Accept() {
    acceptor_.async_accept(
        [this](const boost::system::error_code& error, boost::asio::ip::tcp::socket socket) {
          if (error) return;
          std::make_shared<HelperCall>(loop_, *this, "")
              ->Start(std::move(socket), tls_,
                      {.target = kHelperTarget, .longest_message = LongestToHelper(9)});
          Accept();
        });
  }
  std::string Opened(HelperCall&) override { return {}; }
  std::string Greeted(HelperCall&, const HelperHello&) override {
    return Encode(HelperWelcome{.key = shown_});
  }
  std::string Asked(HelperCall&, HelperQuestion question) override {
    return Encode(HelperAnswer{.id = question.id, .reply = reply(question.release)});
  }
  std::string Told(HelperCall&, const HelperKeys& told) override {
    return Encode(HelperAnswer{.id = told.id});
  }
  void Closed(HelperCall&, const Ending&) override {}

  TlsContext tls_;
  SignedMaskKey shown_;
  Loop loop_{std::chrono::milliseconds(5)};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::string address_;
};

class ALinkToAHelper : public AHelper {
 protected:
  ALinkToAHelper() {
    IssueClient(pki, "a", {});
    const std::int64_t now = std::time(nullptr);
    helpers = ReadHelperIdentity(options.certificates, now);
    a = ReadClientIdentity(pki + "/clients/a", now);
    const AuthorityPaths paths(pki, "");
    server = helpers;
    server.certificate = ReadWholeFile(paths.server_certificate);
    server.key = ReadWholeFile(paths.server_key);
  }
  /// Why a link does not take this for its helper; empty: it does.
  std::string Trouble(const ClientIdentity& own, const ClientIdentity& signer) {
    const FakeHelper fake(own, SignMaskKey(signer));
    link_options.helper = fake.address();
    HelperLink link(link_options);
    while (link.trouble().find("away") == std::string::npos && !link.connected()) {
      std::this_thread::yield();
    }
    EXPECT_EQ(link.greeting().has_value(), link.connected());
    return link.trouble();
  }

  ClientIdentity helpers;
  ClientIdentity a;
  ClientIdentity server;
};

TEST_F(ALinkToAHelper, TakesNobodyElseForItsHelper) {
  EXPECT_EQ(Trouble(helpers, helpers), "") << "the one that is";
  // With another role nobody gets through TLS, whatever he shows then.
  EXPECT_THAT(Trouble(server, helpers), HasSubstr("certificate"));
  EXPECT_THAT(Trouble(a, helpers), HasSubstr("certificate"));
  // Nor does a key for masks that another role has signed.
  EXPECT_THAT(Trouble(helpers, server), HasSubstr("the certificate is not"));
  EXPECT_THAT(Trouble(helpers, a), HasSubstr("the certificate is not"));
  IssueHelper(pki, "second", {.hosts = {"127.0.0.1"}});
  const ClientIdentity second = ReadHelperIdentity(pki + "/helpers/second", std::time(nullptr));
  EXPECT_EQ(Trouble(second, second), "");
  EXPECT_THAT(Trouble(helpers, second), HasSubstr("a mask key that is not its own"));
}

TEST_F(ALinkToAHelper, LeavesMasksOnWhereItsHelperLies) {
  FakeHelper fake(helpers, SignMaskKey(helpers));
  link_options.helper = fake.address();
  HelperLink link(link_options);
  Meet(link);
  fake.reply = [](const ReleaseRequest& request) {
    return HelperReply{.kind = HelperReply::Kind::kAnswered,
                       .streams = std::vector<std::uint64_t>(request.numbers, 17)};
  };
  const HelperReply wrong = link.Ask(Good(0), kEver);
  ASSERT_EQ(wrong.kind, HelperReply::Kind::kAnswered) << "nobody but the sum can tell";
  std::size_t small = 0;  // real sums are; whoever looks at this one sees that it is none
  for (const std::uint64_t number : clients->Unmasked(wrong)) small += number >> 60U == 0 ? 1 : 0;
  EXPECT_LT(small, 10U);
  fake.reply = [](const ReleaseRequest& request) {
    return HelperReply{.kind = HelperReply::Kind::kAnswered,
                       .streams = std::vector<std::uint64_t>(request.numbers - 1)};
  };
  EXPECT_EQ(link.Ask(Good(1), std::chrono::milliseconds(200)).kind, HelperReply::Kind::kLater);
  while (link.trouble().find("wrong length") == std::string::npos) std::this_thread::yield();
}

}  // namespace
}  // namespace polykern
