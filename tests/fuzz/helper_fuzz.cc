// Any bytes as a message to a helper (first byte even) or from it. What is a message must survive
// being encoded again; a release that can be is put to a helper, which may refuse it, but must not
// do harm, and gives the same request the same answer.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <variant>

#include "polykern/core/error.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/helper/helper_wire.h"

namespace {

using namespace polykern;

void Require(bool holds) {
  if (!holds) std::abort();
}

/// Everybody has the same key.
class OneKey final : public ClientKeys {
 public:
  Found Find(const std::string&) override { return {.key = key_}; }

 private:
  const PublicKey key_ = MakeMaskKeys().open;
};

void Ask(const ReleaseRequest& request) {
  if (request.numbers > 100) return;  // takes long, and is the same
  static const MaskKeys own = MakeMaskKeys();
  static OneKey keys;
  MemoryHelperLog log;
  HelperLedger ledger({.clients = {"a", "b", "c", "d"}, .least_samples = 2}, kTestHelper,
                      own.secret, log);
  try {
    if (request.noise.noisy() && request.noise.numbers <= 100) {
      ledger.Use(std::make_unique<HelperNoise>(request.noise));
    }
  } catch (const Error&) {  // no noise is large enough
  }
  const HelperReply reply = ledger.Release(request, keys);
  const bool answered = reply.kind == HelperReply::Kind::kAnswered;
  Require(answered == (reply.streams.size() == request.numbers));
  Require(answered == reply.reason.empty());
  Require(log.contents.numbers == (answered ? request.numbers : 0U));
  Require(ledger.Release(request, keys).streams == reply.streams);
}

template <typename Message, typename Decode>
void UseMessage(std::string_view bytes, Decode decode) {
  const Message message = decode(bytes);
  std::visit(
      [&](const auto& m) {
        const std::string once = Encode(m);
        const Message again = decode(once);
        Require(Encode(std::get<std::decay_t<decltype(m)>>(again)) == once);
      },
      message);
  if constexpr (std::is_same_v<Message, ToHelper>) {
    if (const auto* question = std::get_if<HelperQuestion>(&message)) Ask(question->release);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) {
      UseMessage<ToHelper>(bytes, DecodeToHelper);
    } else {
      UseMessage<FromHelper>(bytes, DecodeFromHelper);
    }
  } catch (const Error&) {  // the answer to nonsense
  }
  return 0;
}
