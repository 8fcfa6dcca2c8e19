// A store that is not what it was.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory_file.h"
#include "polykern/io/checksum.h"
#include "polykern/net/sqlite/store_format_internal.h"

namespace {

using namespace polykern;

/// The bytes of a small store: two states, three clients, some events.
std::vector<std::uint8_t> GoodStore() {
  const MemoryFile file;
  {
    Database database(file.path(), Database::Mode::kWrite);
    database.Run("PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY");
    database.Run(kStoreSchema);
    database.Run(
        "INSERT INTO configuration VALUES('algorithm', 'pof-mkl'), ('seed', '1');"
        "INSERT INTO step VALUES(1, 2, 1000), (2, 3, 2000);"
        "INSERT INTO client(number, name, first_seen, last_seen) VALUES"
        "(0, 'a', 1, 2), (1, 'b', 3, 4), (2, 'c', 5, 6);"
        "INSERT INTO event(time, client, event, detail) VALUES(1, 'a', 'joined', 'at step 0')");
    const std::array<double, 4> numbers = {1, -2, 3.5, 0};
    const auto bytes = std::as_bytes(std::span(numbers));
    const auto sum = Sha256(bytes);
    for (const std::int64_t steps : {1, 2}) {
      Statement insert(database, "INSERT INTO state VALUES(?, ?, ?)");
      insert.Bind(1, steps).Bind(2, std::span<const std::byte>(sum)).Bind(3, bytes).Run();
    }
    database.Run(("PRAGMA application_id = " + std::to_string(kStoreApplication)).c_str());
    database.Run(("PRAGMA user_version = " + std::to_string(kStoreVersion)).c_str());
  }
  if (ReadSqliteStore(file.path()).clients.size() != 3) std::abort();
  return file.Read();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  static const std::vector<std::uint8_t> good = GoodStore();
  const std::vector<std::uint8_t> bytes = Damaged(good, data, size);
  file.Write(bytes.data(), bytes.size());
  try {
    ReadSqliteStore(file.path());
  } catch (const Error&) {
  }
  return 0;
}
