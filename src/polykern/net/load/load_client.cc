#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "polykern/algorithms/engine.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/load/load_client_internal.h"

namespace polykern {

const Algorithm& LoadShared::AlgorithmOf(const ConfigurationTexts& texts) {
  const std::lock_guard lock(mutex);
  if (algorithm == nullptr) {
    configuration = FromTexts(texts);
    if (configuration.learn_ranges > 0) throw Error("the server's federation has no ranges yet");
    algorithm = MakeAlgorithm(configuration);
  }
  return *algorithm;
}

void LoadShared::Fail(const std::string& why) {
  const std::lock_guard lock(mutex);
  if (failure.empty()) failure = why;
  changed.notify_all();
}

void LoadShared::CheckLocked() const {
  if (!failure.empty()) throw Error("a client of the load: " + failure);
  if (ended > 0) throw Error("the server ended a connection");
}

LoadClient::LoadClient(Loop& loop, const std::string& server, const ClientIdentity& identity,
                       std::uint64_t seed, LoadShared& shared)
    : seed_(seed),
      mask_identity_(MaskIdentityOf(identity, "a client of the load")),
      shared_(shared),
      stream_(loop, {.server = server, .tls = MakeClientTls(identity)}, *this) {}

bool LoadClient::Received(std::string_view bytes) {
  try {
    Take(bytes);
    return true;
  } catch (const Error& error) {
    shared_.Fail(error.marked());
    return false;
  }
}

void LoadClient::Ended(const Ending& ending) {
  if (ending.kind != Ending::Kind::kFinished) shared_.Fail(ending.reason);
  const std::lock_guard lock(shared_.mutex);
  ++shared_.ended;
  shared_.changed.notify_all();
}

void LoadClient::Take(std::string_view bytes) {
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

void LoadClient::Meet(const Welcome& welcome) {
  algorithm_ = &shared_.AlgorithmOf(welcome.configuration);
  client_.emplace(*algorithm_, welcome.client, 1);
  const FederationConfiguration& federation = shared_.configuration;
  if (federation.options.masking != Masking::kNone) {
    masks_.Use(mask_identity_, welcome.helper_key, federation,
               NoiseTermsOf(*algorithm_, federation.samples_per_row()));
  }
  buffer_.emplace(federation.problem.dimension, algorithm_->kept_samples());
  round_.emplace(*algorithm_, CpuEngine(), masks_);
  round_->ReadFrom(*buffer_);
  x_.resize(federation.problem.dimension);
  const std::lock_guard lock(shared_.mutex);
  ++shared_.welcomed;
}

void LoadClient::Answer(const ModelChange& change, std::size_t bytes) {
  if (!client_) throw Error("received a model before the welcome");
  ApplyModel(algorithm_->shape(), change, model_);
  std::string update = change.finished ? "" : Learn(change.step);
  Note(change.step, bytes, update.size());
  if (!update.empty()) stream_.Send(std::move(update));
  ++shared_.models;
  if (shared_.waiting) {
    const std::lock_guard lock(shared_.mutex);
    shared_.changed.notify_all();
  }
}

/// Learns from a sample of its own; the update, encoded.
std::string LoadClient::Learn(std::uint64_t step) {
  Random random(seed_, Purpose::kSample, client_->Id(0), step);
  double sum = 0;
  for (float& x : x_) {
    const double uniform = 2 * random.Uniform() - 1;
    x = static_cast<float>(uniform);
    sum += uniform;
  }
  round_->Predict(model_, *client_, 0, x_, std::array<std::uint8_t, 1>{1});
  const double y = 0.5 + 0.5 * std::sin(sum);
  buffer_->Add(x_, y);
  std::string update = Encode(round_->Learn(std::array{y}));
  buffer_->Trim();
  return update;
}

/// A model came, and so much is sent; 0: nothing.
void LoadClient::Note(std::uint64_t step, std::size_t received, std::size_t sent) {
  const std::lock_guard lock(mutex_);
  newest_ = step;
  const auto now = Clock::now();
  if (measuring_ && sent_at_) {
    ++figures_.updates;
    figures_.received_bytes += received;
    figures_.sent_bytes += sent_bytes_;
    figures_.latencies.push_back(std::chrono::duration<double>(now - *sent_at_).count());
  }
  sent_at_.reset();
  if (sent > 0) sent_at_ = now;
  sent_bytes_ = sent;
}

std::uint64_t LoadClient::step() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void LoadClient::Measure(bool on) {
  const std::lock_guard lock(mutex_);
  measuring_ = on;
  if (on) figures_ = {.rejected = figures_.rejected};
}

LoadFigures LoadClient::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace polykern
