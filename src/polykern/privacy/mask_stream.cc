#include "polykern/privacy/mask_stream.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "polykern/privacy/crypto_internal.h"

namespace polykern {
namespace {

// Of a stream at once: enough for OpenSSL's widest loop, and little enough for the first cache.
constexpr std::size_t kBlockBytes = 8192;
constexpr std::array<std::uint8_t, kBlockBytes> kZeros{};

template <typename Integer>
Integer LowestFirst(const std::uint8_t* bytes) {
  Integer number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&number, bytes, sizeof number);
  } else {
    for (std::size_t i = sizeof number; i-- > 0;) number = (number << 8U) | bytes[i];
  }
  return number;
}

/// Writes fields of fixed size one behind the other.
class FixedFields {
 public:
  explicit FixedFields(std::span<std::uint8_t> room) : at_(room.data()), end_(at_ + room.size()) {}
  FixedFields& Number(std::uint64_t number) {
    // Read as the lowest first: so they are written as the lowest first.
    const auto turned = LowestFirst<std::uint64_t>(reinterpret_cast<std::uint8_t*>(&number));
    std::memcpy(at_, &turned, sizeof turned);
    at_ += sizeof turned;
    return *this;
  }
  FixedFields& Bytes(std::span<const std::uint8_t> bytes) {
    at_ = std::ranges::copy(bytes, at_).out;
    return *this;
  }
  bool full() const { return at_ == end_; }

 private:
  std::uint8_t* at_;
  std::uint8_t* end_;
};

/// 8 bytes of each, the lowest first.
void AddLowestFirst(std::span<const std::uint64_t> integers, Hmac& hmac) {
  if constexpr (std::endian::native == std::endian::little) {
    hmac.Add({reinterpret_cast<const std::uint8_t*>(integers.data()), integers.size_bytes()});
  } else {
    std::array<std::uint8_t, 8> bytes{};
    for (const std::uint64_t integer : integers) {
      FixedFields(bytes).Number(integer);
      hmac.Add(bytes);
    }
    Wipe(bytes);
  }
}

constexpr std::array<std::uint8_t, 16> kStreamPurpose = {'p', 'o', 'l', 'y', 'k', 'e', 'r', 'n',
                                                         ' ', 'm', 'a', 's', 'k', ' ', '1', 0};

}  // namespace

MaskNonce MessageNonce(const SecretKey& own, std::uint64_t turn,
                       std::span<const std::uint64_t> integers) {
  Hmac hmac;
  hmac.Start(own.bytes);
  hmac.Add(Encoding("polykern nonce 1").Number(turn).Number(integers.size()).bytes());
  AddLowestFirst(integers, hmac);
  const auto sum = hmac.End();
  MaskNonce nonce{};
  std::copy_n(sum.begin(), nonce.size(), nonce.begin());
  return nonce;
}

struct KeyStream::Impl {
  CryptoPtr<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> context{EVP_CIPHER_CTX_new()};
  std::array<std::uint8_t, kBlockBytes> block{};
};

KeyStream::KeyStream(unsigned bits) : bits_(bits), impl_(std::make_unique<Impl>()) {
  assert(bits == 32 || bits == 64);
  static const CryptoPtr<EVP_CIPHER, EVP_CIPHER_free> kCipher(
      EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr));
  RequireCrypto(
      impl_->context != nullptr && kCipher != nullptr &&
          EVP_EncryptInit_ex2(impl_->context.get(), kCipher.get(), nullptr, nullptr, nullptr) == 1,
      "compute ChaCha20");
}

KeyStream::~KeyStream() {
  Wipe(impl_->block);
}

template <typename Integer, typename Combine>
void KeyStream::Each(const SecretKey& key, std::span<std::uint64_t> numbers, Combine combine) {
  constexpr std::size_t kPerBlock = kBlockBytes / sizeof(Integer);
  constexpr std::array<std::uint8_t, 16> kStart{};  // the block's number, and the nonce
  EVP_CIPHER_CTX* const context = impl_->context.get();
  RequireCrypto(EVP_EncryptInit_ex(context, nullptr, nullptr, key.bytes.data(), kStart.data()) == 1,
                "compute ChaCha20");
  const std::uint8_t* const block = impl_->block.data();
  while (!numbers.empty()) {
    const std::size_t count = std::min(numbers.size(), kPerBlock);
    int size = 0;
    RequireCrypto(EVP_EncryptUpdate(context, impl_->block.data(), &size, kZeros.data(),
                                    static_cast<int>(count * sizeof(Integer))) == 1,
                  "compute ChaCha20");
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<Integer>(
          combine(numbers[i], LowestFirst<Integer>(block + i * sizeof(Integer))));
    }
    numbers = numbers.subspan(count);
  }
}

void KeyStream::Add(const SecretKey& key, std::span<std::uint64_t> numbers) {
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  bits_ == 32 ? Each<std::uint32_t>(key, numbers, plus) : Each<std::uint64_t>(key, numbers, plus);
}

void KeyStream::Subtract(const SecretKey& key, std::span<std::uint64_t> numbers) {
  const auto minus = [](std::uint64_t a, std::uint64_t b) { return a - b; };
  bits_ == 32 ? Each<std::uint32_t>(key, numbers, minus) : Each<std::uint64_t>(key, numbers, minus);
}

struct MaskStream::Impl {
  Hmac hmac;
};

MaskStream::MaskStream(std::uint64_t epoch, unsigned bits, double unit)
    : epoch_(epoch),
      bits_(bits),
      unit_(std::bit_cast<std::uint64_t>(unit)),
      stream_(bits),
      impl_(std::make_unique<Impl>()) {}

MaskStream::~MaskStream() = default;

SecretKey MaskStream::KeyOf(const SecretKey& pair, const MaskedSum& sum, std::size_t numbers) {
  std::array<std::uint8_t, 16 + 10 * 8 + 16> message{};
  FixedFields fields(message);
  fields.Bytes(kStreamPurpose).Number(epoch_).Number(bits_).Number(unit_).Number(sum.turn);
  fields.Number(sum.kind).Number(numbers).Number(sum.samples).Number(sum.unknowns);
  fields.Number(sum.new_unknowns).Number(sum.releases);
  fields.Bytes(sum.nonce);
  assert(fields.full());
  impl_->hmac.Start(pair.bytes);
  impl_->hmac.Add(message);
  return {impl_->hmac.End()};
}

void MaskStream::Add(const SecretKey& pair, const MaskedSum& sum,
                     std::span<std::uint64_t> numbers) {
  stream_.Add(KeyOf(pair, sum, numbers.size()), numbers);
}

void MaskStream::Subtract(const SecretKey& pair, const MaskedSum& sum,
                          std::span<std::uint64_t> numbers) {
  stream_.Subtract(KeyOf(pair, sum, numbers.size()), numbers);
}

}  // namespace polykern
