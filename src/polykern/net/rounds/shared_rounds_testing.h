#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/rounds/shared_rounds.h"

namespace polykern {

// Several front ends in one thread: what a database does for them is done in memory here, slowly
// and obviously, and what goes wrong in between goes wrong when a test says so.

/// What all front ends know, and the one that ends steps.
struct FrontsInMemory {
  struct Client {
    std::string name = {};
    std::uint64_t next_step = 0;
    std::uint64_t front = 0;      // 0: none
    std::uint64_t wanted_by = 0;  // which must wait until the other has given it up
    ClientNote note = {};
  };
  enum class Failure { kNone, kBefore, kAfter };  // of an exchange: and it has happened, or not

  FrontsInMemory(const Algorithm& algorithm, StoreConfiguration texts)
      : configuration(std::move(texts)), coordinator(algorithm, 0) {}

  void EndStep() {
    coordinator.Commit();
    state = coordinator.Save();
    asked = false;
  }
  std::uint64_t step() const { return coordinator.broadcast().step; }
  std::size_t NumberOf(const std::string& name) {
    const auto found = std::ranges::find(clients, name, &Client::name);
    if (found != clients.end()) return static_cast<std::size_t>(found - clients.begin());
    clients.push_back({.name = name});
    return clients.size() - 1;
  }

  const StoreConfiguration configuration;
  Coordinator coordinator;
  std::vector<double> state;
  std::vector<Client> clients;
  std::map<std::uint64_t, std::uint64_t> serials;  // of the newest partial, by front end
  std::uint64_t leader = 1;
  bool asked = false;
  std::size_t most_clients = 100;
  Failure failure = Failure::kNone;
};

class MemoryFront final : public Front {
 public:
  MemoryFront(FrontsInMemory& all, std::uint64_t number) : all_(all), number_(number) {}

  FrontNews Exchange(const FrontWork& work) override {
    using Failure = FrontsInMemory::Failure;
    if (all_.failure == Failure::kBefore) throw Error("the database is away");
    last = work;
    FrontNews news;
    TakeClients(work, news);
    if (work.partial) TakePartial(*work.partial, news);
    if (work.writes && (!work.partial || news.taken)) Release(work);
    for (const auto& [number, note] : work.certificates) all_.clients[number].note = note;
    for (const StoredEvent& event : work.events) events.push_back(event.event);
    if (all_.failure == Failure::kAfter) throw Error("the database is away");
    for (std::size_t k = 0; k < all_.clients.size(); ++k) {
      if (all_.clients[k].front == number_ && all_.clients[k].wanted_by != 0) {
        news.wanted.push_back(k);
      }
    }
    news.over = all_.step() > work.step;
    if (news.over) news.newest = ResumePoint{all_.step(), all_.state};
    news.asked = all_.asked && !news.over;
    news.all = FrontsStatus{
        .fronts = {{.report = work.report, .leads = all_.leader == number_, .here = true}},
        .step = all_.step(),
        .enrolled = all_.clients.size()};
    return news;
  }
  bool HasNews() const override { return has_news; }
  void OnNews(std::function<void()> wake) override { on_news = std::move(wake); }

  StoreContents Contents() override { return {.configuration = all_.configuration}; }
  void CheckRoom(std::size_t) const override {}
  void Write(const StoreBatch& batch) override {
    for (const std::string& name : batch.clients) all_.NumberOf(name);
  }
  void Fill(const StoreContents&) override {}
  Pruned Prune(const PruneOptions&) override { return {}; }
  void Compact() override {}

  FrontWork last;
  std::vector<std::string> events;
  bool has_news = false;
  std::function<void()> on_news;

