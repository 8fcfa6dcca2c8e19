// What the registry makes of options: sizes, kernels, and what it refuses.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using twin::kShort;

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
