#include "polykern/data/fetch/archive.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

#include "polykern/io/output_file.h"

namespace polykern {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16U;

/// Removes a file, if it is there, when created and when destroyed.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) { Remove(); }
  ~Scratch() { Remove(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  void Remove() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path_;
};

class Unpacker {
 public:
  Unpacker(std::span<const std::string> names, const std::string& folder,
           const UnpackOptions& options,
           const std::function<void(const std::string&, const std::string&)>& take)
      : names_(names), folder_(folder), options_(options), take_(take) {}

  void Open(const std::string& path, bool inner) {
    using Reader = std::unique_ptr<struct archive, decltype(&archive_read_free)>;
    const Reader reader(archive_read_new(), &archive_read_free);
    // The reader that wants the directory at the end: a zip that was cut off does not open at all.
    archive_read_support_format_zip_seekable(reader.get());
    if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) {
      ThrowDamaged(reader.get());
    }
    struct archive_entry* entry = nullptr;
    for (;;) {
      const int code = archive_read_next_header(reader.get(), &entry);
      if (code == ARCHIVE_EOF) return;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) ThrowDamaged(reader.get());
      if (++members_ > options_.most_members) {
        throw ArchiveError("the archive has more than " + std::to_string(options_.most_members) +
                           " members");
      }
      if (archive_entry_filetype(entry) != AE_IFREG) continue;
      const char* text = archive_entry_pathname(entry);
      const std::string_view whole = text == nullptr ? "" : text;
      const std::string name(whole.substr(whole.find_last_of("/\\") + 1));
      if (std::ranges::find(names_, name) != names_.end()) {
        const Scratch file(folder_ + "/.unpacked.part");
        Extract(reader.get(), file.path());
        take_(name, file.path());
      } else if (!inner && name.ends_with(".zip")) {
        const Scratch file(folder_ + "/.inner.zip.part");
        Extract(reader.get(), file.path());
        Open(file.path(), true);
      }
    }
  }

 private:
  [[noreturn]] static void ThrowDamaged(struct archive* reader) {
    const char* reason = archive_error_string(reader);
    throw ArchiveError(std::string("the archive is damaged or cut off (") +
                       (reason == nullptr ? "no reason given" : reason) + ")");
  }

  void Extract(struct archive* reader, const std::string& path) {
    OutputFile file(path);
    std::vector<char> block(kBlock);
    for (;;) {
      const la_ssize_t count = archive_read_data(reader, block.data(), block.size());
      if (count < 0) ThrowDamaged(reader);
      if (count == 0) break;
      written_ += static_cast<std::uint64_t>(count);
      if (written_ > options_.most_bytes) {
        throw ArchiveError("the archive unpacks to more than " +
                           std::to_string(options_.most_bytes) + " bytes");
      }
      file.Write(block.data(), static_cast<std::size_t>(count));
    }
    file.Sync();
  }

  std::span<const std::string> names_;
  const std::string& folder_;
  const UnpackOptions& options_;
  const std::function<void(const std::string&, const std::string&)>& take_;
  std::uint64_t written_ = 0;
  std::size_t members_ = 0;
};

}  // namespace

void Unpack(const std::string& archive, std::span<const std::string> names,
            const std::string& folder, const UnpackOptions& options,
            const std::function<void(const std::string& name, const std::string& file)>& take) {
  Unpacker(names, folder, options, take).Open(archive, false);
}

}  // namespace polykern
