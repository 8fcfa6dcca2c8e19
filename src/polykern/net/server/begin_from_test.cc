#include "polykern/net/server/begin_from.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/federation/coordinator.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/exported_model.h"
#include "polykern/net/rounds/server_noise.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/privacy/accounting.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeclaredFederation WindAndHeat() {
  return {.columns = {"wind", "heat"},
          .ranges = {{"wind", 0, 20}, {"heat", -40, 60}},
          .target = "power",
          .target_range = ColumnRange{"", 0, 3000}};
}

/// A store of that federation after five steps that nobody answered.
std::string OldStore(const TestFolder& folder, const DeclaredFederation& declared,
                     const std::string& name = "old.db") {
  const FederationConfiguration federation = CompleteForStore(declared, folder.At(name), 0);
  const auto algorithm = MakeAlgorithm(federation);
  Coordinator coordinator(*algorithm, 0);
  for (int step = 0; step < 5; ++step) coordinator.Commit();
  std::vector<double> state = coordinator.Save();
  const NoiseTerms terms = NoiseTermsOf(*algorithm, federation.samples_per_row());
  if (terms.noisy()) {  // with two noisy releases
    ServerNoise noise(terms);
    for (std::uint64_t number = 0; number < 2; ++number) {
      Release release{.number = number};
      release.sums.assign(terms.numbers, 7);
      EXPECT_EQ(noise.Open(release, {}), "");
    }
    const std::vector<double> kept = noise.Save();
    state.insert(state.end(), kept.begin(), kept.end());
    state.push_back(static_cast<double>(kept.size()));
  }
  OpenStore(folder.At(name), ToTexts(federation))->Write({.step = StepCommit{5, state, {}}});
  return folder.At(name);
}

TEST(AFederationThatBeginsFromAnother, HasItsSettingsButForWhatIsDeclared) {
  const TestFolder folder;
  DeclaredFederation old = WindAndHeat();
  old.options["forgetting"] = "0.99";
  old.seed = 7;
  DeclaredFederation declared{.from = OldStore(folder, old),
                              .columns = {"gust", "wind", "heat"},
                              .ranges = {{"wind", 0, 40}, {"gust", 0, 90}}};
  const std::string store = folder.At("new.db");
  const FederationConfiguration made = CompleteForStore(declared, store, 0);
  EXPECT_EQ(made.problem.seed, 7U);
  EXPECT_EQ(made.options.forgetting, 0.99);
  EXPECT_EQ(made.columns[1].high, 40);
  EXPECT_EQ(made.columns[2].low, -40);
  EXPECT_EQ(made.target.high, 3000);
  EXPECT_EQ(ExportFromText(made.from).model.step, 5U);
  EXPECT_EQ(ToTexts(FromTexts(ToTexts(made))), ToTexts(made));

  OpenStore(store, ToTexts(made));
  EXPECT_EQ(ToTexts(CompleteForStore({}, store, 0)), ToTexts(made)) << "its store knows";
  declared.from = "gone";
  EXPECT_EQ(ToTexts(CompleteForStore(declared, store, 0)), ToTexts(made)) << "it is not read again";
}

TEST(AFederationThatBeginsFromAnother, MayUseAnotherAlgorithm) {
  const TestFolder folder;
  const std::string from = OldStore(folder, WindAndHeat());
  for (const char* const algorithm : {"pof-mkl", "pof-newton", "local-rls", "perfedavg"}) {
    const FederationConfiguration made =
        CompleteForStore({.from = from, .algorithm = algorithm}, folder.At("new.db"), 0);
    EXPECT_EQ(made.algorithm, algorithm);
    EXPECT_GT(MakeClientAlgorithm(made)->state_size(), MakeAlgorithm(made)->state_size());
  }
}

TEST(AFederationThatBeginsFromAnother, MayMaskWhatTheOtherDidNot) {
  const TestFolder folder;
  const std::string from = OldStore(folder, WindAndHeat());
  const FederationConfiguration made =
      CompleteForStore({.from = from, .options = {{"masking", "helper"}}}, folder.At("new.db"), 0);
  EXPECT_EQ(made.options.masking, Masking::kHelper);
  EXPECT_EQ(made.epoch, 1U);
  EXPECT_FALSE(made.federation_id.empty());
  const auto algorithm = MakeAlgorithm(made);
  const std::vector<double> state = Coordinator(*algorithm, 0).Save();
  OpenStore(folder.At("masked.db"), ToTexts(made))->Write({.step = StepCommit{1, state, {}}});
  const FederationConfiguration next = CompleteForStore(
      {.from = folder.At("masked.db"), .ranges = {{"wind", 0, 40}}}, folder.At("new.db"), 0);
  EXPECT_EQ(next.options.masking, Masking::kHelper);
  EXPECT_NE(next.federation_id, made.federation_id) << "no two federations mask alike";
}

