#include "polykern/privacy/mask_stream.h"

#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/privacy/hex_testing.h"

namespace polykern {
namespace {

using Words = std::array<std::uint32_t, 16>;

void QuarterRound(Words& s, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  s[a] += s[b], s[d] = std::rotl(s[d] ^ s[a], 16);
  s[c] += s[d], s[b] = std::rotl(s[b] ^ s[c], 12);
  s[a] += s[b], s[d] = std::rotl(s[d] ^ s[a], 8);
  s[c] += s[d], s[b] = std::rotl(s[b] ^ s[c], 7);
}

std::uint32_t WordAt(std::span<const std::uint8_t> bytes, std::size_t i) {
  std::uint32_t word = 0;
  for (std::size_t b = 4; b-- > 0;) word = word * 256 + bytes[4 * i + b];
  return word;
}

/// The slow twin: one block of ChaCha20 as RFC 8439, section 2.3, describes it.
std::vector<std::uint8_t> ChaChaBlock(std::span<const std::uint8_t> key, std::uint32_t counter,
                                      std::span<const std::uint8_t> nonce) {
  Words start = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (std::size_t i = 0; i < 8; ++i) start[4 + i] = WordAt(key, i);
  start[12] = counter;
  for (std::size_t i = 0; i < 3; ++i) start[13 + i] = WordAt(nonce, i);
  Words state = start;
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 4; ++i) QuarterRound(state, i, 4 + i, 8 + i, 12 + i);
    for (std::size_t i = 0; i < 4; ++i) {
      QuarterRound(state, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::uint32_t word = state[i] + start[i], b = 0; b < 4; ++b, word /= 256) {
      bytes.push_back(static_cast<std::uint8_t>(word));
    }
  }
  return bytes;
}

/// The stream of a key by the twin, as integers.
std::vector<std::uint64_t> SlowStream(const SecretKey& key, unsigned bits, std::size_t count) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t block = 0; bytes.size() < count * bits / 8; ++block) {
    const auto next = ChaChaBlock(key.bytes, block, std::array<std::uint8_t, 12>{});
    bytes.insert(bytes.end(), next.begin(), next.end());
  }
  std::vector<std::uint64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = bits / 8; b-- > 0;) {
      numbers[i] = numbers[i] * 256 + bytes[i * bits / 8 + b];
    }
  }
  return numbers;
}

SecretKey RandomKey(Random& random) {
  SecretKey key;
  for (std::uint8_t& byte : key.bytes) byte = static_cast<std::uint8_t>(random.Bits());
  return key;
}

MaskedSum RandomSum(Random& random) {
  MaskedSum sum{random.Bits(), static_cast<std::uint32_t>(random.Bits()),
                random.Bits(), random.Bits(),
                random.Bits(), random.Bits()};
  for (std::uint8_t& byte : sum.nonce) byte = static_cast<std::uint8_t>(random.Bits());
  return sum;
}

/// A block of a key's stream, through the code that masks.
std::string FastBlock(const SecretKey& key, std::size_t block) {
  std::vector<std::uint64_t> numbers(8 * (block + 1));
  KeyStream(64).Add(key, numbers);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 8 * block; i < numbers.size(); ++i) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>(numbers[i] >> shift));
    }
  }
  return ToHex(bytes);
}

