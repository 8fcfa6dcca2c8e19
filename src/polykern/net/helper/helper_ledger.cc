#include "polykern/net/helper/helper_ledger.h"

#include <algorithm>
#include <future>
#include <span>
#include <thread>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

constexpr auto kAnswered = HelperReply::Kind::kAnswered;
constexpr auto kRefused = HelperReply::Kind::kRefused;
constexpr auto kLater = HelperReply::Kind::kLater;

/// Thrown within this file.
struct RefusedRelease {
  HelperReply::Kind kind = kRefused;
  std::string reason;
};

[[noreturn]] void RefuseRelease(std::string reason) {
  throw RefusedRelease{kRefused, std::move(reason)};
}

std::string NumberText(std::uint64_t number) {
  return std::to_string(number);
}

/// What helps where the log can be used no more. Noise is planned over all releases of a store.
std::string StartAgain(const NoiseTerms& noise) {
  return noise.noisy() ? "start again with a new store for the server and another for the helper"
                       : "start a new epoch";
}

constexpr std::size_t kNumbersWorthAThread = 100'000;  // a quarter of a millisecond

/// The sum of the streams of every `lanes`-th message, in the ring.
std::vector<std::uint64_t> SumOfLane(const ReleaseRequest& request,
                                     std::span<const SecretKey* const> pairs, std::size_t lane,
                                     std::size_t lanes) {
  std::vector<std::uint64_t> sum(request.numbers);
  MaskStream stream(request.epoch, request.ring.bits, request.ring.unit);
  for (std::size_t i = lane; i < pairs.size(); i += lanes) {
    const NamedContribution& m = request.messages[i];
    stream.Add(*pairs[i],
               {.turn = m.step,
                .kind = request.kind,
                .samples = m.count.samples,
                .unknowns = m.count.unknowns,
                .new_unknowns = m.new_unknowns,
                .releases = m.releases,
                .nonce = m.nonce},
               sum);
  }
  return sum;
}

}  // namespace

/// What is in a request, by client.
struct HelperLedger::Tally {
  struct Client {
    std::uint64_t samples = 0;
    std::uint64_t next_step = 0;
    PublicKey key{};
  };
  std::map<std::string, Client> clients;
  std::uint64_t samples = 0;
  std::uint64_t unknowns = 0;
  std::uint64_t new_unknowns = 0;
};

HelperLedger::HelperLedger(const HelperRules& rules, std::string name, const SecretKey& own,
                           HelperLog& log)
    : rules_(rules), name_(std::move(name)), own_(own), log_(log), held_(log.Contents()) {
  held_.keys.clear();
}

std::string HelperLedger::Refusal(const std::string& federation, std::uint64_t epoch,
                                  const NoiseTerms& noise) const {
  if (rules_.most_epsilon > 0 &&
      (!noise.noisy() || noise.epsilon > rules_.most_epsilon || noise.delta > rules_.most_delta)) {
    return "the helper allows at most " + EpsilonWords(rules_.most_epsilon, rules_.most_delta) +
           ", the federation has " + WordsOf(noise);
  }
  if (held_.federation.empty()) return {};
  if (federation != held_.federation) {
    return "the helper's store belongs to another federation; start the helper with a new store";
  }
  if (epoch < held_.epoch) {
    return "epoch " + NumberText(epoch) + " is over: the helper is in epoch " +
           NumberText(held_.epoch);
  }
  if (held_.behind && epoch == held_.epoch) {
    return "the helper's log was restored from a backup: clients know of releases "
           "that it does not; " +
           StartAgain(noise);
  }
  if (epoch == held_.epoch && held_.numbers > 0 && noise != held_.noise) {
    return "in this epoch the helper has promised " + WordsOf(held_.noise) + ", and is told " +
           WordsOf(noise) + "; " + StartAgain(noise.noisy() ? noise : held_.noise);
  }
  return {};
}

HelperReply HelperLedger::Release(const ReleaseRequest& request, ClientKeys& keys) {
  try {
    LoggedRelease release{.request = request, .digest = DigestOf(request)};
    if (!IsNext(release))
      return {held_.refusal.empty() ? kAnswered : kRefused, held_.answer, held_.refusal};
    HelperReply reply{.kind = kAnswered};
    try {
      reply.streams = Judge(release, keys);
    } catch (const RefusedRelease& refused) {
      if (refused.kind != kRefused) throw;
      reply = {.kind = kRefused, .reason = refused.reason};
      release.refusal = refused.reason;
    }
    release.answer = reply.streams;
    log_.WriteRelease(release);
    Keep(release);
    return reply;
  } catch (const RefusedRelease& refused) {
    return {.kind = refused.kind, .reason = refused.reason};
  } catch (const DiskFull& full) {
    return {.kind = kLater,
            .reason = std::string("the helper cannot write its log: ") + full.what()};
  }
}

