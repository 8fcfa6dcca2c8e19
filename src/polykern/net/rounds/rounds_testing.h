#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/net/wire.h"

namespace polykern {

// For the tests of the rounds: a federation of three clients, and what they do.

class CountingPeer final : public Peer {
 public:
  void Wake() override { ++wakes; }
  std::atomic<int> wakes = 0;  // threads may wake it at the same time
};

/// A client of the rounds: what it was given, and what it answers.
struct TestClient {
  std::shared_ptr<CountingPeer> peer = std::make_shared<CountingPeer>();
  SessionId session = 0;
};

class RoundsOfAFederation : public testing::Test {
 protected:
  RoundsOfAFederation() {
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.options.kernels_per_upload = 2;
    configuration_.problem = {3, 100, 1};
    algorithm_ = MakeAlgorithm(configuration_);
    options_.roster = {"a", "b", "c"};
    options_.quorum = Quorum::All();
  }

  /// As a server that is started, or started again.
  void Start() {
    rounds_.reset();
    if (on_disk_) store_.reset();
    if (store_ == nullptr) {
      store_ = OpenStore(on_disk_ ? folder_.At("store.db") : "memory:", ToTexts(configuration_));
    }
    rounds_.emplace(*algorithm_, *store_, options_);
  }

  TestClient Join(const std::string& name, Hello hello = {}) {
    TestClient client;
    client.session = rounds_->Join(name, hello, client.peer, now_);
    Write();
    return client;
  }

  std::optional<ServerMessage> Next(const TestClient& client) {
    const Outgoing out = rounds_->Take(client.session);
    if (out.message == nullptr) return {};
    return DecodeServerMessage(*out.message);
  }
  std::optional<Ending> EndOf(const TestClient& client) {
    return rounds_->Take(client.session).ending;
  }
  template <typename T>
  T Expect(const TestClient& client) {
    const auto message = Next(client);
    const T* got = message ? std::get_if<T>(&*message) : nullptr;
    EXPECT_NE(got, nullptr);
    return got != nullptr ? *got : T();
  }

  void Answer(const TestClient& client, std::uint64_t step, std::uint32_t kernel = 0,
              float value = 1, std::uint64_t clipped = 0) {
    Updates updates;
    updates.step = step;
    updates.clients = {99};  // what a client claims to be does not matter
    updates.first = {0, 1};
    updates.blocks = {kernel};
    updates.values.assign(4, value);
    if (clipped > 0) updates.clipped = {clipped};
    rounds_->Receive(client.session, std::move(updates), now_);
    Write();
  }

  void Leave(const TestClient& client) {
    rounds_->Leave(client.session, now_);
    Write();
  }

  /// What a server's writing thread would do, if the test has none.
  void Write() {
    if (!has_writer_) rounds_->Commit(now_);
  }

  std::uint64_t step() const { return rounds_->status().step; }

  TestFolder folder_;
  bool on_disk_ = false;     ///< the store is, where the disk matters
  bool has_writer_ = false;  ///< a thread of its own
  FederationConfiguration configuration_;
  std::unique_ptr<Algorithm> algorithm_;
  RoundsOptions options_;
  std::unique_ptr<Store> store_;
  std::optional<Rounds> rounds_;
  Rounds::Time now_{std::chrono::seconds(1000)};
};

}  // namespace polykern
