#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/helper/helper_server.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/pki/signed_mask_key.h"
#include "polykern/net/transport/client_stream.h"

namespace polykern {

// For the tests of a helper's server: one on the loopback, and who connects to it.

inline constexpr std::chrono::milliseconds kEver{60'000};
inline const std::set<std::string> kClients = {"a", "b", "c"};

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
  Loop loop_{std::chrono::milliseconds(5)};
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
    link_options.first_wait = std::chrono::milliseconds(2);
    link_options.longest_wait = std::chrono::milliseconds(20);
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
    if (!std::filesystem::exists(place)) IssueClient(pki, name, {});
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

}  // namespace polykern
