// What must hold for every algorithm of the registry.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using twin::Arrival;
using twin::Vector;

constexpr Problem kShort = {twin::kDimension, 60, twin::kSeed};

/// Names of the registry, and with private experts, for which clients have states of another kind.
constexpr std::string_view kWithLocal = "pof-newton with local experts";
constexpr std::string_view kGramWithLocal = "pof-gram with local experts";
std::vector<std::string_view> Cases() {
  std::vector<std::string_view> cases(AlgorithmNames().begin(), AlgorithmNames().end());
  cases.push_back(kWithLocal);
  cases.push_back(kGramWithLocal);
  return cases;
}

class EveryAlgorithm : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Algorithm> Make(LossKind loss = LossKind::kSquared) const {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.kernels_per_upload = 2;
    options.exploration = 0.4;
    options.learning_rate = 0.1;
    options.meta_rate = 0.05;
    options.forgetting = 0.98;
    options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
    options.local_memory = 32;
    return MakeAlgorithm(Name(), options, kShort);
  }
  static std::string_view Name() { return GetParam().substr(0, GetParam().find(' ')); }
  static bool HasLocal() { return GetParam() != Name(); }
};

/// Everything a run leaves: predictions, states and the server.
Vector Everything(const Algorithm& algorithm, const Arrival& arrival, LossKind loss) {
  twin::Federation federation(algorithm);
  Vector all;
  for (const twin::Step& step : twin::DrawSteps(60, loss)) {
    const Vector predictions = federation.Run(step, arrival);
    all.insert(all.end(), predictions.begin(), predictions.end());
  }
  for (const Vector& state : federation.states) all.insert(all.end(), state.begin(), state.end());
  const Vector saved = federation.server->Save();
  all.insert(all.end(), saved.begin(), saved.end());
  return all;
}

TEST_P(EveryAlgorithm, HasTheSameBitsForAnyCohortsOrderAndInboxes) {
  for (const LossKind loss : twin::kLosses) {
    if (!SuitsLoss(Name(), loss)) continue;
    const auto algorithm = Make(loss);
    const Vector together = Everything(*algorithm, {}, loss);
    EXPECT_EQ(Everything(*algorithm, {true, false, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 3}, loss), together);
  }
}

TEST_P(EveryAlgorithm, ResumesWithTheSameBitsAfterAStop) {
  const auto algorithm = Make();
  twin::Federation whole(*algorithm);
  twin::Federation again(*algorithm);
  const auto steps = twin::DrawSteps(60);
  for (std::size_t t = 0; t < 60; ++t) {
    if (t == 33) {
      again.server->Load(33, whole.server->Save());
      again.states = whole.states;
      again.history = whole.history;
      EXPECT_EQ(again.broadcast().turn, whole.broadcast().turn);
      EXPECT_EQ(again.broadcast().model, whole.broadcast().model);
      EXPECT_EQ(again.broadcast().weights, whole.broadcast().weights);
    }
    const Vector predictions = whole.Run(steps[t]);
    if (t < 33) continue;
    EXPECT_EQ(again.Run(steps[t]), predictions);
  }
  EXPECT_EQ(again.server->Save(), whole.server->Save());
  EXPECT_EQ(again.states, whole.states);
}

