#include "polykern/net/helper/helper_log.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/net/helper/helper_log_internal.h"
#include "polykern/net/helper/release_limits.h"

namespace polykern {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The newest answer; false: there is none that is whole.
bool ReadAnswer(Database& database, HelperContents& contents) {
  Statement query(database, "SELECT digest, sum, numbers, refusal FROM answer");
  if (!query.Next()) return false;
  const auto digest = query.Blob(0);
  const auto sum = query.Blob(1);
  const auto numbers = query.Blob(2);
  const auto wanted = Sha256(numbers);
  if (digest.size() != contents.digest.size() || numbers.size() % sizeof(std::uint64_t) != 0 ||
      !std::ranges::equal(sum, wanted)) {
    return false;
  }
  std::ranges::copy(digest, contents.digest.begin());
  contents.answer.resize(numbers.size() / sizeof(std::uint64_t));
  if (!numbers.empty()) std::memcpy(contents.answer.data(), numbers.data(), numbers.size());
  contents.refusal = query.Text(3);
  // An answer has as many numbers as noise was drawn for; a refusal has none.
  const std::size_t expected = !contents.refusal.empty() ? 0
                               : contents.noise.noisy()  ? contents.noise.numbers
                                                         : contents.answer.size();
  return contents.answer.size() == expected && contents.answer.size() <= contents.numbers;
}

/// A double is kept as its bits: nothing of it may be lost.
std::int64_t BitsOf(double number) {
  return std::bit_cast<std::int64_t>(number);
}

double FromBits(std::int64_t bits) {
  return std::bit_cast<double>(bits);
}

Database& WithNoiseTables(Database& database) {
  database.Run(kHelperNoiseTables);
  return database;
}

/// With the first of an epoch, what was promised.
void WriteStreams(Database& database, const LoggedRelease& release) {
  const NoiseTerms& noise = release.request.noise;
  Statement(database, "INSERT OR IGNORE INTO noise VALUES(0, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(1, BitsOf(noise.epsilon))
      .Bind(2, BitsOf(noise.delta))
      .Bind(3, Signed(noise.releases))
      .Bind(4, Signed(noise.samples_per_event))
      .Bind(5, Signed(noise.numbers))
      .Bind(6, Signed(noise.ring.bits))
      .Bind(7, BitsOf(noise.ring.unit))
      .Run();
  const auto bytes = std::as_bytes(release.streams);
  const auto sum = Sha256(bytes);
  Statement(database, "INSERT INTO stream(sum, numbers) VALUES(?, ?)")
      .Bind(1, std::span<const std::byte>(sum))
      .Bind(2, bytes)
      .Run();
}

/// False: they are not whole.
bool ReadStreams(Database& database, HelperContents& contents) {
  Statement terms(database,
                  "SELECT epsilon, delta, releases, samples, numbers, bits, unit FROM noise");
  if (terms.Next()) {
    contents.noise = {
        .epsilon = FromBits(terms.Integer(0)),
        .delta = FromBits(terms.Integer(1)),
        .releases = Unsigned(terms.Integer(2)),
        .samples_per_event = Unsigned(terms.Integer(3)),
        .numbers = Unsigned(terms.Integer(4)),
        .ring = {static_cast<unsigned>(terms.Integer(5)), FromBits(terms.Integer(6))}};
    if (!CanBeTerms(contents.noise)) return false;
  }
  Statement streams(database, "SELECT sum, numbers FROM stream ORDER BY id");
  while (streams.Next()) {
    const auto sum = streams.Blob(0);
    const auto numbers = streams.Blob(1);
    const auto wanted = Sha256(numbers);
    if (numbers.empty() || numbers.size() % sizeof(std::uint64_t) != 0 ||
        numbers.size() / sizeof(std::uint64_t) != contents.noise.numbers ||
        !std::ranges::equal(sum, wanted)) {
      return false;
    }
    const std::size_t before = contents.streams.size();
    if (before >= contents.noise.releases * contents.noise.numbers) return false;
    contents.streams.resize(before + contents.noise.numbers);
    std::memcpy(contents.streams.data() + before, numbers.data(), numbers.size());
  }
  return true;
}

class SqliteHelperLog final : public HelperLog {
 public:
  explicit SqliteHelperLog(const std::string& path)
      : file_(path, kHelperLogWords, kHelperLogFormat, [](Database&) {}),
        database_(WithNoiseTables(*file_)) {
    database_.Run("PRAGMA secure_delete = ON");  // with noise it has had secrets in it
  }

  HelperContents Contents() override {
    const Snapshot snapshot(database_);
    return ReadHelperContents(database_);
  }

  void WriteRelease(const LoggedRelease& release) override {
    const ReleaseRequest& request = release.request;
    Transaction transaction(database_);
    BeginEpoch(request.federation, request.epoch);
    count_release_.Bind(1, Signed(release.refusal.empty() ? request.numbers : 0))
        .Bind(2, Signed(release.unknowns))
        .Run();
    if (!release.streams.empty()) WriteStreams(database_, release);
    for (const auto& [client, step] : release.next_steps) {
      set_step_.Bind(1, client).Bind(2, Signed(request.kind)).Bind(3, Signed(step)).Run();
    }
    const auto bytes = std::as_bytes(release.answer);
    const auto sum = Sha256(bytes);
    set_answer_.Bind(1, std::span<const std::byte>(release.digest))
        .Bind(2, std::span<const std::byte>(sum))
        .Bind(3, bytes)
        .Bind(4, release.refusal)
        .Run();
    transaction.Commit();
  }

  void WriteBehind(const std::string& federation, std::uint64_t epoch) override {
    Transaction transaction(database_);
    BeginEpoch(federation, epoch);
    database_.Run("UPDATE state SET behind = 1");
    transaction.Commit();
  }

  void WriteKeys(const std::map<std::string, std::string>& keys) override {
    Transaction transaction(database_);
    Statement insert(database_, "INSERT OR REPLACE INTO mask_key VALUES(?, ?)");
    for (const auto& [client, key] : keys) insert.Bind(1, client).Bind(2, BytesOf(key)).Run();
    transaction.Commit();
  }

 private:
  /// Forgets the one before, if it is a new one.
  void BeginEpoch(const std::string& federation, std::uint64_t epoch) {
    Statement find(database_, "SELECT count(*) FROM state WHERE federation = ? AND epoch = ?");
    find.Bind(1, federation).Bind(2, Signed(epoch));
    if (find.Next() && find.Integer(0) == 1) return;
    database_.Run(
        "DELETE FROM state; DELETE FROM answer; DELETE FROM client;"
        "DELETE FROM noise; DELETE FROM stream");
    Statement insert(database_, "INSERT INTO state VALUES(0, ?, ?, 0, 0, 0, 0)");
    insert.Bind(1, federation).Bind(2, Signed(epoch)).Run();
  }

  OwnedDatabase file_;
  Database& database_;
  Statement count_release_{database_,
                           "UPDATE state SET releases = releases + 1, numbers = numbers + ?1, "
                           "unknowns = unknowns + ?2"};
  Statement set_step_{database_, "INSERT OR REPLACE INTO client VALUES(?, ?, ?)"};
  Statement set_answer_{database_, "INSERT OR REPLACE INTO answer VALUES(0, ?, ?, ?, ?)"};
};

}  // namespace

HelperContents ReadHelperContents(Database& database) {
  HelperContents contents;
  Statement state(database,
                  "SELECT federation, epoch, releases, behind, numbers, unknowns FROM state");
  if (state.Next()) {
    contents.federation = state.Text(0);
    contents.epoch = Unsigned(state.Integer(1));
    contents.releases = Unsigned(state.Integer(2));
    contents.behind = state.Integer(3) != 0;
    contents.numbers = Unsigned(state.Integer(4));
    contents.unknowns = Unsigned(state.Integer(5));
  }
  Statement clients(database, "SELECT name, kind, next_step FROM client");
  while (clients.Next()) {
    contents.next_steps.emplace(
        ClientKind{clients.Text(0), static_cast<std::uint32_t>(clients.Integer(1))},
        Unsigned(clients.Integer(2)));
  }
  Statement keys(database, "SELECT client, key FROM mask_key");
  while (keys.Next()) {
    const auto key = keys.Blob(1);
    contents.keys.emplace(keys.Text(0),
                          std::string(reinterpret_cast<const char*>(key.data()), key.size()));
  }
  if (!ReadStreams(database, contents) ||
      ReadAnswer(database, contents) != (contents.releases > 0)) {
    throw Error(database.path() + ": the helper's log is damaged: its answers are not whole; " +
                kHelperLogWords.remedy);
  }
  return contents;
}

std::unique_ptr<HelperLog> OpenHelperLog(const std::string& path) {
  return std::make_unique<SqliteHelperLog>(path);
}

}  // namespace polykern
