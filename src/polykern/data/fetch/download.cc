#include "polykern/data/fetch/download.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <curl/curl.h>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/io/output_file.h"

namespace polykern {
namespace {

constexpr curl_off_t kFewestBytesPerSecond = 100;
constexpr long kMostRedirects = 5;

std::string Memory(const std::string& path) {
  return path + ".from";
}

/// The ETag or date of the file whose beginning `path` holds, empty if none is known; nothing if it
/// holds no beginning of `url`.
std::optional<std::string> RememberedValidator(const std::string& url, const std::string& path) {
  std::ifstream file(Memory(path));
  std::string address;
  std::string validator;
  if (!std::getline(file, address) || address != url) return std::nullopt;
  std::getline(file, validator);
  return validator;
}

/// The value of a header line with this name (in small letters), or nothing.
std::optional<std::string> HeaderValue(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (Lowered(line.substr(0, name.size())) != name) return std::nullopt;
  line.remove_prefix(name.size() + 1);
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::string();
  return std::string(line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1));
}

std::uint64_t Number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// One request and its answer.
class Transfer {
 public:
  Transfer(const std::string& url, const std::string& path, const DownloadOptions& options,
           const DownloadProgress& progress)
      : url_(url), path_(path), options_(options), progress_(progress), file_(path) {
    const std::optional<std::string> validator = RememberedValidator(url, path);
    if (!validator && file_.size() > 0) file_.Clear();
    from_ = file_.size();
    if (validator) asked_ = *validator;
  }

  /// Why it failed, and whether that may pass; nothing if the whole file is there.
  struct Failure {
    std::string text;
    bool may_pass = false;
  };
  std::optional<Failure> Run();

  bool resumed() const { return resumed_; }
  std::uint64_t size() const { return file_.size(); }

 private:
  static std::size_t OnHeader(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t OnBody(char* bytes, std::size_t one, std::size_t count, void* self);
  static int OnProgress(void* self, curl_off_t total, curl_off_t done, curl_off_t up_total,
                        curl_off_t up_done);
  void TakeHeader(std::string_view line);
  void TakeBody(const char* bytes, std::size_t count);
  /// Decides, before the first byte of the body, whether the file continues or starts again.
  void BeginBody();
  std::optional<Failure> Judge(CURLcode code, const char* reason);

  const std::string& url_;
  const std::string& path_;
  const DownloadOptions& options_;
  const DownloadProgress& progress_;
  OutputFile file_;
  std::uint64_t from_ = 0;  ///< bytes there before
  std::string asked_;       ///< the validator of these bytes
  bool resumed_ = false;

  CURL* curl_ = nullptr;
  std::string etag_;  ///< of the answer, as everything below
  std::string date_;
  std::string content_range_;
  std::uint64_t total_ = 0;
  long status_ = 0;
  bool body_begun_ = false;
  bool wrong_part_ = false;  ///< the server sent another part than the one asked for
  std::exception_ptr thrown_;

  std::chrono::steady_clock::time_point watched_since_{};
  curl_off_t watched_from_ = 0;  ///< bytes that had come then
};

std::size_t Transfer::OnHeader(char* bytes, std::size_t one, std::size_t count, void* self) {
  static_cast<Transfer*>(self)->TakeHeader({bytes, one * count});
  return one * count;
}

std::size_t Transfer::OnBody(char* bytes, std::size_t one, std::size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  try {
    transfer->TakeBody(bytes, one * count);
    return transfer->wrong_part_ ? 0 : one * count;
  } catch (...) {  // may not fly through C
    transfer->thrown_ = std::current_exception();
    return 0;
  }
}

/// Gives up when too little came for the length of the timeout. (libcurl's own watch on low speed
/// looks at means over several seconds and is late by as much.)
int Transfer::OnProgress(void* self, curl_off_t /*total*/, curl_off_t done, curl_off_t /*up_total*/,
                         curl_off_t /*up_done*/) {
  auto* const transfer = static_cast<Transfer*>(self);
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::seconds timeout = transfer->options_.timeout;
  if (done - transfer->watched_from_ >= kFewestBytesPerSecond * timeout.count()) {
    transfer->watched_from_ = done;
    transfer->watched_since_ = now;
  }
  return now - transfer->watched_since_ > timeout ? 1 : 0;
}

void Transfer::TakeHeader(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // the answer after a redirect starts again
    etag_.clear();
    date_.clear();
    content_range_.clear();
    total_ = 0;
  }
  if (const auto etag = HeaderValue(line, "etag")) etag_ = *etag;
  if (const auto date = HeaderValue(line, "last-modified")) date_ = *date;
  if (const auto range = HeaderValue(line, "content-range")) content_range_ = *range;
  if (const auto length = HeaderValue(line, "content-length")) total_ = Number(*length);
}

void Transfer::BeginBody() {
  body_begun_ = true;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status_);
  if (status_ == 206) {
    wrong_part_ = !content_range_.starts_with("bytes " + std::to_string(from_) + "-");
    const std::size_t slash = content_range_.find('/');
    total_ =
        slash == std::string::npos ? 0 : Number(std::string_view(content_range_).substr(slash + 1));
    resumed_ = true;
  } else if (status_ == 200) {
    file_.Clear();
    // Only a strong ETag may guard a continuation; a date is the next best.
    OutputFile memory(Memory(path_));
    memory.Clear();
    const std::string text = url_ + "\n" + (etag_.starts_with('"') ? etag_ : date_) + "\n";
    memory.Write(text.data(), text.size());
  }
}

