#include "polykern/algorithms/successors/newton_server.h"

#include <atomic>
#include <cmath>
#include <latch>
#include <string>
#include <thread>

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using twin::Vector;
using twin::Weighted;

constexpr std::size_t kKernels = 3;
constexpr std::size_t kWidth = 10;
constexpr std::size_t kClients = 8;
constexpr ModelShape kShape = {kKernels, kWidth, kKernels};
constexpr std::size_t kEquations = kWidth * (kWidth + 3) / 2;
constexpr std::size_t kSaved = kEquations + kWidth + 3;

/// A step's messages, one Updates per client. Each client is there with probability 0.7 and sends
/// each kernel with probability `share`.
std::vector<Updates> DrawStep(std::uint64_t step, double share = 1) {
  Random random(21, Purpose::kTest, step);
  std::vector<Updates> all;
  for (std::uint64_t k = 0; k < kClients; ++k) {
    if (random.Uniform() > 0.7) continue;
    Updates& updates = all.emplace_back();
    updates.step = step;
    updates.clients = {k};
    const double y = random.Uniform() - 0.5;
    for (std::uint32_t i = 0; i < kKernels; ++i) {
      if (random.Uniform() >= share) continue;
      Vector z;
      for (std::size_t j = 0; j < kWidth; ++j)
        z.push_back(random.Normal() / static_cast<double>(1 + j + i));
      const double size = std::exp(std::asinh(y)) / std::sqrt(twin::Dot(z, z));
      for (const double value : z) updates.values.push_back(static_cast<float>(size * value));
      updates.blocks.push_back(i);
    }
    updates.first = {0, updates.blocks.size()};
  }
  return all;
}

/// Jobs taken by as many threads as there are lanes, whichever is free.
RunJobs OnThreads(std::size_t lanes) {
  return [lanes](std::size_t count, const std::function<void(std::size_t, std::size_t)>& job) {
    std::atomic<std::size_t> next = 0;
    std::latch start(static_cast<std::ptrdiff_t>(lanes));
    std::vector<std::jthread> threads;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      threads.emplace_back([&, lane] {
        start.arrive_and_wait();
        for (std::size_t i = next++; i < count; i = next++) job(i, lane);
      });
    }
  };
}

/// A server and its inboxes, which take messages in turn.
struct Real {
  explicit Real(const NewtonRule& rule, std::size_t lanes = 1)
      : server(NewNewtonServer(kShape, rule)) {
    while (inboxes.size() < lanes) inboxes.push_back(server->NewInbox());
  }

  void Step(const std::vector<Updates>& messages, const RunJobs& run = RunInTurn) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      inboxes[i % inboxes.size()]->Add(messages[i]);
    }
    server->Commit(inboxes, messages.size(), run);
  }
  Vector Theta(std::size_t kernel) const {
    const Vector saved = server->Save();
    const auto at = saved.begin() + static_cast<std::ptrdiff_t>(kernel * kSaved + kEquations);
    return {at, at + kWidth};
  }
  std::span<const float> Model(std::size_t kernel) const {
    return std::span(server->broadcast().model).subspan(kernel * kWidth, kWidth);
  }

  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<Inbox>> inboxes;
};

/// Every sample that messages ever told about, and batch regressions of them. `unit`: what samples
/// are rounded to; 0: they are not.
class SlowNewtonServer {
 public:
  SlowNewtonServer(const NewtonRule& rule, double unit) : rule_(rule), unit_(unit) {}

