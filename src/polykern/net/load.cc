#include "polykern/net/load.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/net/byte_buffer_internal.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using Clock = std::chrono::steady_clock;

/// What the clients tell whoever waits for them.
struct Events {
  std::mutex mutex;  // for all that follows
  std::condition_variable changed;
  std::size_t welcomed = 0;
  std::size_t ended = 0;
  std::string failure;

  std::atomic<std::uint64_t> models = 0;  // that came, to anybody
  std::atomic<bool> waiting = false;      // for them
};

/// The federation's algorithm: the first client that is welcomed makes it, all share it.
class SharedAlgorithm {
 public:
  const Algorithm& Get(const ConfigurationTexts& texts, std::size_t& dimension) {
    const std::lock_guard lock(mutex_);
    if (algorithm_ == nullptr) {
      const FederationConfiguration configuration = FromTexts(texts);
      dimension_ = configuration.problem.dimension;
      algorithm_ = MakeAlgorithm(configuration);
    }
    dimension = dimension_;
    return *algorithm_;
  }

 private:
  std::mutex mutex_;
  std::size_t dimension_ = 0;
  std::unique_ptr<Algorithm> algorithm_;
};

grpc::ChannelArguments ChannelSettings() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);  // what is not asked for is left out
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection for each
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(const LoadIdentity& identity) {
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = identity.authority;
  ssl.pem_private_key = identity.key;
  ssl.pem_cert_chain = identity.certificate;
  return grpc::SslCredentials(ssl);
}

/// One client. gRPC calls OnReadDone and OnWriteDone, each one at a time.
class LoadClient final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  LoadClient(const LoadOptions& options, std::size_t number, SharedAlgorithm& algorithm,
             Events& events)
      : stub_(grpc::CreateCustomChannel(options.server, Credentials(options.identities[number]),
                                        ChannelSettings())),
        seed_(options.seed),
        shared_(algorithm),
        events_(events) {}

  void Begin() {
    stub_.PrepareBidiStreamingCall(&context_, kJoinMethod, {}, this);
    Write(Encode(Hello{}));
    StartRead(&in_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    try {
      Take(TakeBytes(in_));
      StartRead(&in_);
    } catch (const Error& error) {
      Fail(error.marked());
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok && waiting_) StartWriting();
  }

  void OnDone(const grpc::Status& status) override {
    if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) {
      Fail(status.error_message());
    }
    const std::lock_guard lock(events_.mutex);
    ++events_.ended;
    events_.changed.notify_all();
  }

  std::uint64_t step() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  void Measure(bool on) {
    const std::lock_guard lock(mutex_);
    measuring_ = on;
    if (on) figures_ = {.rejected = figures_.rejected};
  }
  LoadFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  void Fail(const std::string& why) {
    const std::lock_guard lock(events_.mutex);
    if (events_.failure.empty()) events_.failure = why;
    events_.changed.notify_all();
  }

  void Take(const std::string& bytes) {
    const ServerMessage message = DecodeServerMessage(bytes);
    if (const auto* busy = std::get_if<Busy>(&message)) throw Error(busy->reason);
    if (const auto* verdict = std::get_if<Verdict>(&message)) {
      const std::lock_guard lock(mutex_);
      if (!verdict->accepted) ++figures_.rejected;
    } else if (const auto* welcome = std::get_if<Welcome>(&message)) {
      Meet(*welcome);
      Answer(welcome->model, bytes.size());
    } else {
      Answer(std::get<ModelChange>(message), bytes.size());
    }
  }

  void Meet(const Welcome& welcome) {
    algorithm_ = &shared_.Get(welcome.configuration, dimension_);
    client_.emplace(*algorithm_, welcome.client, 1);
    round_.emplace(*algorithm_);
    const std::lock_guard lock(events_.mutex);
    ++events_.welcomed;
  }

  /// Learns from a sample of its own and answers.
  void Answer(const ModelChange& change, std::size_t bytes) {
    if (!client_) throw Error("a model came before the welcome");
    ApplyModel(algorithm_->shape(), change, model_);
    std::string update;
    if (!change.finished) {
      Random random(seed_, Purpose::kSample, client_->Id(0), change.step);
      x_.resize(dimension_);
      double sum = 0;
      for (float& x : x_) {
        const double uniform = 2 * random.Uniform() - 1;
        x = static_cast<float>(uniform);
        sum += uniform;
      }
      round_->Predict(model_, *client_, 0, x_, std::array<std::uint8_t, 1>{1});
      update = Encode(round_->Learn(std::array{0.5 + 0.5 * std::sin(sum)}));
    }
    {
      const std::lock_guard lock(mutex_);
      newest_ = change.step;
      const auto now = Clock::now();
      if (measuring_ && sent_at_) {
        ++figures_.updates;
        figures_.received_bytes += bytes;
        figures_.sent_bytes += sent_bytes_;
        figures_.latencies.push_back(std::chrono::duration<double>(now - *sent_at_).count());
      }
      sent_at_.reset();
      if (!update.empty()) sent_at_ = now;
      sent_bytes_ = update.size();
    }
    if (!update.empty()) Write(std::move(update));
    ++events_.models;
    if (events_.waiting) {
      const std::lock_guard lock(events_.mutex);
      events_.changed.notify_all();
    }
  }

  void Write(std::string bytes) {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(bytes);
    if (!writing_) StartWriting();
  }
  void StartWriting() {
    out_ = ShareBytes(std::make_shared<const std::string>(*std::exchange(waiting_, {})));
    writing_ = true;
    StartWrite(&out_);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const std::uint64_t seed_;
  SharedAlgorithm& shared_;
  Events& events_;

  // The reader's alone.
  grpc::ByteBuffer in_;
  const Algorithm* algorithm_ = nullptr;
  std::size_t dimension_ = 0;
  std::optional<Clients> client_;
  std::optional<ClientRound> round_;
  Broadcast model_;
  std::vector<float> x_;

  mutable std::mutex mutex_;  // for all that follows
  grpc::ByteBuffer out_;
  std::optional<std::string> waiting_;
  bool writing_ = false;
  bool measuring_ = false;
  std::uint64_t newest_ = 0;
  std::optional<Clock::time_point> sent_at_;
  std::size_t sent_bytes_ = 0;
  LoadFigures figures_;
};

}  // namespace