 private:
  FrontClient Known(std::size_t number) const {
    const FrontsInMemory::Client& client = all_.clients[number];
    return {client.name, number, client.next_step, client.front == number_};
  }
  void TakeClients(const FrontWork& work, FrontNews& news) {
    for (const FrontClaim& claim : work.claims) {
      const bool known =
          std::ranges::count(all_.clients, claim.name, &FrontsInMemory::Client::name) > 0;
      if (!known && all_.clients.size() >= all_.most_clients) {
        news.full.push_back(claim.name);
        continue;
      }
      const std::size_t number = all_.NumberOf(claim.name);
      FrontsInMemory::Client& client = all_.clients[number];
      if (client.front != 0 && client.front != number_) {
        client.wanted_by = number_;
        continue;
      }
      client.front = number_;
      client.wanted_by = 0;
      news.claimed.push_back(Known(number));
    }
    for (const std::uint64_t number : work.confirms) news.confirmed.push_back(Known(number));
  }
  void TakePartial(const FrontPartial& partial, FrontNews& news) {
    std::uint64_t& serial = all_.serials[number_];
    const bool again = partial.serial == serial;  // it was taken, and the answer was lost
    const bool good = partial.step == all_.step() &&
                      std::ranges::all_of(partial.counted, [&](const CountedUpdate& each) {
                        return all_.clients[each.client].front == number_;
                      });
    news.taken = good && !again;
    for (const CountedUpdate& each : partial.counted) {
      if (news.taken) all_.clients[each.client].next_step = each.step + 1;
      news.settled.push_back(Known(each.client));
    }
    if (!news.taken) return;
    serial = partial.serial;
    all_.coordinator.AddPartial(partial.sums, partial.counted.size());
  }
  void Release(const FrontWork& work) {
    for (const std::uint64_t number : work.released) {
      if (all_.clients[number].front == number_) all_.clients[number].front = 0;
    }
  }

  FrontsInMemory& all_;
  const std::uint64_t number_;
};

class RoundsThatShare : public RoundsOfAFederation {
 protected:
  void Begin(std::size_t count) {
    options_.roster.clear();
    all_ = std::make_unique<FrontsInMemory>(*algorithm_, ToTexts(configuration_));
    if (options_.uses_late()) all_->coordinator.TakeLateUpdates();
    for (std::size_t n = 0; n < count; ++n) {
      fronts_.push_back(std::make_unique<MemoryFront>(*all_, n + 1));
      RoundsOptions options = options_;
      options.front = fronts_.back().get();
      places_.push_back(std::make_unique<Rounds>(*algorithm_, *fronts_.back(), options));
    }
  }
  void TearDown() override { places_.clear(); }

  /// All say what they have to say, as often as it takes for each to hear all.
  void Talk(std::chrono::milliseconds later = std::chrono::milliseconds(0)) {
    now_ += later;
    for (int turn = 0; turn < 6; ++turn) {
      now_ += std::chrono::milliseconds(300);
      for (const auto& front : fronts_) front->has_news = turn < 5;
      for (std::size_t n = 0; n < places_.size(); ++n) {
        Hush(n);
        places_[n]->Commit(now_);
      }
    }
  }
  /// It has heard the news once it asks for them.
  void Hush(std::size_t place) { fronts_[place]->has_news = false; }

  TestClient Come(std::size_t place, const std::string& name) {
    TestClient client;
    client.session = places_[place]->Join(name, {}, client.peer, now_);
    return client;
  }
  TestClient Welcomed(std::size_t place, const std::string& name) {
    const TestClient client = Come(place, name);
    Talk();
    EXPECT_TRUE(WelcomeOf(place, client)) << name;
    return client;
  }
  std::optional<Welcome> WelcomeOf(std::size_t place, const TestClient& client) {
    const Outgoing out = places_[place]->Take(client.session);
    if (out.message == nullptr) return {};
    const ServerMessage message = DecodeServerMessage(*out.message);
    const Welcome* const welcome = std::get_if<Welcome>(&message);
    return welcome != nullptr ? std::optional(*welcome) : std::nullopt;
  }
  Ending EndingAt(std::size_t place, const TestClient& client) {
    Outgoing out = places_[place]->Take(client.session);
    while (out.message != nullptr) out = places_[place]->Take(client.session);
    return out.ending.value_or(Ending{Ending::Kind::kFinished, "it has not ended"});
  }
  static Updates UpdateOf(std::uint64_t step, float value) {
    Updates updates;
    updates.step = step;
    updates.clients = {99};
    updates.first = {0, 1};
    updates.blocks = {static_cast<std::uint32_t>(step % 4)};
    updates.values.assign(4, value);
    return updates;
  }
  void AnswerAt(std::size_t place, const TestClient& client, std::uint64_t step, float value = 1) {
    places_[place]->Receive(client.session, UpdateOf(step, value), now_);
  }
  RoundsStatus StatusAt(std::size_t place) const { return places_[place]->status(); }

  std::unique_ptr<FrontsInMemory> all_;
  std::vector<std::unique_ptr<MemoryFront>> fronts_;
  std::vector<std::unique_ptr<Rounds>> places_;
};

}  // namespace polykern