  void Step(const std::vector<Updates>& messages) {
    ++steps_;
    for (const Updates& updates : messages) {
      for (std::size_t at = 0; at < updates.blocks.size(); ++at) {
        const auto message = std::span(updates.values).subspan(at * kWidth, kWidth);
        double square = 0;
        for (const float value : message) square += std::pow(static_cast<double>(value), 2);
        const double length = std::sqrt(square);
        Weighted sample;
        for (const float value : message) {
          sample.z.push_back(Rounded(static_cast<double>(value) / length));
        }
        sample.y = Rounded(std::sinh(std::log(length)));
        auto& own = samples_[updates.blocks[at]];
        // Those of earlier steps count less from now on; a step without samples is made up for by
        // the next one that has some.
        for (Weighted& earlier : own) {
          earlier.weight *= std::pow(rule_.forgetting, steps_ - last_[updates.blocks[at]]);
        }
        last_[updates.blocks[at]] = steps_;
        own.push_back(sample);
      }
    }
  }
  Vector Theta(std::size_t kernel) const {
    return twin::RidgeSolution(samples_[kernel], rule_.ridge, kWidth);
  }
  std::size_t samples(std::size_t kernel) const { return samples_[kernel].size(); }

 private:
  double Rounded(double value) const {
    return unit_ == 0 ? value : std::nearbyint(value / unit_) * unit_;
  }

  NewtonRule rule_;
  double unit_;
  int steps_ = 0;
  int last_[kKernels] = {};
  std::vector<Weighted> samples_[kKernels];
};

double RelativeDifference(const Vector& a, const Vector& b) {
  Vector difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return std::sqrt(twin::Dot(difference, difference) / twin::Dot(b, b));
}

TEST(NewtonServer, SolvesTheRidgeRegressionOfAllSamplesItWasTold) {
  for (const double share : {1.0, 0.4}) {
    const NewtonRule rule;
    Real real(rule);
    SlowNewtonServer rounded(rule, 0x1p-22);
    SlowNewtonServer exact(rule, 0);
    for (std::uint64_t t = 0; t < 60; ++t) {
      const auto messages = DrawStep(t, share);
      real.Step(messages);
      rounded.Step(messages);
      exact.Step(messages);
      for (std::size_t i = 0; i < kKernels; ++i) {
        if (rounded.samples(i) == 0) continue;
        // Condition numbers are below 400 / ridge = 4e6: 16 digits less 7.
        ASSERT_LT(RelativeDifference(real.Theta(i), rounded.Theta(i)), 1e-9) << t;
        // Rounding moves what each of n < 400 samples leaves over by 2^-23 (1 + ||theta||_1), about
        // 4e-7, and (A + ridge I)^-1 Z' has a norm of at most 1 / (2 sqrt(ridge)) = 50: together
        // sqrt(n) 2e-5 if all errors lined up, and the root of n less since they do not.
        ASSERT_LT(RelativeDifference(real.Theta(i), exact.Theta(i)), 2e-5) << t;
        ASSERT_LT(twin::RelativeError(real.Model(i), real.Theta(i)), 1e-7);
      }
    }
    EXPECT_EQ(real.server->broadcast().step, 60U);
    EXPECT_GT(rounded.samples(0), share * 60 * kClients / 2);
  }
}

TEST(NewtonServer, HasTheSameBitsForAnyOrderInboxesThreadsAndOldMessages) {
  const NewtonRule rule = {0.01, 0.98, 0.05};
  Real plain(rule);
  Real backwards(rule);
  Real late(rule);
  Real lanes(rule, 5);
  Real threads(rule, 4);
  Random random(22, Purpose::kTest);
  for (std::uint64_t t = 0; t < 30; ++t) {
    auto messages = DrawStep(t, 0.6);
    plain.Step(messages);
    std::reverse(messages.begin(), messages.end());
    backwards.Step(messages);
    random.Shuffle(messages);
    lanes.Step(messages);
    threads.Step(messages, OnThreads(4));
    for (Updates& updates : messages) updates.step = random.Below(t + 1);
    late.Step(messages);
  }
  const Vector saved = plain.server->Save();
  for (const Real* other : {&backwards, &late, &lanes, &threads}) {
    EXPECT_EQ(other->server->Save(), saved);
    EXPECT_EQ(other->server->broadcast().model, plain.server->broadcast().model);
  }
}