// RFC 8439, appendix A.1, test vectors 1 to 4.
TEST(KeyStream, IsThatOfTheStandard) {
  const SecretKey zero;
  EXPECT_EQ(FastBlock(zero, 0),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586");
  EXPECT_EQ(FastBlock(zero, 1),
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f");
  SecretKey last;
  last.bytes[31] = 1;
  EXPECT_EQ(FastBlock(last, 1),
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
            "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0");
  SecretKey second;
  second.bytes[1] = 0xff;
  EXPECT_EQ(FastBlock(second, 2),
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
            "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096");
}

// Section 2.3.2: with a nonce, and a block in the middle.
TEST(KeyStream, HasATwinThatIsThatOfTheStandard) {
  SecretKey key;
  for (std::size_t i = 0; i < 32; ++i) key.bytes[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(ToHex(ChaChaBlock(key.bytes, 1, FromHex("000000090000004a00000000"))),
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

TEST(KeyStream, IsTheTwinsForAnyLength) {
  Random random(1, Purpose::kTest);
  for (const unsigned bits : {32U, 64U}) {
    KeyStream stream(bits);
    // Around a vector's width, a block of ChaCha20, and the block that is computed at once.
    for (const std::size_t count :
         {0U, 1U, 2U, 7U, 8U, 9U, 15U, 17U, 33U, 1000U, 1023U, 1024U, 1025U, 2047U, 2049U, 5000U}) {
      const SecretKey key = RandomKey(random);
      std::vector<std::uint64_t> numbers(count);
      const std::uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
      for (std::uint64_t& number : numbers) number = random.Bits() & mask;
      const std::vector<std::uint64_t> before = numbers;
      const std::vector<std::uint64_t> slow = SlowStream(key, bits, count);
      stream.Add(key, numbers);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(numbers[i], (before[i] + slow[i]) & mask) << bits << ' ' << count << ' ' << i;
      }
      stream.Subtract(key, numbers);
      EXPECT_EQ(numbers, before);
      stream.Subtract(key, numbers);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(numbers[i], (before[i] - slow[i]) & mask) << bits << ' ' << count << ' ' << i;
      }
    }
  }
}

// What programs of different versions must agree on: the bytes put together by hand.
TEST(MaskStream, HasAKeyMadeAsItAlwaysWas) {
  SecretKey pair{KeyFromHex(std::string(64, '5'))};
  MaskedSum sum{7, 300, 40, 240, 24, 5};
  sum.nonce = {1, 2, 3};
  std::vector<std::uint8_t> message = FromHex("706f6c796b65726e206d61736b203100");
  const auto number = [&](std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value /= 256) {
      message.push_back(static_cast<std::uint8_t>(value % 256));
    }
  };
  // The epoch, the ring (2^-36 is 0 01111011011 0..), what it is of.
  for (const std::uint64_t value :
       {std::uint64_t{2}, std::uint64_t{64}, std::uint64_t{0x3db} << 52U}) {
    number(value);
  }
  for (const std::uint64_t value : {7, 300, 65, 40, 240, 24, 5}) number(value);
  message.insert(message.end(), sum.nonce.begin(), sum.nonce.end());
  MaskStream stream(2, 64, 0x1p-36);
  EXPECT_EQ(stream.KeyOf(pair, sum, 65).bytes, HmacSha256(pair.bytes, message));
  // And again: what was before leaves nothing behind.
  EXPECT_EQ(stream.KeyOf(pair, sum, 65).bytes, HmacSha256(pair.bytes, message));
}

TEST(MaskStream, AddsAndSubtractsTheStreamOfItsKey) {
  Random random(2, Purpose::kTest);
  for (const unsigned bits : {32U, 64U}) {
    MaskStream stream(1, bits, 0x1p-13);
    for (const std::size_t count : {1U, 65U, 945U}) {
      const SecretKey pair = RandomKey(random);
      const MaskedSum sum = RandomSum(random);
      const auto slow = SlowStream(stream.KeyOf(pair, sum, count), bits, count);
      std::vector<std::uint64_t> numbers(count);
      stream.Add(pair, sum, numbers);
      EXPECT_EQ(numbers, slow);
      stream.Subtract(pair, sum, numbers);
      EXPECT_EQ(numbers, std::vector<std::uint64_t>(count));
    }
  }
}

// Whatever differs between what the client meant and what the helper is told: another stream.
TEST(MaskStream, IsAnotherForWhateverDiffers) {
  Random random(3, Purpose::kTest);
  const SecretKey pair = RandomKey(random);
  const MaskedSum sum = RandomSum(random);
  std::set<std::array<std::uint8_t, 32>> keys;
  std::size_t tried = 0;
  const auto add = [&](std::uint64_t epoch, unsigned bits, double unit, const SecretKey& key,
                       const MaskedSum& of, std::size_t numbers) {
    keys.insert(MaskStream(epoch, bits, unit).KeyOf(key, of, numbers).bytes);
    ++tried;
  };
  add(1, 64, 0x1p-36, pair, sum, 65);
  add(2, 64, 0x1p-36, pair, sum, 65);
  add(1, 32, 0x1p-36, pair, sum, 65);
  add(1, 64, 0x1p-35, pair, sum, 65);
  add(1, 64, 0x1p-36, RandomKey(random), sum, 65);
  add(1, 64, 0x1p-36, pair, sum, 66);
  const auto with = [&](auto change) {
    MaskedSum other = sum;
    change(other);
    add(1, 64, 0x1p-36, pair, other, 65);
  };
  with([](MaskedSum& other) { ++other.turn; });
  with([](MaskedSum& other) { ++other.kind; });
  with([](MaskedSum& other) { ++other.samples; });
  with([](MaskedSum& other) { ++other.unknowns; });
  with([](MaskedSum& other) { ++other.new_unknowns; });
  with([](MaskedSum& other) { ++other.releases; });
  for (std::size_t i = 0; i < sum.nonce.size(); ++i) {
    with([i](MaskedSum& other) { other.nonce[i] ^= 0x80; });
  }
  EXPECT_EQ(keys.size(), tried);
}

// A helper's sum of the streams takes the masks off the sum of the messages, whoever is there.
TEST(MaskStream, OfAllClientsTogetherComesOffTheirSum) {
  Random random(4, Purpose::kTest);
  constexpr std::size_t kNumbers = 230;
  MaskStream stream(5, 64, 0x1p-36);
  std::vector<std::uint64_t> plain(kNumbers);
  std::vector<std::uint64_t> masked(kNumbers);
  std::vector<std::uint64_t> streams(kNumbers);
  for (int client = 0; client < 7; ++client) {
    const SecretKey pair = RandomKey(random);
    const MaskedSum sum = RandomSum(random);
    std::vector<std::uint64_t> message(kNumbers);
    for (std::uint64_t& number : message) number = random.Below(1000) - 500;
    for (std::size_t i = 0; i < kNumbers; ++i) plain[i] += message[i];
    stream.Add(pair, sum, message);
    for (std::size_t i = 0; i < kNumbers; ++i) masked[i] += message[i];
    stream.Add(pair, sum, streams);
  }
  EXPECT_NE(masked, plain);
  for (std::size_t i = 0; i < kNumbers; ++i) masked[i] -= streams[i];
  EXPECT_EQ(masked, plain);
}

// Masked zeros: chi-square of their bytes with 255 degrees of freedom, standard deviation
// sqrt(510), five of them allowed; and every one of the 64 bits is 1 in half of 100,000 numbers,
// five standard deviations of sqrt(n)/2 allowed.
TEST(MaskStream, LooksUniform) {
  constexpr std::size_t kCount = 100'000;
  std::vector<std::uint64_t> numbers(kCount);
  Random random(5, Purpose::kTest);
  const SecretKey pair = RandomKey(random);
  MaskStream(1, 64, 0x1p-36).Add(pair, RandomSum(random), numbers);
  std::array<double, 256> bytes{};
  std::array<double, 64> ones{};
  for (const std::uint64_t number : numbers) {
    for (unsigned i = 0; i < 64; ++i) ones[i] += static_cast<double>(number >> i & 1U);
    for (unsigned i = 0; i < 64; i += 8) bytes[number >> i & 255U] += 1;
  }
  double chi_square = 0;
  constexpr double kExpected = kCount * 8 / 256.0;
  for (const double count : bytes) {
    chi_square += (count - kExpected) * (count - kExpected) / kExpected;
  }
  EXPECT_LT(chi_square, 255 + 5 * 22.6);
  EXPECT_GT(chi_square, 255 - 5 * 22.6);
  for (const double count : ones) EXPECT_NEAR(count, kCount / 2.0, 5 * 158.2);
}

TEST(MessageNonce, IsMadeAsItAlwaysWas) {
  const SecretKey own{KeyFromHex(std::string(64, '7'))};
  for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 1200U}) {
    std::vector<std::uint8_t> message;
    const auto number = [&](std::uint64_t value) {
      for (int i = 0; i < 8; ++i, value /= 256) {
        message.push_back(static_cast<std::uint8_t>(value % 256));
      }
    };
    number(16);
    for (const char letter : std::string("polykern nonce 1")) {
      message.push_back(static_cast<std::uint8_t>(letter));
    }
    number(9);
    number(count);
    std::vector<std::uint64_t> integers(count);
    for (std::size_t i = 0; i < count; ++i) number(integers[i] = i * 0x123456789abcdefU);
    const auto sum = HmacSha256(own.bytes, message);
    EXPECT_EQ(ToHex(MessageNonce(own, 9, integers)), ToHex(sum).substr(0, 32)) << count;
  }
}

TEST(MessageNonce, IsAnotherForEveryOtherMessageTurnAndSecret) {
  Random random(6, Purpose::kTest);
  const SecretKey own = RandomKey(random);
  std::vector<std::uint64_t> integers(600);
  for (std::uint64_t& integer : integers) integer = random.Bits();
  std::set<MaskNonce> nonces = {MessageNonce(own, 1, integers)};
  EXPECT_EQ(*nonces.begin(), MessageNonce(own, 1, integers));
  std::size_t tried = 1;
  const auto add = [&](const SecretKey& secret, std::uint64_t turn) {
    nonces.insert(MessageNonce(secret, turn, integers));
    ++tried;
  };
  add(own, 2);
  add(RandomKey(random), 1);
  for (std::uint64_t& integer : integers) {
    integer ^= 1;
    add(own, 1);
    integer ^= 1;
  }
  integers.push_back(0);
  add(own, 1);
  EXPECT_EQ(nonces.size(), tried);
}

}  // namespace
}  // namespace polykern
