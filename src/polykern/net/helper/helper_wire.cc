#include "polykern/net/helper/helper_wire.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/helper/release_limits.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/parse_message.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/v1/helper.pb.h"

namespace polykern {
namespace {

constexpr std::size_t kLongestText = 1000;  // that is shown to people
constexpr std::size_t kLongestFederation = 64;
constexpr std::uint64_t kMostCount = 1ULL << 40;  // of samples and unknowns in a message
constexpr std::uint64_t kMostSteps = 1ULL << 62;

void RequireField(bool good, const char* what) {
  if (!good) throw Error(std::string("received a message with ") + what);
}

/// Short, on one line, plain ASCII.
std::string PlainLine(std::string text) {
  text.resize(std::min(text.size(), kLongestText));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

void PutNoise(const NoiseTerms& noise, v1::NoiseTerms& out) {
  out.set_epsilon(noise.epsilon);
  out.set_delta(noise.delta);
  out.set_releases(noise.releases);
  out.set_samples_per_row(noise.samples_per_event);
  out.set_numbers(noise.numbers);
  out.set_bits(noise.ring.bits);
  out.set_unit(noise.ring.unit);
}

void CheckRing(std::uint32_t bits, double unit) {
  RequireField(CanBeRing(bits, unit), "an invalid ring");
}

NoiseTerms GetNoise(const v1::NoiseTerms& in) {
  CheckRing(in.bits(), in.unit());
  const NoiseTerms terms = {.epsilon = in.epsilon(),
                            .delta = in.delta(),
                            .releases = in.releases(),
                            .samples_per_event = in.samples_per_row(),
                            .numbers = in.numbers(),
                            .ring = {in.bits(), in.unit()}};
  RequireField(CanBeTerms(terms), "invalid noise settings");
  return terms;
}

void CheckFederation(const std::string& federation) {
  const auto plain = [](char c) { return c > ' ' && c <= '~'; };
  RequireField(!federation.empty() && federation.size() <= kLongestFederation &&
                   std::ranges::all_of(federation, plain),
               "an invalid federation name");
}

void PutMessages(const std::vector<NamedContribution>& messages, v1::Release& out) {
  std::unordered_map<std::string_view, std::uint32_t> places;
  for (const NamedContribution& m : messages) {
    const auto [place, is_new] =
        places.try_emplace(m.client, static_cast<std::uint32_t>(places.size()));
    if (is_new) out.add_clients(m.client);
    out.add_client(place->second);
    out.add_step(m.step);
    out.add_releases(m.releases);
    out.add_samples(m.count.samples);
    out.add_unknowns(m.count.unknowns);
    out.add_new_unknowns(m.new_unknowns);
    out.mutable_nonces()->append(reinterpret_cast<const char*>(m.nonce.data()), m.nonce.size());
  }
}

std::vector<NamedContribution> GetMessages(const v1::Release& in) {
  const int count = in.client_size();
  RequireField(in.step_size() == count && in.samples_size() == count &&
                   in.unknowns_size() == count && in.new_unknowns_size() == count &&
                   in.releases_size() == count &&
                   in.nonces().size() == sizeof(MaskNonce) * static_cast<std::size_t>(count),
               "parts of inconsistent lengths");
  RequireField(std::ranges::all_of(in.clients(), IsClientName), "an invalid client name");
  std::vector<NamedContribution> messages(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    NamedContribution& m = messages[static_cast<std::size_t>(i)];
    RequireField(in.client(i) < static_cast<std::uint32_t>(in.clients_size()),
                 "a client that has no name");
    RequireField(in.step(i) < kMostSteps && in.samples(i) < kMostCount &&
                     in.unknowns(i) < kMostCount && in.new_unknowns(i) < kMostCount,
                 "invalid counts");
    m.client = in.clients(static_cast<int>(in.client(i)));
    m.step = in.step(i);
    m.releases = in.releases(i);
    m.count = {in.samples(i), in.unknowns(i)};
    m.new_unknowns = in.new_unknowns(i);
    std::copy_n(in.nonces().data() + sizeof(MaskNonce) * static_cast<std::size_t>(i),
                sizeof(MaskNonce), reinterpret_cast<char*>(m.nonce.data()));
  }
  return messages;
}

using NamedKeys = google::protobuf::RepeatedPtrField<v1::NamedMaskKey>;

void PutKeys(const std::map<std::string, SignedMaskKey>& keys, NamedKeys& out) {
  for (const auto& [client, key] : keys) {
    v1::NamedMaskKey& named = *out.Add();
    named.set_client(client);
    PutMaskKey(key, *named.mutable_key());
  }
}

std::map<std::string, SignedMaskKey> GetKeys(const NamedKeys& in) {
  std::map<std::string, SignedMaskKey> keys;
  for (const v1::NamedMaskKey& key : in) {
    RequireField(IsClientName(key.client()), "an invalid client name");
    keys.insert_or_assign(key.client(), GetMaskKey(key.key()));
  }
  return keys;
}

HelperQuestion GetQuestion(const v1::Release& in) {
  CheckFederation(in.federation());
  RequireField(in.number() < kMostSteps && in.kind() < kMostKinds && in.numbers() > 0 &&
                   in.numbers() <= kMostNumbers && in.epoch() < kMostSteps,
               "invalid counts");
  CheckRing(in.bits(), in.unit());
  HelperQuestion question{.id = in.id(),
                          .release = {.federation = in.federation(),
                                      .epoch = in.epoch(),
                                      .number = in.number(),
                                      .kind = in.kind(),
                                      .numbers = in.numbers(),
                                      .ring = {in.bits(), in.unit()},
                                      .messages = GetMessages(in)}};
  if (in.has_noise()) question.release.noise = GetNoise(in.noise());
  question.keys = GetKeys(in.keys());
  return question;
}

HelperReply GetReply(const v1::HelperAnswer& in) {
  if (in.refusal().empty()) {
    return {.kind = HelperReply::Kind::kAnswered,
            .streams = {in.streams().begin(), in.streams().end()}};
  }
  return {.kind = in.later() ? HelperReply::Kind::kLater : HelperReply::Kind::kRefused,
          .reason = PlainLine(in.refusal())};
}

}  // namespace

std::string Encode(const HelperHello& hello) {
  v1::ToHelper message;
  message.mutable_hello()->set_version(hello.version);
  message.mutable_hello()->set_federation(hello.federation);
  message.mutable_hello()->set_epoch(hello.epoch);
  if (hello.noise.noisy()) PutNoise(hello.noise, *message.mutable_hello()->mutable_noise());
  return message.SerializeAsString();
}

std::string Encode(const HelperQuestion& question) {
  v1::ToHelper message;
  v1::Release& out = *message.mutable_release();
  const ReleaseRequest& release = question.release;
  out.set_id(question.id);
  out.set_federation(release.federation);
  out.set_epoch(release.epoch);
  out.set_number(release.number);
  out.set_kind(release.kind);
  out.set_numbers(release.numbers);
  out.set_bits(release.ring.bits);
  out.set_unit(release.ring.unit);
  if (release.noise.noisy()) PutNoise(release.noise, *out.mutable_noise());
  PutMessages(release.messages, out);
  PutKeys(question.keys, *out.mutable_keys());
  return message.SerializeAsString();
}

std::string Encode(const HelperKeys& keys) {
  v1::ToHelper message;
  message.mutable_keys()->set_id(keys.id);
  PutKeys(keys.keys, *message.mutable_keys()->mutable_keys());
  return message.SerializeAsString();
}

std::string Encode(const HelperWelcome& welcome) {
  v1::FromHelper message;
  message.mutable_welcome()->set_version(welcome.version);
  PutMaskKey(welcome.key, *message.mutable_welcome()->mutable_key());
  message.mutable_welcome()->set_releases(welcome.releases);
  message.mutable_welcome()->set_takes_keys(welcome.takes_keys);
  message.mutable_welcome()->set_noisy(welcome.noisy);
  return message.SerializeAsString();
}

std::string Encode(const HelperAnswer& answer) {
  v1::FromHelper message;
  v1::HelperAnswer& out = *message.mutable_answer();
  const HelperReply& reply = answer.reply;
  out.set_id(answer.id);
  if (reply.kind == HelperReply::Kind::kAnswered) {
    out.mutable_streams()->Add(reply.streams.begin(), reply.streams.end());
  } else {
    out.set_refusal(reply.reason.empty() ? "no reason is given" : PlainLine(reply.reason));
    out.set_later(reply.kind == HelperReply::Kind::kLater);
  }
  return message.SerializeAsString();
}

ToHelper DecodeToHelper(std::string_view bytes) {
  const auto message = Parse<v1::ToHelper>(bytes);
  if (message.has_release()) return GetQuestion(message.release());
  if (message.has_keys()) return HelperKeys{message.keys().id(), GetKeys(message.keys().keys())};
  if (!message.has_hello()) throw Error("received a message of an unknown kind");
  const v1::HelperHello& hello = message.hello();
  CheckFederation(hello.federation());
  RequireField(hello.epoch() < kMostSteps, "invalid counts");
  return HelperHello{hello.version(), hello.federation(), hello.epoch(),
                     hello.has_noise() ? GetNoise(hello.noise()) : NoiseTerms{}};
}

FromHelper DecodeFromHelper(std::string_view bytes) {
  const auto message = Parse<v1::FromHelper>(bytes);
  if (message.has_answer()) return HelperAnswer{message.answer().id(), GetReply(message.answer())};
  if (!message.has_welcome()) throw Error("received a message of an unknown kind");
  const v1::HelperWelcome& welcome = message.welcome();
  return HelperWelcome{welcome.version(), GetMaskKey(welcome.key()), welcome.releases(),
                       welcome.takes_keys(), welcome.noisy()};
}

std::size_t LongestToHelper(std::size_t clients) {
  constexpr std::size_t kMessage = 80;    // less: six varints and a nonce
  constexpr std::size_t kMessages = 256;  // of a client, on average
  constexpr std::size_t kKey = 2 * kLongestCertificate;
  return (std::size_t{4} << 20) + clients * (kKey + kMessages * kMessage);
}

std::size_t LongestFromHelper(std::size_t numbers) {
  return 2 * kLongestCertificate + sizeof(std::uint64_t) * numbers;
}

}  // namespace polykern
