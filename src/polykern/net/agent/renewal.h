#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace polykern {

/// Where a server's WebSockets for renewals are opened.
inline constexpr const char* kRenewalTarget = "/polykern/renew";

/// When a certificate that lasts from one of these times (seconds since 1970) to the other is to be
/// renewed: when a third of its life is left.
std::int64_t RenewalTime(std::int64_t issued, std::int64_t expires);

/// Asks the server of `polykern pki serve` at HOST:PORT for another certificate, for the name and
/// key in this client's folder, and puts it there in the place of client.crt. Returns when the new
/// one ends. Waits for the server, but not for ever. Throws Error if it does not answer, refuses,
/// or answers with anything but a certificate of this authority for the same name and key.
std::int64_t RenewCertificate(const std::string& server, const std::string& folder,
                              const std::stop_token& stop = {});

/// Does that when it is time, again and again, on a thread of its own, from construction to
/// destruction. What goes wrong is told, and tried again: soon at first, then less often.
class CertificateRenewal {
 public:
  /// `tell`: one line for people, from any thread; it may name options (core/error.h).
  CertificateRenewal(std::string server, std::string folder,
                     std::function<void(const std::string& line)> tell);
  ~CertificateRenewal();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
