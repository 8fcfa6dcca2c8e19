#include "polykern/algorithms/gram/noisy_server.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using twin::Vector;

constexpr std::size_t kNoisyFeatures = 10;
constexpr std::size_t kNoisyWidth = 20;

LearntSamples NoisySamples(std::size_t count, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  LearntSamples samples;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < twin::kDimension; ++j) {
      samples.x.push_back(static_cast<float>(random.Uniform()));
    }
    samples.y.push_back(0.5 + 0.4 * std::sin(4 * static_cast<double>(samples.x.back())));
  }
  return samples;
}

class Noisy : public testing::Test {
 protected:
  std::vector<std::uint64_t> Sums(const LearntSamples& samples) {
    std::vector<std::uint64_t> integers;
    sums_.Append(0, samples, Vector{1}, integers);
    return integers;
  }
  double Number(std::uint64_t sent) const {
    return static_cast<double>(static_cast<std::int64_t>(sent)) * grid_.unit();
  }
  Vector Numbers(const LearntSamples& samples) {
    Vector numbers;
    for (const std::uint64_t sent : Sums(samples)) numbers.push_back(Number(sent));
    return numbers;
  }
  /// z of each sample, sine and cosine in turn, and y.
  std::vector<std::pair<Vector, double>> Rows(const LearntSamples& samples) const {
    std::vector<std::pair<Vector, double>> rows;
    for (std::size_t s = 0; s < samples.y.size(); ++s) {
      const auto x = std::span(samples.x).subspan(s * twin::kDimension, twin::kDimension);
      const Vector all = twin::FeaturesOf(bank_, 0, Vector(x.begin(), x.end()));
      Vector z;
      for (std::size_t j = 0; j < kNoisyFeatures; ++j) {
        z.push_back(all[j]);
        z.push_back(all[kNoisyFeatures + j]);
      }
      rows.emplace_back(z, samples.y[s] - 0.5);
    }
    return rows;
  }

  KernelBank bank_{std::vector<Kernel>{{KernelKind::kGaussian, 0.3}}, twin::kDimension,
                   kNoisyFeatures, 5};
  GramGrid grid_ = GramGrid::Noisy(kNoisyFeatures);
  QuarteredKernels kernels_{bank_};
  GramSums sums_{grid_, kernels_};
};

TEST_F(Noisy, SumsAgreeWithTheSlowVersion) {
  const LearntSamples samples = NoisySamples(150, 1);
  const Vector sent = Numbers(samples);
  ASSERT_EQ(sent.size(), grid_.NumbersOf(0));
  Vector slow;
  const auto rows = Rows(samples);
  const auto sum = [&](auto&& product) {
    double all = 0;
    for (const auto& [z, y] : rows) all += product(z, y);
    slow.push_back(all);
  };
  for (std::size_t i = 0; i < kNoisyWidth; ++i) {
    for (std::size_t j = i; j < kNoisyWidth; ++j) {
      if (i % 2 == 0 && j == i) {  // cos 2a / (sqrt 2 D), sin 2a / (sqrt 2 D)
        sum([&](const Vector& z, double) {
          return (z[i + 1] * z[i + 1] - z[i] * z[i]) / std::sqrt(2);
        });
        sum([&](const Vector& z, double) { return std::sqrt(2) * z[i] * z[i + 1]; });
      }
      if (i / 2 != j / 2) sum([&](const Vector& z, double) { return z[i] * z[j]; });
    }
    sum([&](const Vector& z, double y) { return y * z[i]; });
  }
  ASSERT_EQ(slow.size(), sent.size());
  // As in GramSums' test, 2^-17 for the factors of 150 samples, and the last rounding.
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_NEAR(sent[i], slow[i], 150 * 0x1p-17 + grid_.unit() / 2);
  }
}

TEST_F(Noisy, SumsOfOneSampleHaveTheLengthThatNoiseIsFor) {
  // Numbers are rounded to within half a unit, so the length by at most sqrt(numbers) of them.
  const double rounding =
      0.5 * grid_.unit() * std::sqrt(static_cast<double>(grid_.NumbersOf(0))) + 0x1p-14;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LearntSamples one = NoisySamples(1, seed);
    one.y[0] = seed % 3 == 0 ? 7 : seed % 3 == 1 ? -3 : 0.5;  // beyond the range, or the middle
    const Vector numbers = Numbers(one);
    const double length = std::sqrt(twin::Dot(numbers, numbers));
    EXPECT_NEAR(length, std::sqrt(seed % 3 < 2 ? 0.75 : 0.5), rounding);
    EXPECT_LE(length, std::sqrt(0.75) * (1 + 0x1p-14) + rounding - 0x1p-14) << "accounting's";
  }
}