/// False: it is the newest one again. Refuses what is neither.
bool HelperLedger::IsNext(const LoggedRelease& release) {
  const ReleaseRequest& request = release.request;
  const auto refusal = [&] { return Refusal(request.federation, request.epoch, request.noise); };
  if (const std::string why = refusal(); !why.empty()) RefuseRelease(why);
  const std::uint64_t next = releases(request.epoch);
  const auto knows_more = [&](const NamedContribution& m) { return m.releases > next; };
  if (std::ranges::any_of(request.messages, knows_more)) {
    log_.WriteBehind(request.federation, request.epoch);
    held_ = log_.Contents();
    held_.keys.clear();
    RefuseRelease(refusal());
  }
  if (request.number + 1 == next && release.digest == held_.digest) return false;
  if (request.number != next) {
    RefuseRelease("release " + NumberText(request.number) + " cannot be made: " +
                  (request.number < next ? "the helper has already made it for another request"
                                         : "the helper has made " + NumberText(next) + " so far"));
  }
  return true;
}

/// The sum of the streams, unless a rule is against it.
std::vector<std::uint64_t> HelperLedger::Judge(LoggedRelease& release, ClientKeys& keys) {
  const ReleaseRequest& request = release.request;
  Tally tally = Count(request);
  CheckLeast(tally);
  request.noise.noisy() ? CheckBudget(request) : CheckDisclosure(request, tally);
  for (auto& [name, client] : tally.clients) {
    const ClientKeys::Found found = keys.Find(name);
    if (!found.key) {
      throw RefusedRelease{found.later ? kLater : kRefused, name + ": " + found.reason};
    }
    client.key = *found.key;
  }
  std::vector<std::uint64_t> sum = SumOfStreams(request, tally);
  if (request.noise.noisy()) {
    streams_ = std::exchange(sum, WithNoise(request, sum));
    release.streams = streams_;
  }
  release.unknowns = tally.new_unknowns;
  for (const auto& [name, client] : tally.clients) {
    release.next_steps.emplace(name, client.next_step);
  }
  return sum;
}

/// Who is in it, and with how much. No message of a client is in two releases of a kind.
HelperLedger::Tally HelperLedger::Count(const ReleaseRequest& request) const {
  Tally tally;
  std::vector<std::pair<std::string_view, std::uint64_t>> answers;
  answers.reserve(request.messages.size());
  for (const NamedContribution& message : request.messages) {
    if (!rules_.clients.contains(message.client)) {
      RefuseRelease(message.client + ": is not among the clients that the helper was given");
    }
    const auto last = held_.next_steps.find({message.client, request.kind});
    if (!IsNew(request.epoch) && last != held_.next_steps.end() && message.step < last->second) {
      RefuseRelease(message.client + ": step " + NumberText(message.step) +
                    " is not after those that were released");
    }
    answers.emplace_back(message.client, message.step);
    Tally::Client& client = tally.clients[message.client];
    client.samples += message.count.samples;
    client.next_step = std::max(client.next_step, message.step + 1);
    tally.samples += message.count.samples;
    tally.unknowns += message.count.unknowns;
    tally.new_unknowns += message.new_unknowns;
  }
  std::ranges::sort(answers);
  const auto twice = std::ranges::adjacent_find(answers);
  if (twice != answers.end()) {
    RefuseRelease(std::string(twice->first) + ": has two messages for step " +
                  NumberText(twice->second));
  }
  return tally;
}

void HelperLedger::CheckLeast(const Tally& tally) const {
  if (tally.clients.size() < std::max<std::size_t>(rules_.least_clients, 1)) {
    RefuseRelease("the sum has messages of " + NumberText(tally.clients.size()) +
                  " clients; the minimum is " + NumberText(rules_.least_clients));
  }
  std::uint64_t largest = 0;
  for (const auto& [name, client] : tally.clients) largest = std::max(largest, client.samples);
  if (tally.samples - largest < rules_.least_samples) {
    RefuseRelease("the sum has " + NumberText(tally.samples) + " samples, " +
                  NumberText(tally.samples - largest) +
                  " without its largest client; the minimum is " +
                  NumberText(rules_.least_samples));
  }
}