TEST(NewtonServer, TakesAMessageThatComesLateForWhatItIs) {
  // Without forgetting it makes no difference when a message comes.
  Real in_time({});
  Real late({});
  std::vector<Updates> waiting;
  for (std::uint64_t t = 0; t < 20; ++t) {
    auto messages = DrawStep(t);
    in_time.Step(messages);
    waiting.push_back(messages.back());
    messages.pop_back();
    late.Step(messages);
  }
  in_time.Step({});
  late.Step(waiting);
  for (std::size_t i = 0; i < kKernels; ++i) {
    EXPECT_LT(RelativeDifference(late.Theta(i), in_time.Theta(i)), 1e-9);
  }
}

TEST(NewtonServer, ForgetsStepByStep) {
  // Few messages, so that some steps bring a kernel nothing.
  const NewtonRule rule = {0.01, 0.9, 0};
  Real real(rule);
  SlowNewtonServer slow(rule, 0x1p-22);
  for (std::uint64_t t = 0; t < 60; ++t) {
    const auto messages = t % 7 == 3 ? std::vector<Updates>() : DrawStep(t, 0.15);
    real.Step(messages);
    slow.Step(messages);
    for (std::size_t i = 0; i < kKernels; ++i) {
      if (slow.samples(i) == 0) continue;
      ASSERT_LT(RelativeDifference(real.Theta(i), slow.Theta(i)), 1e-8) << t;
    }
  }
}

TEST(NewtonServer, SolvesLaterButFromTheSameEquationsIfItIsTold) {
  Real eager({1e-4, 1, 0});
  Real lazy({1e-4, 1, 0.2});
  std::size_t solved = 0;
  for (std::uint64_t t = 0; t < 60; ++t) {
    const auto messages = DrawStep(t);
    const Vector before = lazy.Theta(0);
    eager.Step(messages);
    lazy.Step(messages);
    if (lazy.Theta(0) != before) {
      EXPECT_EQ(lazy.Theta(0), eager.Theta(0)) << t;
      ++solved;
    }
    const Vector a = eager.server->Save();
    const Vector b = lazy.server->Save();
    for (std::size_t i = 0; i < kKernels; ++i) {
      const auto first = static_cast<std::ptrdiff_t>(i * kSaved);
      const auto last = first + static_cast<std::ptrdiff_t>(kEquations);
      ASSERT_TRUE(std::equal(a.begin() + first, a.begin() + last, b.begin() + first)) << t;
      // All samples are counted, and those that theta lacks are fewer than a fifth of them.
      const double all = b[i * kSaved + kSaved - 2];
      ASSERT_EQ(all, a[i * kSaved + kSaved - 2]);
      ASSERT_LT(b[i * kSaved + kSaved - 1], 0.2 * all);
    }
  }
  // Samples grow by a quarter between two solutions: from 5 to 340 that is about 19 times.
  EXPECT_GT(solved, 10U);
  EXPECT_LT(solved, 30U);
}

TEST(NewtonServer, ResumesWithTheSameBitsAfterSavingAndLoading) {
  const NewtonRule rule = {0.01, 0.95, 0.1};
  Real whole(rule);
  Real again(rule);
  for (std::uint64_t t = 0; t < 40; ++t) {
    if (t == 17) {
      again.server->Load(17, whole.server->Save());
      EXPECT_EQ(again.server->broadcast().model, whole.server->broadcast().model);
      EXPECT_EQ(again.server->broadcast().step, 17U);
    }
    whole.Step(DrawStep(t, 0.3));
    if (t >= 17) again.Step(DrawStep(t, 0.3));
  }
  EXPECT_EQ(again.server->Save(), whole.server->Save());
  EXPECT_EQ(again.server->broadcast().model, whole.server->broadcast().model);
}