TEST_F(Noisy, SumsThatNoSamplesHaveAreRefused) {
  const LearntSamples samples = NoisySamples(20, 1);
  Updates updates;
  updates.clients = {3};
  updates.first = {0, 1};
  updates.blocks = {0};
  updates.samples = {20};
  updates.unknowns = {80};
  updates.fresh = {{20, 80}};
  updates.new_unknowns = {80};
  updates.integers = Sums(samples);
  EXPECT_NO_THROW(CheckGramSums(grid_, 512, updates));
  updates.integers[7] = static_cast<std::uint64_t>(std::int64_t{-4} << 16U);
  EXPECT_THROW(CheckGramSums(grid_, 512, updates), BrokenRule);
}

TEST_F(Noisy, SolutionWithoutNoiseIsTheRidgeRegression) {
  const LearntSamples samples = NoisySamples(300, 2);
  const auto theta = SolveNoisy(grid_, Numbers(samples), 300, 0, 0.1);
  std::vector<std::pair<Vector, double>> rows = Rows(samples);
  // (A + ridge) theta = b, within the rounding of 300 samples' sums.
  for (std::size_t i = 0; i < kNoisyWidth; ++i) {
    double left = 0.1 * theta[i];
    double right = 0;
    for (const auto& [z, y] : rows) {
      left += z[i] * twin::Dot(z, theta);
      right += y * z[i];
    }
    EXPECT_NEAR(left, right, 0.02);
  }
}

TEST_F(Noisy, SolutionUsesTheNearestMatrixThatCanBe) {
  // A diagonal matrix of 10 samples with two numbers that cannot be: eigenvalues 1/2 +- 3 of the
  // first pair, 1/2 of all others. Lowered by (3.5 - 10 + 18 / 2) / 19 = 5/38 they sum to 10.
  Vector numbers(grid_.NumbersOf(0));
  numbers[0] = -3 * std::sqrt(2);  // ss = 1/2 + 3, cc = 1/2 - 3
  numbers[kNoisyWidth] = 1;        // b of the sine
  const auto b_of_cosine = kNoisyWidth + 1 + kNoisyWidth - 2;
  numbers[b_of_cosine] = 1;
  const auto theta = SolveNoisy(grid_, numbers, 10, 0, 0.25);
  EXPECT_NEAR(theta[0], 1 / (3.5 - 5.0 / 38 + 0.25), 1e-12);
  EXPECT_NEAR(theta[1], 1 / 0.25, 1e-12);
  for (std::size_t i = 2; i < kNoisyWidth; ++i) EXPECT_EQ(theta[i], 0);
}

TEST_F(Noisy, RidgeIsAboutAsLargeAsTheNoise) {
  Vector numbers(grid_.NumbersOf(0));
  numbers[kNoisyWidth] = 1;
  const auto theta = SolveNoisy(grid_, numbers, 100, 3, 0.25);
  EXPECT_NEAR(theta[0], 1 / (5 + 3 * std::sqrt(20)), 1e-12) << "100 samples have 5 in each of 20";
}

std::vector<std::uint64_t> ReleaseSteps(NoisySchedule schedule, std::uint64_t steps,
                                        std::uint64_t samples) {
  std::vector<std::uint64_t> released;
  bool any = false;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (schedule.Asks(step - 1) && !std::exchange(any, true)) {
      schedule.Hold({.count = {samples, samples}, .messages = 1, .squares = samples * samples});
    }
    if (!any || !schedule.Releases(step)) continue;
    schedule.Released(step);
    released.push_back(step);
    any = false;
  }
  return released;
}

TEST(NoisySchedule, WaitsForAQuarterOfTheStepsSoFar) {
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100}}, 50, 40),
              ElementsAre(1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 48));
}

TEST(NoisySchedule, KeepsTheBudgetButForTheFirstStep) {
  EXPECT_THAT(ReleaseSteps({190, {.budget = 100}}, 20, 40), ElementsAre(1, 3, 5, 7, 9, 12, 15, 19));
  NoisySchedule schedule(190, {.budget = 100, .burst = 5});
  std::uint64_t sent = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    if (schedule.Asks(step)) sent += 190;
    EXPECT_LE(sent, 100 * (step + 1) + 90);
  }
}

TEST(NoisySchedule, ReleasesNothingOverFewSamplesAndNoMoreThanItMay) {
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100}}, 500, 31), IsEmpty());
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100, .releases = 3}}, 500, 32), ElementsAre(1, 2, 3));
}