void HelperLedger::CheckDisclosure(const ReleaseRequest& request, const Tally& tally) const {
  const auto pays = [&](std::uint64_t unknowns, std::uint64_t numbers) {
    return static_cast<double>(numbers) <= rules_.disclosure * static_cast<double>(unknowns);
  };
  if (!pays(tally.unknowns, request.numbers)) {
    RefuseRelease(NumberText(request.numbers) + " numbers over " + NumberText(tally.unknowns) +
                  " unknowns are more than the disclosure that the helper allows");
  }
  const bool is_new = IsNew(request.epoch);
  const std::uint64_t numbers = request.numbers + (is_new ? 0 : held_.numbers);
  const std::uint64_t unknowns = tally.new_unknowns + (is_new ? 0 : held_.unknowns);
  if (!pays(unknowns, numbers)) {
    RefuseRelease(NumberText(numbers) + " numbers in all releases over " + NumberText(unknowns) +
                  " unknowns are more than the disclosure that the helper allows");
  }
}

/// With noise: all that was promised must hold, and the noise must be there.
void HelperLedger::CheckBudget(const ReleaseRequest& request) const {
  const NoiseTerms& noise = request.noise;
  if (request.kind != 0 || request.numbers != noise.numbers || request.ring != noise.ring) {
    RefuseRelease("noise was promised for sums of another layout");
  }
  if (noisy_releases(request.epoch) >= noise.releases) RefuseRelease(noise.AllSpent());
  if (!HasNoise(noise)) {
    throw RefusedRelease{kLater, "the helper has not drawn the noise of this release yet"};
  }
}

/// All that the server is told of the streams.
std::vector<std::uint64_t> HelperLedger::WithNoise(const ReleaseRequest& request,
                                                   const std::vector<std::uint64_t>& streams) {
  ReleaseHistory history(request.numbers);
  if (noisy_releases(request.epoch) > 0) history.Load(held_.streams);
  history.Add(streams);
  return std::exchange(noise_, nullptr)->Answer(history);
}

std::uint64_t HelperLedger::noisy_releases(std::uint64_t epoch) const {
  return IsNew(epoch) || !held_.noise.noisy() ? 0 : held_.streams.size() / held_.noise.numbers;
}

double HelperLedger::EpsilonSpent() const {
  if (!held_.noise.noisy()) return 0;
  return held_.noise.EpsilonSpent(held_.noise.Sigma(), noisy_releases(held_.epoch));
}

/// The server waits, and has nothing else to do: so all processors of the helper add up.
std::vector<std::uint64_t> HelperLedger::SumOfStreams(const ReleaseRequest& request,
                                                      const Tally& tally) {
  std::vector<const SecretKey*> pairs;
  for (const NamedContribution& m : request.messages) {
    pairs.push_back(&PairOf(request, m.client, tally.clients.at(m.client).key));
  }
  const std::size_t lanes = std::max<std::size_t>(
      1, std::min({pairs.size(), pairs.size() * request.numbers / kNumbersWorthAThread,
                   std::size_t{std::thread::hardware_concurrency()}}));
  std::vector<std::future<std::vector<std::uint64_t>>> others;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    // Where the system allows no thread it is done by get.
    others.push_back(std::async([&, lane] { return SumOfLane(request, pairs, lane, lanes); }));
  }
  std::vector<std::uint64_t> sum = SumOfLane(request, pairs, 0, lanes);
  for (auto& other : others) {
    std::ranges::transform(sum, other.get(), sum.begin(), [&](std::uint64_t a, std::uint64_t b) {
      return request.ring.Wrap(static_cast<std::int64_t>(a + b));
    });
  }
  return sum;
}

/// Made once for each client: to agree on a key takes longer than a stream.
const SecretKey& HelperLedger::PairOf(const ReleaseRequest& request, const std::string& client,
                                      const PublicKey& key) {
  const auto [found, made] = pairs_.try_emplace(client);
  Pair& pair = found->second;
  const std::string noise = BindingOf(request.noise);
  if (made || pair.epoch != request.epoch || pair.other != key || pair.noise != noise) {
    try {
      pair.key = PairKey(own_, key, {request.federation, request.epoch, client, name_, noise});
    } catch (const Error& error) {
      pairs_.erase(found);
      RefuseRelease(client + ": " + error.what());
    }
    pair.epoch = request.epoch;
    pair.noise = noise;
    pair.other = key;
  }
  return pair.key;
}

/// As the log has it now.
void HelperLedger::Keep(const LoggedRelease& release) {
  const ReleaseRequest& request = release.request;
  if (IsNew(request.epoch)) held_ = {.federation = request.federation, .epoch = request.epoch};
  ++held_.releases;
  if (release.refusal.empty()) held_.numbers += request.numbers;
  held_.unknowns += release.unknowns;
  if (!release.streams.empty()) held_.noise = request.noise;
  held_.streams.insert(held_.streams.end(), release.streams.begin(), release.streams.end());
  for (const auto& [client, step] : release.next_steps) {
    held_.next_steps[{client, request.kind}] = step;
  }
  held_.digest = release.digest;
  held_.answer.assign(release.answer.begin(), release.answer.end());
  held_.refusal = release.refusal;
}

}  // namespace polykern
