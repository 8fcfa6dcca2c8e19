#include "polykern/net/wire.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>

#include "polykern/algorithms/server_weights.h"
#include "polykern/core/error.h"
#include "polykern/net/parse_message.h"
#include "polykern/v1/federation.pb.h"

namespace polykern {
namespace {

/// Texts that others will print: short, on one line, plain ASCII.
constexpr std::size_t kLongestReason = 1000;
constexpr std::size_t kLongestProgram = 40;

template <typename Field, typename T>
void Put(const std::vector<T>& values, Field& field) {
  field.Add(values.begin(), values.end());
}

template <typename T, typename Field>
std::vector<T> Get(const Field& field) {
  return {field.begin(), field.end()};
}

std::string OneLine(const std::string& text) {
  std::string line = text.substr(0, kLongestReason);
  for (char& c : line) {
    if (c < ' ' || c > '~') c = static_cast<unsigned char>(c) < 0x80 ? ' ' : '?';
  }
  return line;
}

void PutModel(const ModelChange& change, v1::Model& model) {
  model.set_step(change.step);
  model.set_finished(change.finished);
  Put(change.blocks, *model.mutable_kernels());
  Put(change.values, *model.mutable_values());
  Put(change.weights, *model.mutable_weights());
  Put(change.turn, *model.mutable_turn());
  model.set_counted(change.counted);
  model.set_releases(change.releases);
}

ModelChange GetModel(const v1::Model& model) {
  return {model.step(),
          model.finished(),
          Get<std::uint32_t>(model.kernels()),
          Get<float>(model.values()),
          Get<double>(model.weights()),
          Get<std::uint32_t>(model.turn()),
          model.counted(),
          model.releases()};
}

MaskNonce NonceOf(const std::string& bytes) {
  MaskNonce nonce = {};
  if (bytes.size() != nonce.size()) throw Error("received a nonce that is not 16 bytes long");
  std::ranges::copy(bytes, nonce.begin());
  return nonce;
}

}  // namespace

std::string Encode(const Hello& hello) {
  v1::ClientMessage message;
  message.mutable_hello()->set_version(hello.version);
  message.mutable_hello()->set_next_step(hello.next_step);
  message.mutable_hello()->set_mask_key(hello.mask_key);
  message.mutable_hello()->set_program(hello.program);
  return message.SerializeAsString();
}

std::string Encode(const Updates& updates) {
  assert(updates.size() == 1);
  v1::ClientMessage message;
  v1::Update& update = *message.mutable_update();
  update.set_step(updates.step);
  Put(updates.blocks, *update.mutable_kernels());
  Put(updates.values, *update.mutable_values());
  Put(updates.losses, *update.mutable_losses());
  Put(updates.integers, *update.mutable_sums());
  Put(updates.samples, *update.mutable_samples());
  Put(updates.unknowns, *update.mutable_unknowns());
  Put(updates.new_unknowns, *update.mutable_new_unknowns());
  if (!updates.nonces.empty()) {
    update.set_releases(updates.releases);
    update.set_nonce(updates.nonces[0].data(), updates.nonces[0].size());
  }
  if (!updates.fresh.empty()) {
    update.set_fresh_samples(updates.fresh[0].samples);
    update.set_fresh_unknowns(updates.fresh[0].unknowns);
  }
  if (!updates.clipped.empty()) update.set_fresh_clipped(updates.clipped[0]);
  return message.SerializeAsString();
}

std::string Encode(const ClientReport& report) {
  v1::ClientMessage message;
  message.mutable_report()->set_predictions(report.predictions);
  message.mutable_report()->set_squared_error(report.squared_error);
  message.mutable_report()->set_regret(report.regret);
  message.mutable_report()->set_naive_error(report.naive_error);
  return message.SerializeAsString();
}

std::string Encode(const ClientRanges& ranges) {
  v1::ClientMessage message;
  Put(ranges.least, *message.mutable_ranges()->mutable_least());
  Put(ranges.greatest, *message.mutable_ranges()->mutable_greatest());
  return message.SerializeAsString();
}

std::string Encode(const Welcome& welcome) {
  v1::ServerMessage message;
  v1::Welcome& out = *message.mutable_welcome();
  out.set_version(welcome.version);
  out.set_client(welcome.client);
  out.mutable_configuration()->insert(welcome.configuration.begin(), welcome.configuration.end());
  PutModel(welcome.model, *out.mutable_model());
  out.set_answered(welcome.answered);
  out.set_uses_late(welcome.uses_late);
  out.set_has_ranges(welcome.has_ranges);
  out.set_helper_key(welcome.helper_key);
  return message.SerializeAsString();
}

std::string Encode(const ModelChange& change) {
  v1::ServerMessage message;
  PutModel(change, *message.mutable_model());
  return message.SerializeAsString();
}

/// Messages that follow one another are one, whose fields are those of both.
std::string WithCounted(std::string_view change, std::uint64_t counted) {
  v1::ServerMessage more;
  more.mutable_model()->set_counted(counted);
  std::string both(change);
  more.AppendToString(&both);
  return both;
}

/// On the wire an update is accepted if there is no reason.
std::string Encode(const Verdict& verdict) {
  v1::ServerMessage message;
  message.mutable_verdict()->set_step(verdict.step);
  if (!verdict.accepted) {
    message.mutable_verdict()->set_reason(verdict.reason.empty() ? "no reason is given"
                                                                 : OneLine(verdict.reason));
  }
  return message.SerializeAsString();
}

std::string Encode(const Busy& busy) {
  v1::ServerMessage message;
  message.mutable_busy()->set_earliest_milliseconds(busy.earliest_milliseconds);
  message.mutable_busy()->set_latest_milliseconds(busy.latest_milliseconds);
  message.mutable_busy()->set_reason(OneLine(busy.reason));
  return message.SerializeAsString();
}

ClientMessage DecodeClientMessage(std::string_view bytes) {
  const auto message = Parse<v1::ClientMessage>(bytes);
  if (message.has_hello()) {
    const v1::Hello& hello = message.hello();
    return Hello{hello.version(), hello.next_step(), hello.mask_key(),
                 OneLine(hello.program()).substr(0, kLongestProgram)};
  }
  if (message.has_report()) {
    const v1::Report& report = message.report();
    if (!std::isfinite(report.squared_error()) || report.squared_error() < 0 ||
        !std::isfinite(report.regret()) || !std::isfinite(report.naive_error()) ||
        report.naive_error() < 0) {
      throw Error("received a report with impossible numbers");
    }
    return ClientReport{report.predictions(), report.squared_error(), report.regret(),
                        report.naive_error()};
  }
  if (message.has_ranges()) {
    return ClientRanges{Get<double>(message.ranges().least()),
                        Get<double>(message.ranges().greatest())};
  }
  if (!message.has_update()) throw Error("received a message of an unknown kind");
  const v1::Update& update = message.update();
  Updates updates;
  updates.step = update.step();
  updates.clients = {0};
  updates.blocks = Get<std::uint32_t>(update.kernels());
  updates.first = {0, updates.blocks.size()};
  updates.values = Get<float>(update.values());
  updates.losses = Get<float>(update.losses());
  updates.integers = Get<std::uint64_t>(update.sums());
  updates.samples = Get<std::uint64_t>(update.samples());
  updates.unknowns = Get<std::uint64_t>(update.unknowns());
  updates.new_unknowns = Get<std::uint64_t>(update.new_unknowns());
  updates.releases = update.releases();
  if (!update.nonce().empty()) updates.nonces = {NonceOf(update.nonce())};
  if (update.fresh_samples() > 0 || update.fresh_unknowns() > 0) {
    updates.fresh = {{update.fresh_samples(), update.fresh_unknowns()}};
  }
  if (update.fresh_clipped() > 0) updates.clipped = {update.fresh_clipped()};
  return updates;
}

ServerMessage DecodeServerMessage(std::string_view bytes) {
  const auto message = Parse<v1::ServerMessage>(bytes);
  switch (message.kind_case()) {
    case v1::ServerMessage::kWelcome: {
      const v1::Welcome& in = message.welcome();
      return Welcome{in.version(),
                     in.client(),
                     {in.configuration().begin(), in.configuration().end()},
                     GetModel(in.model()),
                     in.answered(),
                     in.uses_late(),
                     in.has_ranges(),
                     in.helper_key()};
    }
    case v1::ServerMessage::kModel:
      return GetModel(message.model());
    case v1::ServerMessage::kVerdict:
      return Verdict{message.verdict().step(), message.verdict().reason().empty(),
                     OneLine(message.verdict().reason())};
    case v1::ServerMessage::kBusy:
      return Busy{message.busy().earliest_milliseconds(), message.busy().latest_milliseconds(),
                  OneLine(message.busy().reason())};
    case v1::ServerMessage::KIND_NOT_SET:
      break;
  }
  throw Error("received a message of an unknown kind from the server");
}

// A varint has at most 10 bytes, a field's tag and length at most 12.

std::size_t LongestClientMessage(const ModelShape& shape) {
  const std::size_t number = shape.sums.empty() ? 4 : 8;
  // Which block, and of sums how many samples and unknowns.
  const std::size_t each = shape.sums.empty() ? 5 : 5 + 10 + 10 + 10;
  return std::max(kLongestHello,
                  128 + number * shape.update_size() + each * shape.blocks_per_update);
}

std::size_t LongestRanges(std::size_t inputs) {
  return 128 + 2 * sizeof(double) * (inputs + 1);
}

ModelChange TakeBlocks(const ModelShape& shape, const Broadcast& now,
                       std::vector<std::uint32_t> blocks) {
  ModelChange change;
  change.step = now.step;
  change.weights = now.weights;
  change.turn = now.turn;
  change.releases = now.releases;
  change.values.reserve(blocks.size() * shape.width);
  for (const std::uint32_t block : blocks) {
    const auto values = std::span(now.model).subspan(block * shape.width, shape.width);
    change.values.insert(change.values.end(), values.begin(), values.end());
  }
  change.blocks = std::move(blocks);
  return change;
}

void ApplyModel(const ModelShape& shape, const ModelChange& change, Broadcast& broadcast) {
  const auto fail = [&](const char* why) {
    throw Error("the model of step " + std::to_string(change.step) + " cannot be used: " + why);
  };
  if (change.blocks.size() > shape.blocks ||
      change.values.size() != change.blocks.size() * shape.width) {
    fail("its parts have inconsistent lengths");
  }
  if (change.weights.size() != WeightsOf(shape)) fail("it has another number of weights");
  const auto finite = [](auto value) { return std::isfinite(value); };
  if (!std::ranges::all_of(change.values, finite) || !std::ranges::all_of(change.weights, finite)) {
    fail("it holds a number that is not finite");
  }
  std::vector<bool> seen(shape.blocks);
  for (const std::uint32_t block : change.blocks) {
    if (block >= shape.blocks || seen[block]) fail("it names a kernel twice, or one too high");
    seen[block] = true;
  }
  for (std::size_t i = 0; i < change.turn.size(); ++i) {
    if (change.turn[i] >= shape.sums.size() || (i > 0 && change.turn[i] <= change.turn[i - 1])) {
      fail("it asks for sums that do not exist");
    }
  }
  if (broadcast.model.empty() && change.blocks.size() != shape.blocks) {
    fail("it is the first one and lacks kernels");
  }
  broadcast.step = change.step;
  broadcast.model.resize(shape.model_size());
  broadcast.weights = change.weights;
  broadcast.turn = change.turn;
  broadcast.releases = change.releases;
  for (std::size_t i = 0; i < change.blocks.size(); ++i) {
    std::ranges::copy(
        std::span(change.values).subspan(i * shape.width, shape.width),
        broadcast.model.begin() + static_cast<std::ptrdiff_t>(change.blocks[i] * shape.width));
  }
}

}  // namespace polykern