void Transfer::TakeBody(const char* bytes, std::size_t count) {
  if (!body_begun_) BeginBody();
  if (wrong_part_ || (status_ != 200 && status_ != 206)) return;  // an error page
  if (file_.size() + count > options_.most_bytes) {
    throw Error(url_ + ": more than " + std::to_string(options_.most_bytes) +
                " bytes arrived, more than the file can have; check the address");
  }
  file_.Write(bytes, count);
  if (progress_) progress_(file_.size(), total_);
}

std::optional<Transfer::Failure> Transfer::Judge(CURLcode code, const char* reason) {
  const std::string got = std::to_string(file_.size()) +
                          (total_ > 0 ? " of " + std::to_string(total_) : std::string()) + " bytes";
  switch (code) {
    case CURLE_OK:
      break;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
      return Failure{"the server sends nothing, or too slowly (" + got + ", waited " +
                         std::to_string(options_.timeout.count()) + " s)",
                     true};
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return Failure{"the connection was lost after " + got, true};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return Failure{std::string("no connection (") + reason + "); check the network", true};
    default:
      return Failure{std::string("download failed (") + reason + "); check the address", false};
  }
  if (status_ == 200 || status_ == 206) {
    if (total_ == 0 || file_.size() == total_) return std::nullopt;
    file_.Clear();  // a part of another file than the one before
    return Failure{"the file changed during the download", true};
  }
  if (status_ == 416) {  // nothing behind what we have: is it all?
    if (from_ > 0 && content_range_ == "bytes */" + std::to_string(from_)) {
      resumed_ = true;
      return std::nullopt;
    }
    file_.Clear();
    return Failure{"the file changed during the download", true};
  }
  const bool may_pass = status_ == 408 || status_ == 429 || status_ >= 500;
  return Failure{
      "the server answers " + std::to_string(status_) +
          (status_ == 404 ? " (not found); the file may have moved: see " + OptionName("from")
           : may_pass     ? " (it cannot serve this now); try again later"
                          : " (it refuses); check the address"),
      may_pass};
}

std::optional<Transfer::Failure> Transfer::Run() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   &curl_easy_cleanup);
  if (ready != CURLE_OK || handle == nullptr)
    throw Error("libcurl cannot be started; reinstall it");
  curl_ = handle.get();
  char reason[CURL_ERROR_SIZE] = "";
  struct curl_slist* headers = nullptr;
  const auto timeout = static_cast<long>(options_.timeout.count());
  curl_easy_setopt(curl_, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl_, CURLOPT_USERAGENT, "polykern");
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl_, CURLOPT_REDIR_PROTOCOLS_STR,
                   url_.starts_with("http:") ? "http,https" : "https");
  curl_easy_setopt(curl_, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl_, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, timeout);
  curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
  if (from_ > 0) {
    // A plain Range: CURLOPT_RESUME_FROM would refuse a server that sends the whole file instead.
    curl_easy_setopt(curl_, CURLOPT_RANGE, (std::to_string(from_) + "-").c_str());
    if (!asked_.empty()) headers = curl_slist_append(headers, ("If-Range: " + asked_).c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
  }
  watched_since_ = std::chrono::steady_clock::now();
  const CURLcode code = curl_easy_perform(curl_);
  curl_slist_free_all(headers);
  if (thrown_) std::rethrow_exception(thrown_);
  if (code == CURLE_OK && !body_begun_) BeginBody();  // a body without a byte
  if (wrong_part_) {
    file_.Clear();
    return Failure{"the server sent a different part from the one requested", true};
  }
  auto failure = Judge(code, *reason == '\0' ? curl_easy_strerror(code) : reason);
  if (!failure) file_.Sync();
  return failure;
}

}  // namespace

bool Download(const std::string& url, const std::string& path, const DownloadOptions& options,
              const DownloadProgress& progress) {
  auto wait = options.first_wait;
  for (std::size_t attempt = 0;; ++attempt, wait *= 2) {
    Transfer transfer(url, path, options, progress);
    const auto failure = transfer.Run();
    if (!failure) return transfer.resumed();
    if (!failure->may_pass || attempt == options.retries) {
      const bool begun = transfer.size() > 0;
      if (!begun) ForgetDownload(path);
      throw Error(url + ": " + failure->text +
                  (begun ? "; run the same command again to resume" : ""));
    }
    std::this_thread::sleep_for(wait);
  }
}

void ForgetDownload(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(Memory(path), ignored);
}

}  // namespace polykern