TEST(NoisySchedule, WaitsForEnoughClientsNoneOfWhichIsNeeded) {
  NoisySchedule schedule(100, {.least_clients = 3});
  schedule.Hold({.count = {200, 200}, .messages = 2, .squares = 20'000});
  EXPECT_FALSE(schedule.Releases(1)) << "the same two may have sent before";
  schedule.Hold({.count = {10, 10}, .messages = 3, .squares = 34});
  EXPECT_TRUE(schedule.Releases(1));
  schedule.Released(1);
  schedule.Hold({.count = {1000, 1000}, .messages = 5, .squares = 950'000});
  EXPECT_FALSE(schedule.Releases(2)) << "one of them may have all but 25";
  std::vector<double> saved(NoisySchedule::kSavedSize);
  schedule.Save(saved);
  NoisySchedule back(100, {.least_clients = 3});
  back.Load(saved);
  for (NoisySchedule* each : {&schedule, &back}) {
    each->Hold({.count = {20, 20}, .messages = 5, .squares = 80});
    EXPECT_TRUE(each->Releases(2));
  }
}

TEST(NoisySchedule, AsksInTheLastEighthBeforeARelease) {
  NoisySchedule schedule(100, {.budget = 100});
  schedule.Released(400);
  std::vector<std::uint64_t> asked;
  for (std::uint64_t step = 400; step < 500; ++step) {
    if (schedule.Asks(step)) asked.push_back(step);
  }
  EXPECT_THAT(asked, SizeIs(13));  // 100 / 8, and the last
  EXPECT_EQ(asked.front(), 487U);
}

/// Clients that answer whatever a server asks for, and somebody who opens without noise.
class NoisyServer : public Noisy {
 protected:
  Updates Answer(std::uint64_t k) {
    Updates updates;
    updates.clients = {k};
    updates.first = {0, 1};
    updates.blocks = {0};
    const LearntSamples samples = NoisySamples(20, 100 * step_ + k);
    all_.x.insert(all_.x.end(), samples.x.begin(), samples.x.end());
    all_.y.insert(all_.y.end(), samples.y.begin(), samples.y.end());
    updates.integers = Sums(samples);
    updates.samples = {20};
    updates.unknowns = {80};
    updates.fresh = {{20, 80}};
    updates.new_unknowns = {80};
    return updates;
  }
  void Commit(Server& server, std::size_t clients) {
    std::vector<std::unique_ptr<Inbox>> inboxes;
    for (int i = 0; i < 2; ++i) inboxes.push_back(server.NewInbox());
    const bool asked = !server.broadcast().turn.empty();
    for (std::uint64_t k = 0; asked && k < clients; ++k) inboxes[k % 2]->Add(Answer(k));
    server.Commit(inboxes, clients);
    ++step_;
  }
  /// What a release adds to those before it.
  void Estimate(Release& release) {
    running_.resize(release.sums.size());
    for (std::size_t i = 0; i < running_.size(); ++i) {
      running_[i] += static_cast<double>(release.sums[i]) * grid_.unit();
    }
    release.estimate = running_;
    release.deviation = 0.01;
  }
  void Step(Server& server, std::size_t clients = 5) {
    Commit(server, clients);
    for (Release& release : server.releases()) Estimate(release);
    server.Open();
  }
  std::unique_ptr<Server> NewServer(std::size_t releases = 64) {
    return NewNoisyGramServer(grid_, {.ridge = 0.01, .schedule = {.releases = releases}});
  }
  void ExpectSolutionOfAll(const Server& server) {
    const double samples = static_cast<double>(all_.y.size());
    const auto theta = SolveNoisy(grid_, running_, samples, 0.01, 0.01);
    for (std::size_t j = 0; j < kNoisyFeatures; ++j) {
      EXPECT_FLOAT_EQ(server.broadcast().model[j], static_cast<float>(theta[2 * j]));
      EXPECT_FLOAT_EQ(server.broadcast().model[kNoisyFeatures + j],
                      static_cast<float>(theta[2 * j + 1]));
    }
    const Vector exact = Numbers(all_);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      // Each of the messages was rounded by half a unit, of at most 10 releases of 5.
      EXPECT_NEAR(running_[i], exact[i], 26 * grid_.unit());
    }
  }

  std::uint64_t step_ = 0;
  LearntSamples all_;
  Vector running_;
};

TEST_F(NoisyServer, LearnsFromWhatIsReleased) {
  const auto server = NewServer();
  for (int i = 0; i < 12; ++i) Step(*server);
  EXPECT_EQ(server->broadcast().releases, 8U);
  ExpectSolutionOfAll(*server);
  EXPECT_THAT(server->discarded(), IsEmpty());
}

TEST_F(NoisyServer, HoldsSumsOverFewSamplesUntilThereAreMore) {
  const auto server = NewServer();
  Step(*server, 1);
  EXPECT_THAT(running_, IsEmpty());
  EXPECT_THAT(server->broadcast().turn, ElementsAre(0));
  Step(*server, 1);
  EXPECT_EQ(server->broadcast().releases, 1U);
  ExpectSolutionOfAll(*server);
}

TEST_F(NoisyServer, GoesOnPredictingWhenAllReleasesAreSpent) {
  const auto server = NewServer(2);
  Step(*server);
  Step(*server);
  const auto model = server->broadcast().model;
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(server->broadcast().turn, IsEmpty());
    Step(*server);
  }
  EXPECT_EQ(server->broadcast().releases, 2U);
  EXPECT_EQ(server->broadcast().model, model);
}

TEST_F(NoisyServer, LearnsNothingWithoutNoise) {
  const auto server = NewServer();
  Commit(*server, 5);
  try {
    server->Open();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("without noise"));
  }
  EXPECT_EQ(server->broadcast().model, std::vector<float>(kNoisyWidth));
}

TEST_F(NoisyServer, LeavesTheModelAsItIsIfAReleaseIsRefused) {
  const auto server = NewServer();
  Step(*server);
  const auto model = server->broadcast().model;
  Commit(*server, 5);
  ASSERT_THAT(server->releases(), SizeIs(1));
  server->releases()[0].refusal = "too few clients";
  server->Open();
  EXPECT_EQ(server->broadcast().model, model);
  ASSERT_THAT(server->discarded(), SizeIs(1));
  EXPECT_THAT(server->discarded()[0], HasSubstr("too few clients"));
}

TEST_F(NoisyServer, LearnsNothingMoreFromSumsThatNoSamplesHave) {
  const auto server = NewServer();
  Step(*server);
  const auto model = server->broadcast().model;
  for (const double wrong : {1e15, -1e15, 1e3}) {
    Commit(*server, 5);
    ASSERT_THAT(server->releases(), SizeIs(1));
    Estimate(server->releases()[0]);
    server->releases()[0].estimate[7] += wrong;
    server->Open();
    EXPECT_EQ(server->broadcast().model, model);
    ASSERT_THAT(server->discarded(), SizeIs(1));
    EXPECT_THAT(server->discarded()[0], HasSubstr("no samples can have these sums"));
  }
}

TEST_F(NoisyServer, ResumesWhereItWasSaved) {
  const auto server = NewServer();
  for (int i = 0; i < 9; ++i) {
    const auto other = NewServer();
    other->Load(server->broadcast().step, server->Save());
    EXPECT_EQ(other->Save(), server->Save());
    EXPECT_EQ(other->broadcast().turn, server->broadcast().turn);
    Commit(*server, i == 0 ? 1 : 5);
    const auto closing = NewServer();
    closing->Load(server->broadcast().step, server->Save());
    ASSERT_EQ(closing->releases().size(), server->releases().size());
    for (std::size_t r = 0; r < server->releases().size(); ++r) {
      EXPECT_EQ(closing->releases()[r].number, server->releases()[r].number);
      EXPECT_EQ(closing->releases()[r].sums, server->releases()[r].sums);
      EXPECT_EQ(closing->releases()[r].count, server->releases()[r].count);
      Estimate(server->releases()[r]);
      closing->releases()[r].estimate = server->releases()[r].estimate;
      closing->releases()[r].deviation = server->releases()[r].deviation;
    }
    server->Open();
    closing->Open();
    EXPECT_EQ(closing->Save(), server->Save());
  }
  auto saved = server->Save();
  saved.pop_back();
  EXPECT_THROW(NewServer()->Load(9, saved), Error);
}

TEST(NoisyPofGram, ChoosesItsSizeByTheBudget) {
  AlgorithmOptions options;
  options.epsilon = 1;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 30U);
  options.burst = 1;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 21U);
  options.budget = 300;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 10U);
  options.budget = 200;
  EXPECT_THROW(CheckAlgorithm("pof-gram", options), Error);
  EXPECT_THAT(ExpertNames("pof-gram", {.epsilon = 1}, 1), SizeIs(1));
}

TEST(NoisyPofGram, SendsASampleOnceEvenIfItDidNotCount) {
  AlgorithmOptions options;
  options.epsilon = 1;
  options.experts = Experts::kFederated;
  const auto algorithm = MakeAlgorithm("pof-gram", options, twin::kEndless);
  const auto step = algorithm->NewCpuStep();
  Vector state(algorithm->state_size());
  twin::History history;
  Broadcast broadcast;
  broadcast.model.resize(algorithm->shape().model_size());
  broadcast.turn = {0};
  const std::uint64_t ids[] = {0};
  double* const states[] = {state.data()};
  for (int i = 0; i < 4; ++i) {
    const float x[] = {0.1F * static_cast<float>(i), 0.5F, 0};
    step->Predict(broadcast, {ids, x, states, {}, &history});
    history.Add(0, x, 0.3);
    const Updates& sent = step->Learn(Vector{0.3}, {.last_counted = false});
    EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{1});
    EXPECT_EQ(sent.integers.size(), GramGrid::Noisy(30).NumbersOf(0));
    EXPECT_NO_THROW(algorithm->CheckContents(sent, broadcast));
  }
}

}  // namespace
}  // namespace polykern
