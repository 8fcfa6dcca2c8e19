// A helper's log that is not what it was.

#include <cstdint>
#include <string>
#include <vector>

#include "memory_file.h"
#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/net/helper/helper_log_internal.h"

namespace {

using namespace polykern;

HelperContents Read(const std::string& path) {
  Database database(path, Database::Mode::kRead, kHelperLogWords);
  const Snapshot snapshot(database);
  CheckFormat(database, kHelperLogFormat, false);
  return ReadHelperContents(database);
}

/// The bytes of a small log: an epoch with three releases of two kinds, two keys, and noise.
std::vector<std::uint8_t> GoodLog() {
  const MemoryFile file;
  {
    Database database(file.path(), Database::Mode::kWrite);
    database.Run("PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY");
    database.Run(kHelperLogFormat.schema);
    database.Run(kHelperNoiseTables);
    database.Run(
        "INSERT INTO state VALUES(0, '0123456789abcdef', 1, 3, 0, 60, 960);"
        "INSERT INTO client VALUES('a', 0, 1), ('a', 4, 3), ('b', 4, 2);"
        "INSERT INTO mask_key VALUES('a', x'0102'), ('b', x'');"
        "INSERT INTO noise VALUES(0, 4607182418800017408, 4517329193108106637, 64, 1, 3, 64, "
        "4535124824762089472)");
    const std::vector<std::uint64_t> numbers = {1, 2, UINT64_MAX};
    const auto bytes = std::as_bytes(std::span(numbers));
    const auto sum = Sha256(bytes);
    Statement insert(database, "INSERT INTO answer VALUES(0, ?, ?, ?, '')");
    insert.Bind(1, std::span<const std::byte>(sum))
        .Bind(2, std::span<const std::byte>(sum))
        .Bind(3, bytes)
        .Run();
    Statement(database, "INSERT INTO stream(sum, numbers) VALUES(?, ?)")
        .Bind(1, std::span<const std::byte>(sum))
        .Bind(2, bytes)
        .Run();
    database.Run(
        ("PRAGMA application_id = " + std::to_string(kHelperLogFormat.application)).c_str());
    database.Run(("PRAGMA user_version = " + std::to_string(kHelperLogFormat.version)).c_str());
  }
  if (Read(file.path()).next_steps.size() != 3) std::abort();
  return file.Read();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const std::vector<std::uint8_t> good = GoodLog();
  const std::vector<std::uint8_t> bytes = Damaged(good, data, size);
  file.Write(bytes.data(), bytes.size());
  try {
    Read(file.path());
  } catch (const Error&) {
  }
  return 0;
}