TEST_P(EveryAlgorithm, TellsTheWeightsOfClientsThatHaveSome) {
  const auto algorithm = Make();
  twin::Federation federation(*algorithm);
  Vector weights(algorithm->experts(), -1);
  const bool has = algorithm->Weights(federation.states[0], 0, weights);
  for (const double weight : weights) {
    EXPECT_NEAR(weight, has ? 1 / static_cast<double>(weights.size()) : -1, 1e-12);
  }
  if (!has) return;
  for (const twin::Step& step : twin::DrawSteps(60)) federation.Run(step);
  Vector other = weights;
  ASSERT_TRUE(algorithm->Weights(federation.states[0], 60, weights));
  ASSERT_TRUE(algorithm->Weights(federation.states[1], 60, other));
  EXPECT_NE(weights, other);  // each client has its own
  for (const Vector& of : {weights, other}) {
    double sum = 0;
    for (const double weight : of) {
      EXPECT_GE(weight, 0);
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST_P(EveryAlgorithm, KeepsToItsBudgetAndUsesIt) {
  for (const std::size_t budget : {200U, 402U, 1000U, 3000U, 20000U}) {
    AlgorithmOptions options;
    options.budget = budget;
    options.kernels_per_upload = 25;
    options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
    const auto algorithm = MakeAlgorithm(Name(), options, kShort);
    if (!algorithm->shape().sums.empty()) {  // in the mean: its schedule's matter
      EXPECT_EQ(algorithm->shape().update_size(), budget * options.burst);
      continue;
    }
    EXPECT_LE(algorithm->shape().update_size(), budget);
    const std::size_t features = FeaturesOf(Name(), options);
    const Uplink uplink = UplinkOf(Name(), options);
    EXPECT_LE(features, 100U);
    if (uplink.kernels == 0) continue;
    EXPECT_EQ(algorithm->shape().update_size(), uplink.kernels * 2 * features + uplink.losses);
    if (features == 100) continue;
    options.features = features + 1;
    EXPECT_THAT(
        [&] { MakeAlgorithm(Name(), options, kShort); },
        testing::ThrowsMessage<Error>(
            AllOf(HasSubstr("features is " + std::to_string(features + 1)),
                  HasSubstr(std::string(Name())), HasSubstr("budget of " + std::to_string(budget)),
                  HasSubstr("allows " + std::to_string(features)))));
  }
}

TEST_P(EveryAlgorithm, HasAnEmptyStepWithoutClients) {
  const auto algorithm = Make();
  twin::Federation federation(*algorithm);
  twin::Step nobody = twin::DrawSteps(1)[0];
  nobody.present.assign(twin::kClients, 0);
  const Vector before = federation.server->Save();
  EXPECT_TRUE(federation.Run(nobody).empty());
  EXPECT_EQ(federation.server->Save(), before);
  EXPECT_EQ(federation.broadcast().step, 1U);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(Cases()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           std::erase(name, ' ');
                           return name;
                         });

std::size_t Features(std::string_view name, std::size_t budget = 1000) {
  AlgorithmOptions options;
  options.budget = budget;
  return FeaturesOf(name, options);
}

TEST(FeaturesOf, FollowsWhatEachAlgorithmSends) {
  EXPECT_EQ(Features("ofskl"), 100U);
  EXPECT_EQ(Features("ofskl", 100), 50U);
  EXPECT_EQ(Features("ofmkl-avg"), 9U);
  EXPECT_EQ(Features("vm-kofl"), 9U);  // 51 (2 * 9 + 1) = 969
  EXPECT_EQ(Features("vm-kofl", 968), 8U);
  EXPECT_EQ(Features("em-kofl"), 100U);
  EXPECT_EQ(Features("em-kofl", 250), 99U);
  EXPECT_EQ(Features("fomd-oms"), 100U);
  EXPECT_EQ(Features("fomd-oms", 401), 99U);
  EXPECT_EQ(Features("fed-poe"), 100U);
  EXPECT_EQ(Features("fed-poe", 599), 99U);
  EXPECT_EQ(Features("local", 1), 100U);
  EXPECT_EQ(Features("perfedavg"), 0U);
  EXPECT_EQ(Features("pof-newton"), 100U);  // of 5 kernels
  EXPECT_EQ(Features("pof-newton", 199), 99U);
  EXPECT_EQ(Features("pof-newton", 20000), 100U);
  // 51 experts of 1 + 50 + 50^2 doubles take 1016 KiB, those of 26 features 1098.
  EXPECT_EQ(Features("local-rls", 1), 17U);  // 51 (1 + 34 + 34^2) doubles: 475 KiB
}

TEST(ExpertNames, SayKernelAndSize) {
  const auto gram = ExpertNames("pof-gram", {}, 20);
  EXPECT_EQ(gram.size(), 20U);
  EXPECT_EQ(gram[0], "gaussian 0.01, D = 5");
  EXPECT_EQ(gram[9], "gaussian 0.0759, D = 100");
  EXPECT_EQ(ExpertNames("pof-mkl", {}, 3)[2], "gaussian 100");
  const auto poe = ExpertNames("fed-poe", {}, 6);
  EXPECT_EQ(poe[2], "gaussian 10");
  EXPECT_EQ(poe[3], "local gaussian 0.1");
}

TEST(UplinkOf, SaysHowManyKernelsAndLossesAreSent) {
  AlgorithmOptions options;
  options.kernels_per_upload = 5;
  for (const auto name : AlgorithmNames()) EXPECT_EQ(UplinkOf(name, options).algorithm, name);
  EXPECT_EQ(UplinkOf("pof-mkl", options).kernels, 5U);
  EXPECT_EQ(UplinkOf("vm-kofl", options).losses, 51U);
  EXPECT_THROW(UplinkOf("nobody", options), Error);
  EXPECT_EQ(UplinkOf("pof-adagrad", options).kernels, 5U);
  EXPECT_TRUE(TraitsOf("pof-mkl").chooses_kernels);
  EXPECT_TRUE(TraitsOf("pof-adagrad").chooses_kernels);
  EXPECT_EQ(UplinkOf("pof-newton", options).kernels, 5U);
  EXPECT_TRUE(TraitsOf("pof-newton").chooses_kernels);
  EXPECT_FALSE(TraitsOf("local-rls").chooses_kernels);
  EXPECT_FALSE(TraitsOf("ofmkl-avg").chooses_kernels);
}

TEST(KernelsOf, AreTheDictionaryUnlessAnAlgorithmHasItsOwn) {
  AlgorithmOptions options;
  options.dictionary = "matern32";
  options.kernels = 4;
  options.single_bandwidth = 7;
  const auto texts = [&](std::string_view name) {
    std::vector<std::string> list;
    for (const Kernel& kernel : KernelsOf(name, options)) list.push_back(KernelText(kernel));
    return list;
  };
  EXPECT_THAT(texts("ofskl"), testing::ElementsAre("gaussian 7"));
  EXPECT_THAT(texts("fed-poe"), testing::ElementsAre("gaussian 0.1", "gaussian 1", "gaussian 10"));
  EXPECT_EQ(texts("pof-mkl").size(), 4U);
  EXPECT_THAT(texts("pof-mkl")[0], HasSubstr("matern32"));
}

TEST(CheckAlgorithm, TellsFomdOmsThatItNeedsTwoKernels) {
  AlgorithmOptions options;
  options.kernels = 1;
  for (const auto name : AlgorithmNames()) {
    if (name == "fomd-oms") continue;
    EXPECT_NO_THROW(CheckAlgorithm(name, options)) << name;
  }
  EXPECT_THAT([&] { CheckAlgorithm("fomd-oms", options); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("kernels is 1"), HasSubstr("fomd"))));
}

/// What CheckAlgorithm says about the default options after a change; empty if nothing.
std::string Complaint(std::string_view name, const std::function<void(AlgorithmOptions&)>& change) {
  AlgorithmOptions options;
  change(options);
  try {
    CheckAlgorithm(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AlgorithmTraits, SayOfEveryAlgorithmWhatItsServerSees) {
  for (const auto name : AlgorithmNames()) EXPECT_NE(TraitsOf(name).server_sees, "") << name;
  EXPECT_EQ(TraitsOf("pof-gram").server_sees, "sums over its samples");
}

TEST(CheckAlgorithm, WantsSquaredLossForRegressions) {
  for (const LossKind loss : {LossKind::kHuber, LossKind::kLogistic}) {
    for (const auto name : AlgorithmNames()) {
      const bool regression = name == "pof-newton" || name == "pof-gram" || name == "local-rls";
      EXPECT_EQ(SuitsLoss(name, loss), !regression);
      EXPECT_TRUE(SuitsLoss(name, LossKind::kSquared));
      const std::string complaint = Complaint(name, [=](auto& o) { o.loss = loss; });
      if (regression) {
        EXPECT_THAT(complaint,
                    AllOf(HasSubstr("loss must be squared"), HasSubstr(std::string(name)),
                          HasSubstr("such as algorithm=pof-adagrad")));
      } else {
        EXPECT_EQ(complaint, "") << name;
      }
    }
  }
  EXPECT_THROW(SuitsLoss("nobody", LossKind::kHuber), Error);
}

TEST(CheckAlgorithm, RefusesRegressionsThatDoNotFitTheServerAndSaysTheirSize) {
  // 51 kernels of 22536 doubles are 8.8 MiB.
  EXPECT_EQ(Complaint("pof-newton", [](auto& o) { o.server_memory = 9; }), "");
  EXPECT_THAT(Complaint("pof-newton", [](auto& o) { o.server_memory = 8; }),
              AllOf(HasSubstr("server_memory is 8 MiB"), HasSubstr("51 kernels"),
                    HasSubstr("100 features"), HasSubstr("take 9 MiB"), HasSubstr("features")));
  EXPECT_THAT(Complaint("pof-newton", [](auto& o) { o.kernels = 100000; }),
              AllOf(HasSubstr("4096 MiB"), HasSubstr("take 17194 MiB")));
  // So large that the bytes cannot be counted in 64 bits.
  EXPECT_THAT(Complaint("pof-newton",
                        [](auto& o) {
                          o.budget = std::size_t{1} << 62;
                          o.features = std::size_t{1} << 61;
                        }),
              HasSubstr("server_memory is 4096 MiB"));
  EXPECT_EQ(Complaint("pof-mkl", [](auto& o) { o.server_memory = 1; }), "");
}

TEST(CheckAlgorithm, RefusesPrivateExpertsThatDoNotFitAClient) {
  // 51 experts of one feature take 51 * 7 doubles: 2.8 KiB; the 8 beside federated ones 0.44 KiB.
  EXPECT_EQ(Complaint("local-rls", [](auto& o) { o.local_memory = 3; }), "");
  EXPECT_THAT(Complaint("local-rls", [](auto& o) { o.local_memory = 2; }),
              AllOf(HasSubstr("local_memory is 2 KiB"), HasSubstr("51 private experts"),
                    HasSubstr("kernels")));
  for (const std::size_t features : {std::size_t{17}, std::size_t{1} << 40, SIZE_MAX}) {
    AlgorithmOptions options;
    options.features = features;
    options.budget = SIZE_MAX;
    EXPECT_EQ(FeaturesOf("local-rls", options), 17U) << "what fits";
  }
  const auto beside = [](std::size_t kernels, std::size_t memory) {
    return [=](auto& o) {
      o.experts = Experts::kFederatedAndLocal;
      o.local_kernels = kernels;
      o.local_memory = memory;
    };
  };
  EXPECT_EQ(Complaint("pof-newton", beside(8, 1)), "");
  EXPECT_THAT(Complaint("pof-newton", beside(20, 1)),
              AllOf(HasSubstr("20 private experts"), HasSubstr("local_kernels")));
  EXPECT_THAT(Complaint("pof-newton", beside(1000, 2)), HasSubstr("51 private experts"))
      << "no more than the dictionary has";
  EXPECT_EQ(Complaint("pof-newton",
                      [](auto& o) {
                        o.experts = Experts::kFederated;
                        o.local_kernels = 20;
                        o.local_memory = 1;
                      }),
            "");
}

TEST(CheckAlgorithm, RefusesABadDictionaryBeforeAnythingElse) {
  EXPECT_THAT(Complaint("pof-newton", [](auto& o) { o.kernels = 0; }), HasSubstr("kernels is 0"));
}

TEST(ExplorationOf, IsTheGivenOneOrTheAlgorithmsOwn) {
  AlgorithmOptions options;
  EXPECT_EQ(ExplorationOf("pof-mkl", options), 1);
  EXPECT_EQ(ExplorationOf("pof-newton", options), 0.2);
  options.exploration = 0.7;
  EXPECT_EQ(ExplorationOf("pof-mkl", options), 0.7);
  EXPECT_EQ(ExplorationOf("pof-newton", options), 0.7);
}

TEST(MakeAlgorithm, GivesPrivateExpertsTheMemoryTheyMayHave) {
  AlgorithmOptions options;
  options.experts = Experts::kFederatedAndLocal;
  options.local_memory = 100;
  const auto algorithm = MakeAlgorithm("pof-newton", options, kShort);
  // 8 experts, so 1600 doubles each: 1 + F + F^2 with F = 38 is 1483, with F = 40 1641.
  EXPECT_EQ(algorithm->state_size() - algorithm->lasting_state(), 8U * 1483U);
  EXPECT_EQ(algorithm->lasting_state(), 52U + 10U);
  options.experts = Experts::kFederated;
  EXPECT_EQ(MakeAlgorithm("pof-newton", options, kShort)->state_size(), 52U);
}

TEST_P(EveryAlgorithm, IsTheSameOverABankThatExists) {
  if (!TraitsOf(Name()).takes_bank) return;
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
  const auto drawn = MakeAlgorithm(Name(), options, kShort);
  const auto bank = std::make_shared<const KernelBank>(KernelsOf(Name(), options), twin::kDimension,
                                                       5, twin::kSeed);
  options.kernels = 3;  // the bank knows better
  options.features = {};
  const auto given = MakeAlgorithm(Name(), bank, options, {99, 60, twin::kSeed});
  EXPECT_EQ(Everything(*given, {}, LossKind::kSquared), Everything(*drawn, {}, LossKind::kSquared));
}

TEST(MakeAlgorithm, RefusesABankThatDoesNotFit) {
  const auto complaint = [](std::string_view name, std::size_t kernels, std::size_t features) {
    AlgorithmOptions options;
    options.kernels_per_upload = 4;
    try {
      MakeAlgorithm(
          name,
          std::make_shared<const KernelBank>(MakeDictionary("gaussian", kernels), 2, features, 0),
          options, kShort);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint("pof-mkl", 4, 125), "");
  EXPECT_THAT(complaint("pof-mkl", 4, 126), HasSubstr("features is 126"));
  EXPECT_THAT(complaint("pof-mkl", 3, 5), HasSubstr("kernels_per_upload is 4"));
  EXPECT_THAT(complaint("ofskl", 4, 5), HasSubstr("has 1 kernel, but the bank has 4"));
  EXPECT_THAT(complaint("fed-poe", 4, 5), HasSubstr("has 3 kernels, but the bank has 4"));
  EXPECT_THAT(complaint("perfedavg", 4, 5), HasSubstr("no kernels: it takes no bank"));
  EXPECT_THAT(complaint("pof-gram", 5, 100), HasSubstr("its own kernels: it takes no bank"));
  EXPECT_THAT(complaint("nobody", 4, 5), HasSubstr("unknown algorithm"));
  EXPECT_EQ(complaint("local-rls", 51, 17), "");
  EXPECT_THAT(complaint("local-rls", 51, 18),
              AllOf(HasSubstr("local_memory is 512 KiB"), HasSubstr("at most 17")));
}

TEST(MakeAlgorithm, GivesOfsklTheBandwidthItIsTold) {
  for (const double sigma : {10.0, 0.1}) {
    AlgorithmOptions options;
    options.single_bandwidth = sigma;
    const auto algorithm = MakeAlgorithm("ofskl", options, {20, 10, 3});
    Broadcast broadcast;
    broadcast.model.assign(200, 0);
    std::fill(broadcast.model.begin() + 100, broadcast.model.end(), 1.0F);  // the cosines
    const std::vector<float> x(20, 0.05F);
    const std::uint64_t ids[] = {0};
    double* const states[] = {nullptr};
    const auto step = algorithm->NewCpuStep();
    step->Predict(broadcast, {ids, x, states, {}});
    // The mean of cos(rho . x) is the kernel at x, exp(-||x||^2 / (2 sigma)); its 100 draws have a
    // deviation of at most 0.07.
    const double mean = step->predictions()[0] / std::sqrt(100.0);
    EXPECT_NEAR(mean, std::exp(-0.05 / (2 * sigma)), 0.15);
  }
}

}  // namespace
}  // namespace polykern
