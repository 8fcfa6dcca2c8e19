#include "polykern/net/server/pairwise_opener.h"

#include <ctime>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {
namespace {

using testing::HasSubstr;

/// Clients of a federation that have come, or not.
struct Pairs : testing::Test {
  Pairs() {
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(folder.At("pki"), init);
    identities = MakeClientIdentities(folder.At("pki"), "c", 3, std::time(nullptr));
  }
  std::string KeyOf(std::size_t client) const { return Encode(SignMaskKey(identities[client])); }

  const TestFolder folder;
  std::vector<ClientIdentity> identities;
};

TEST_F(Pairs, AreToldOfEachOtherWhenAllHaveCome) {
  PairwiseOpener opener(folder.At("pki"), {"c-0", "c-2", "c-1"});
  opener.AddKey("c-0", KeyOf(0));
  opener.AddKey("c-0", KeyOf(0));
  opener.AddKey("c-1", KeyOf(1));
  EXPECT_EQ(opener.ClientsNeed(), "");
  opener.AddKey("c-2", KeyOf(2));
  const auto keys = DecodeMaskRoster(opener.ClientsNeed());
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0].certificate, identities[0].certificate);
  EXPECT_EQ(keys[1].certificate, identities[2].certificate);
  EXPECT_EQ(keys[2].certificate, identities[1].certificate);
}

TEST_F(Pairs, HaveKeysOfTheirOwnThatStayTheSame) {
  PairwiseOpener opener(folder.At("pki"), {"c-0", "c-1"});
  EXPECT_THAT(MessageOf([&] { opener.AddKey("c-0", ""); }), HasSubstr("you have no mask key"));
  EXPECT_EQ(MessageOf([&] { opener.AddKey("c-0", KeyOf(1)); }), "your mask key is that of c-1");
  opener.AddKey("c-0", KeyOf(0));
  identities[0].mask_key = MakeMaskKey();
  EXPECT_THAT(MessageOf([&] { opener.AddKey("c-0", KeyOf(0)); }),
              HasSubstr("your mask key has changed"));
  opener.AddKey("c-2", KeyOf(2));  // whom the rounds turn away
  EXPECT_EQ(opener.ClientsNeed(), "");
}

TEST_F(Pairs, ThatAreNotAllInASumAreRefusedIt) {
  PairwiseOpener opener(folder.At("pki"), {"c-0", "c-1"});
  Release release;
  release.contributions = {{.client = 0, .step = 3}, {.client = 1, .step = 3}};
  EXPECT_EQ(opener.Open(release, {}), "");
  EXPECT_EQ(release.refusal, "");
  release.contributions.pop_back();
  EXPECT_EQ(opener.Open(release, {}), "");
  EXPECT_THAT(release.refusal, HasSubstr("only 1 of 2 clients"));
}

}  // namespace
}  // namespace polykern
