#include "polykern/net/helper/release.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <tuple>

#include "polykern/io/checksum.h"

namespace polykern {
namespace {

/// Bytes that can be taken apart in one way only.
class DigestBytes {
 public:
  DigestBytes& Number(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<char>(number >> shift));
    }
    return *this;
  }
  DigestBytes& Text(std::string_view text) {
    Number(text.size());
    bytes_ += text;
    return *this;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

}  // namespace

ReleaseDigest DigestOf(const ReleaseRequest& request) {
  std::vector<const NamedContribution*> messages;
  messages.reserve(request.messages.size());
  for (const NamedContribution& message : request.messages) messages.push_back(&message);
  const auto key = [](const NamedContribution* m) {
    return std::tie(m->client, m->step, m->releases, m->count.samples, m->count.unknowns,
                    m->new_unknowns, m->nonce);
  };
  std::ranges::sort(messages, {}, key);
  DigestBytes all;
  all.Text("polykern release 1").Text(request.federation).Number(request.epoch);
  all.Number(request.number).Number(request.kind).Number(request.numbers);
  all.Number(request.ring.bits).Number(std::bit_cast<std::uint64_t>(request.ring.unit));
  all.Number(messages.size());
  for (const NamedContribution* m : messages) {
    all.Text(m->client).Number(m->step).Number(m->releases);
    all.Number(m->count.samples).Number(m->count.unknowns).Number(m->new_unknowns);
    all.Text({reinterpret_cast<const char*>(m->nonce.data()), m->nonce.size()});
  }
  if (request.noise.noisy()) all.Text(BindingOf(request.noise));
  return Sha256(all.bytes());
}

}  // namespace polykern