TEST(AFederationThatBeginsFromAnother, SaysWhatDoesNotFit) {
  const TestFolder folder;
  const std::string from = OldStore(folder, WindAndHeat());
  const auto complaint = [&](const DeclaredFederation& declared) {
    return MessageOf([&] { CompleteForStore(declared, folder.At("new.db"), 0); });
  };
  EXPECT_THAT(complaint({.from = from, .columns = {"wind"}}),
              AllOf(HasSubstr(from), HasSubstr("has the input \"heat\", which this one lacks")));
  EXPECT_THAT(complaint({.from = from, .columns = {"wind", "heat", "gust"}}),
              HasSubstr("COLUMN=LOW:HIGH"));
  EXPECT_THAT(complaint({.from = folder.At("none.db")}), HasSubstr("there is no store here"));
  EXPECT_THAT(complaint({.from = from, .algorithm = "pof-mkl", .options = {{"loss", "logistic"}}}),
              HasSubstr("cannot be combined with loss=logistic"));
  OpenStore(folder.At("empty.db"), ToTexts(Complete(WindAndHeat(), {}, 0)));
  EXPECT_THAT(complaint({.from = folder.At("empty.db")}), HasSubstr("no step is committed yet"));
  EXPECT_THAT(MessageOf([&] { CompleteForStore({.from = from}, folder.At("empty.db"), 0); }),
              HasSubstr("did not begin from another"));
}

TEST(AFederationThatBeginsFromAnother, KeepsThoseBeforeItAsFarAsTheyAreFew) {
  const TestFolder folder;
  std::string from = OldStore(folder, WindAndHeat());
  std::vector<std::size_t> sizes;
  for (int change = 0; change < 5; ++change) {
    DeclaredFederation declared{.from = from, .ranges = {{"wind", 0, 30.0 + change}}};
    from = OldStore(folder, declared, "new" + std::to_string(change) + ".db");
    sizes.push_back(MakeClientAlgorithm(FromTexts(ReadStore(from).configuration))->state_size());
  }
  EXPECT_LT(sizes[0], sizes[1]);
  EXPECT_LT(sizes[1], sizes[2]);
  EXPECT_EQ(sizes[3], sizes[2]);
  EXPECT_EQ(sizes[4], sizes[2]);
}

TEST(AFederationThatBeginsFromAnother, HasWhatIsLeftOfItsBudget) {
  const TestFolder folder;
  DeclaredFederation old = WindAndHeat();
  old.options = {{"epsilon", "2"}, {"releases", "8"}};
  const std::string from = OldStore(folder, old);
  const EarlierFederation earlier = ReadEarlier(ReadStore(from));
  ASSERT_GT(earlier.rho, 0);
  const double delta = earlier.settings.options.delta;

  DeclaredFederation declared{.from = from, .ranges = {{"wind", 0, 40}}};
  const std::string second = OldStore(folder, declared, "second.db");
  const FederationConfiguration made = FromTexts(ReadStore(second).configuration);
  EXPECT_EQ(made.total_epsilon, 2);
  EXPECT_LT(made.options.epsilon, 2);
  EXPECT_LE(RhoFor(made.options.epsilon, delta) + earlier.rho, RhoFor(2, delta));
  declared.options["epsilon"] = "2";
  EXPECT_EQ(ToTexts(CompleteForStore(declared, second, 0)), ToTexts(made)) << "as it began";

  const EarlierFederation both = ReadEarlier(ReadStore(second));
  EXPECT_GT(both.rho, earlier.rho * 1.01) << "its own releases come to those before";
  EXPECT_EQ(both.settings.options.epsilon, 2);
  const auto complaint = [&](std::map<std::string, std::string> options,
                             const char* algorithm = "pof-gram") {
    return MessageOf([&] {
      CompleteForStore({.from = from, .algorithm = algorithm, .options = std::move(options)},
                       folder.At("new.db"), 0);
    });
  };
  EXPECT_THAT(complaint({{"epsilon", "0.01"}}), HasSubstr("nothing is left; raise epsilon"));
  EXPECT_THAT(complaint({{"epsilon", "none"}}), HasSubstr("the same rows may come again"));
  EXPECT_THAT(complaint({}, "pof-mkl"), HasSubstr("the same rows may come again"));
}

}  // namespace
}  // namespace polykern