class Load::Parts {
 public:
  explicit Parts(const LoadOptions& options) : options_(options) {
    TrustGrpcsLocks();
    const std::size_t count = options.identities.size();
    try {
      for (std::size_t k = 0; k < count; ++k) {
        Wait([&] { return k < events_.welcomed + options_.connecting; });
        clients_.push_back(std::make_unique<LoadClient>(options_, k, algorithm_, events_));
        clients_.back()->Begin();
      }
      Wait([&] { return events_.welcomed == count; });
    } catch (...) {
      End();
      throw;
    }
  }
  ~Parts() { End(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void WaitForSteps(std::uint64_t steps) {
    const std::uint64_t wanted = Newest() + steps;
    // Looks at all clients only when enough models came that it can be true.
    for (std::size_t slowest = 0; slowest < clients_.size(); ++slowest) {
      Wait([&] { return clients_[slowest]->step() >= wanted; });
    }
  }

  LoadFigures Measure(std::chrono::milliseconds time) {
    for (const auto& client : clients_) client->Measure(true);
    const auto began = Clock::now();
    const std::uint64_t before = Newest();
    for (auto left = time; left.count() > 0;
         left =
             time - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began)) {
      std::unique_lock lock(events_.mutex);
      events_.changed.wait_for(lock, left, [this] { return !events_.failure.empty(); });
      CheckLocked();
    }
    LoadFigures all;
    all.steps = Newest() - before;
    all.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    for (const auto& client : clients_) client->Measure(false);
    for (const auto& client : clients_) {
      const LoadFigures one = client->figures();
      all.updates += one.updates;
      all.sent_bytes += one.sent_bytes;
      all.received_bytes += one.received_bytes;
      all.rejected += one.rejected;
      all.latencies.insert(all.latencies.end(), one.latencies.begin(), one.latencies.end());
    }
    std::ranges::sort(all.latencies);
    return all;
  }

 private:
  std::uint64_t Newest() const {
    std::uint64_t newest = 0;
    for (const auto& client : clients_) newest = std::max(newest, client->step());
    return newest;
  }

  void CheckLocked() const {
    if (!events_.failure.empty()) throw Error("a client of the load: " + events_.failure);
    if (events_.ended > 0) throw Error("the server ended a connection");
  }

  template <typename Condition>
  void Wait(Condition holds) {
    std::unique_lock lock(events_.mutex);
    events_.waiting = true;
    for (;;) {
      CheckLocked();
      if (holds()) break;
      const std::uint64_t models = events_.models;
      const std::size_t welcomed = events_.welcomed;
      const bool moved = events_.changed.wait_for(lock, options_.patience, [&] {
        return events_.models != models || events_.welcomed != welcomed || events_.ended > 0 ||
               !events_.failure.empty();
      });
      if (!moved) {
        throw Error("nothing came from the server for " +
                    std::to_string(options_.patience.count() / 1000) + " s; " +
                    std::to_string(events_.welcomed) + " of " +
                    std::to_string(options_.identities.size()) + " clients are welcomed");
      }
    }
    events_.waiting = false;
  }

  void End() {
    for (const auto& client : clients_) client->Cancel();
    std::unique_lock lock(events_.mutex);
    events_.changed.wait(lock, [this] { return events_.ended == clients_.size(); });
  }

  const LoadOptions options_;
  Events events_;
  SharedAlgorithm algorithm_;
  std::vector<std::unique_ptr<LoadClient>> clients_;
};

Load::Load(const LoadOptions& options) : parts_(std::make_unique<Parts>(options)) {}

Load::~Load() = default;

void Load::WaitForSteps(std::uint64_t steps) {
  parts_->WaitForSteps(steps);
}

LoadFigures Load::Measure(std::chrono::milliseconds time) {
  return parts_->Measure(time);
}

double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(rank > 0 ? rank - 1 : 0, sorted.size() - 1)];
}

}  // namespace polykern
