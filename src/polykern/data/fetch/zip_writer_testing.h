#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

namespace polykern {

/// For tests only: the bytes of a zip file with these members (name, content).
inline std::string ZipOf(const std::vector<std::pair<std::string, std::string>>& members,
                         bool compress = true) {
  std::size_t room = 100'000;
  for (const auto& member : members) room += 2 * member.second.size() + 1000;
  std::string bytes(room, '\0');
  std::size_t used = 0;
  const std::unique_ptr<struct archive, decltype(&archive_write_free)> zip(archive_write_new(),
                                                                           &archive_write_free);
  archive_write_set_format_zip(zip.get());
  if (!compress) archive_write_zip_set_compression_store(zip.get());
  archive_write_open_memory(zip.get(), bytes.data(), bytes.size(), &used);
  for (const auto& [name, content] : members) {
    const std::unique_ptr<struct archive_entry, decltype(&archive_entry_free)> entry(
        archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    archive_entry_set_perm(entry.get(), 0644);
    archive_write_header(zip.get(), entry.get());
    archive_write_data(zip.get(), content.data(), content.size());
  }
  archive_write_close(zip.get());
  bytes.resize(used);
  return bytes;
}

}  // namespace polykern
