#include "polykern/net/agent/renewal.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/pki/dates.h"
#include "polykern/net/transport/client_stream.h"

namespace polykern {
namespace {

using std::chrono::seconds;

constexpr seconds kRenewalPatience{20};
constexpr seconds kLongestRenewalPause{600};
constexpr std::size_t kLongestCertificate = 16'384;

/// Waits for one message.
class Asked final : public ClientStream::Handler {
 public:
  bool Received(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    answer_ = std::string(bytes);
    return false;
  }
  void Ended(const Ending& ending) override {
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }
  /// Throws Error if none comes.
  std::string Wait(ClientStream& stream) {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return ending_.has_value(); };
    if (!changed_.wait_for(lock, kRenewalPatience, ended)) {
      lock.unlock();
      stream.Cancel();
      lock.lock();
      changed_.wait(lock, ended);
    }
    if (answer_) return *answer_;
    throw Error(ending_->reason.empty() ? "no answer was received" : ending_->reason);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> answer_;
  std::optional<Ending> ending_;
};

std::string Ask(const std::string& server, const ClientIdentity& own, const std::stop_token& stop) {
  Loop loop;
  Asked asked;
  ClientStream stream(loop,
                      {.server = server,
                       .tls = MakeClientTls(own),
                       .target = kRenewalTarget,
                       .longest_message = kLongestCertificate},
                      asked);
  const std::stop_callback cancel(stop, [&stream] { stream.Cancel(); });
  stream.Begin("renew");
  return asked.Wait(stream);
}

}  // namespace

std::int64_t RenewalTime(std::int64_t issued, std::int64_t expires) {
  return expires - (expires - issued) / 3;
}

std::int64_t RenewCertificate(const std::string& server, const std::string& folder,
                              const std::stop_token& stop) {
  const std::int64_t now = std::time(nullptr);
  const ClientIdentity own = ReadClientIdentity(folder, now);
  const std::string path = folder + "/client.crt";
  std::string fresh;
  try {
    fresh = Ask(server, own, stop);
  } catch (const Error& error) {
    throw Error(server + ": " + error.marked());
  }
  const std::string name = ReadCertificate(own.certificate, path).name;
  const AdmissionResult judged = CheckCertificate(fresh, Role::kClient, own.authority);
  if (judged.name != name) {
    throw Error(server + ": answered with something that is not a certificate for " + name +
                "; does `polykern pki serve` listen there?");
  }
  CheckKeyPair({fresh, own.key}, "the new certificate of " + server, path);
  ReplaceFile(path, fresh, FileMode::kOpen);
  return judged.valid_until;
}

class CertificateRenewal::Impl {
 public:
  Impl(std::string server, std::string folder, std::function<void(const std::string&)> tell)
      : server_(std::move(server)), folder_(std::move(folder)), tell_(std::move(tell)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

 private:
  void Run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    seconds pause{1};
    std::string told;
    while (!stop.stop_requested()) {
      seconds wait{1};
      try {
        if (const std::int64_t due = Due(); due > std::time(nullptr)) {
          wait = std::min(seconds(due - std::time(nullptr)), kLongestRenewalPause);
        } else {
          const std::int64_t until = RenewCertificate(server_, folder_, stop);
          tell_("certificate renewed until " + TimeText(until) + " UTC");
          pause = seconds(1);
          told.clear();
        }
      } catch (const Error& error) {
        wait = std::exchange(pause, std::min(2 * pause, kLongestRenewalPause));
        if (told != error.marked()) tell_("certificate not renewed: " + error.marked());
        told = error.marked();
      }
      std::unique_lock lock(mutex);
      wake.wait_for(lock, stop, wait, [] { return false; });
    }
  }

  /// Of the certificate that is there now.
  std::int64_t Due() const {
    const std::string path = folder_ + "/client.crt";
    const CertificateFacts facts = ReadCertificate(ReadWholeFile(path), path);
    return RenewalTime(facts.valid.from + kCertificateClockSlack, facts.valid.until);
  }

  const std::string server_;
  const std::string folder_;
  const std::function<void(const std::string&)> tell_;
  std::jthread thread_;  // last: ends first
};

CertificateRenewal::CertificateRenewal(std::string server, std::string folder,
                                       std::function<void(const std::string& line)> tell)
    : impl_(std::make_unique<Impl>(std::move(server), std::move(folder), std::move(tell))) {}

CertificateRenewal::~CertificateRenewal() = default;

}  // namespace polykern