TEST(NewtonServer, RefusesASavedModelOfAnotherSize) {
  Real real({});
  real.Step(DrawStep(0));
  const Vector before = real.server->Save();
  EXPECT_EQ(before.size(), kKernels * kSaved);
  EXPECT_THAT([&] { real.server->Load(1, Vector(before.size() - 1)); },
              testing::ThrowsMessage<Error>(
                  AllOf(HasSubstr(std::to_string(before.size() - 1) + " numbers"),
                        HasSubstr("does not fit " + std::to_string(before.size())))));
  EXPECT_EQ(real.server->Save(), before);
}

TEST(NewtonServer, RefusesASavedModelOfALaterStep) {
  Real real({});
  for (std::uint64_t t = 0; t < 5; ++t) real.Step(DrawStep(t));
  Vector saved = real.server->Save();
  Real other({});
  const Vector before = other.server->Save();
  EXPECT_THAT([&] { other.server->Load(4, saved); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("step 4"), HasSubstr("kernel 0"))));
  for (const double bad : {-1.0, std::nan("")}) {
    saved[2 * kSaved - 3] = bad;
    EXPECT_THAT([&] { other.server->Load(5, saved); },
                testing::ThrowsMessage<Error>(HasSubstr("kernel 1")));
  }
  EXPECT_EQ(other.server->Save(), before);
  EXPECT_EQ(other.server->broadcast().step, 0U);
}

TEST(NewtonServer, NamesKernelAndStepOfASystemThatCannotBeSolved) {
  Real real({});
  Vector saved = real.server->Save();
  saved[kSaved] = -5;  // of kernel 1, the first number of its matrix: far from positive definite
  for (const std::size_t lanes : {1, 2}) {
    Real broken({}, lanes);
    broken.server->Load(12, saved);
    EXPECT_THAT([&] { broken.Step(DrawStep(12)); },
                testing::ThrowsMessage<Error>(
                    AllOf(HasSubstr("kernel 1"), HasSubstr("step 12"), HasSubstr("raise ridge"))));
  }
}

TEST(NewtonServer, RefusesMoreClientsThanItsSumsHold) {
  Real real({});
  const Vector before = real.server->Save();
  real.inboxes[0]->Add(DrawStep(0)[0]);
  EXPECT_THAT([&] { real.server->Commit(real.inboxes, (1U << 19) + 1); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("2^19"), HasSubstr("524289"))));
  EXPECT_EQ(real.server->Save(), before);
  EXPECT_EQ(real.server->broadcast().step, 0U);
  EXPECT_NO_THROW(real.server->Commit(real.inboxes, 1U << 19));
  EXPECT_NE(real.server->Save(), before);
}

TEST(NewtonServer, LeavesAKernelAloneThatNoClientSent) {
  Real real({0.01, 0.5, 0});
  for (std::uint64_t t = 0; t < 5; ++t) {
    Updates updates = DrawStep(t)[0];
    updates.blocks = {2};
    updates.first = {0, 1};
    updates.values.resize(kWidth);
    real.Step({updates});
  }
  EXPECT_EQ(real.Theta(0), Vector(kWidth));
  EXPECT_EQ(real.Theta(1), Vector(kWidth));
  EXPECT_NE(real.Theta(2), Vector(kWidth));
}

TEST(LengthOf, TellsTheLabel) {
  double least = 0;
  for (int i = -50; i <= 50; ++i) {
    const double y = i / 100.0;
    EXPECT_NEAR(LengthOf(y), std::exp(std::asinh(y)), 1e-15);
    EXPECT_GT(LengthOf(y), least);
    least = LengthOf(y);
    EXPECT_NEAR(LabelOf(LengthOf(y)), y, 1e-15);
    // A float is off by 2^-25 below 1, where a label changes 1.81 times as fast as its length at
    // most, and by 2^-24 above, where it is at most once as fast.
    const auto sent = static_cast<float>(LengthOf(y));
    EXPECT_NEAR(LabelOf(static_cast<double>(sent)), y, 0x1p-24);
  }
  EXPECT_EQ(LengthOf(0), 1);
}

}  // namespace
}  // namespace polykern
