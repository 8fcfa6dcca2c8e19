#include "polykern/sim/stream_history.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr std::size_t kHoledSteps = 30;
constexpr std::size_t kHoledClients = 3;
constexpr std::size_t kHoledInputs = 2;

/// A stream of random numbers, in which a client has a sample with some probability.
class HoledStream {
 public:
  HoledStream(double there, std::uint64_t seed) {
    Random random(seed, Purpose::kTest);
    for (std::size_t i = 0; i < kHoledSteps * kHoledClients; ++i) {
      present_.push_back(random.Uniform() < there ? 1 : 0);
      y_.push_back(random.Uniform());
      for (std::size_t j = 0; j < kHoledInputs; ++j) {
        x_.push_back(static_cast<float>(random.Normal()));
      }
    }
  }
  HoledStream(const HoledStream&) = delete;
  HoledStream& operator=(const HoledStream&) = delete;

  ArrayStream View() const {
    const auto row = static_cast<std::ptrdiff_t>(kHoledInputs * sizeof(float));
    const auto width = static_cast<std::ptrdiff_t>(sizeof(double));
    const auto clients = static_cast<std::ptrdiff_t>(kHoledClients);
    return {{kHoledSteps, kHoledClients, kHoledInputs},
            {reinterpret_cast<const std::byte*>(x_.data()), false, {clients * row, row, 4}},
            {reinterpret_cast<const std::byte*>(y_.data()), true, {clients * width, width, width}},
            present_};
  }

 private:
  std::vector<float> x_;
  std::vector<double> y_;
  std::vector<std::uint8_t> present_;
};

/// What a client has learnt from when `step` is over, from the first step on.
LearntSamples LearntBy(const Stream& stream, const Attendance& attendance, std::uint64_t client,
                       std::size_t step) {
  LearntSamples learnt;
  SampleBlock block;
  for (std::size_t at = 0; at <= step; ++at) {
    stream.Read(at, client, 1, block);
    if (block.present[0] == 0 || !attendance.Attends(client, at)) continue;
    learnt.x.insert(learnt.x.end(), block.x.begin(), block.x.end());
    learnt.y.push_back(block.y[0]);
  }
  return learnt;
}

/// Samples from .. to - 1 of these.
LearntSamples PartOf(const LearntSamples& all, std::size_t from, std::size_t to) {
  LearntSamples part;
  for (std::size_t i = from; i < to; ++i) {
    part.y.push_back(all.y[i]);
    for (std::size_t j = 0; j < kHoledInputs; ++j) part.x.push_back(all.x[i * kHoledInputs + j]);
  }
  return part;
}

TEST(StreamHistory, ReadsBackwardsWhatAPassForwardsFinds) {
  std::size_t gaps = 0;
  for (const double there : {1.0, 0.5}) {
    for (const double participation : {1.0, 0.6}) {
      const HoledStream numbers(there, 5);
      const ArrayStream stream = numbers.View();
      const Attendance attendance{7, participation};
      StreamHistory history(stream, attendance);
      for (const std::size_t step : {std::size_t{0}, std::size_t{1}, kHoledSteps - 1}) {
        history.Begin(step);
        for (std::uint64_t client = 0; client < kHoledClients; ++client) {
          const LearntSamples all = LearntBy(stream, attendance, client, step);
          gaps += step + 1 - all.y.size();
          for (std::size_t from = 0; from <= all.y.size(); ++from) {
            for (std::size_t to = from; to <= all.y.size(); ++to) {
              LearntSamples read;
              history.Read(client, from, to, all.y.size(), read);
              const LearntSamples expected = PartOf(all, from, to);
              ASSERT_EQ(read.y, expected.y) << from << " to " << to << " at step " << step;
              ASSERT_EQ(read.x, expected.x) << from << " to " << to << " at step " << step;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(gaps, 100U) << "too few steps were missed";
}

TEST(StreamHistory, AppendsToWhatIsThere) {
  const HoledStream numbers(0.7, 1);
  const ArrayStream stream = numbers.View();
  const Attendance attendance;
  StreamHistory history(stream, attendance);
  history.Begin(kHoledSteps - 1);
  const LearntSamples all = LearntBy(stream, attendance, 2, kHoledSteps - 1);
  LearntSamples read;
  history.Read(2, 0, 4, all.y.size(), read);
  history.Read(2, 4, 4, all.y.size(), read);
  history.Read(2, 4, all.y.size(), all.y.size(), read);
  EXPECT_EQ(read.y, all.y);
  EXPECT_EQ(read.x, all.x);
  const LearntSamples other = LearntBy(stream, attendance, 0, kHoledSteps - 1);
  history.Read(0, other.y.size() - 1, other.y.size(), other.y.size(), read);
  EXPECT_EQ(read.y.size(), all.y.size() + 1);
  EXPECT_EQ(read.y.back(), other.y.back());
}

TEST(Attendance, IsCertainOrNoneAtTheEnds) {
  for (std::uint64_t client = 0; client < 50; ++client) {
    for (std::size_t step = 0; step < 20; ++step) {
      EXPECT_TRUE((Attendance{client, 1}.Attends(client, step)));
      EXPECT_FALSE((Attendance{client, 0}.Attends(client, step)));
    }
  }
}

// Who is there with some probability is there with any greater one: runs can be compared.
TEST(Attendance, GrowsWithTheProbability) {
  const Attendance few{3, 0.2};
  const Attendance more{3, 0.7};
  int count_few = 0;
  int count_more = 0;
  for (std::uint64_t client = 0; client < 100; ++client) {
    for (std::size_t step = 0; step < 100; ++step) {
      const bool there = few.Attends(client, step);
      EXPECT_TRUE(!there || more.Attends(client, step));
      count_few += there ? 1 : 0;
      count_more += more.Attends(client, step) ? 1 : 0;
    }
  }
  // Of 10,000 coins: deviations of 40 and 46.
  EXPECT_NEAR(count_few, 2000, 200);
  EXPECT_NEAR(count_more, 7000, 230);
}

TEST(Attendance, DiffersBetweenSeedsClientsAndSteps) {
  int by_seed = 0;
  int by_client = 0;
  int by_step = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const bool there = Attendance{1, 0.5}.Attends(i, i);
    EXPECT_EQ((Attendance{1, 0.5}.Attends(i, i)), there);
    by_seed += (Attendance{2, 0.5}.Attends(i, i)) != there ? 1 : 0;
    by_client += (Attendance{1, 0.5}.Attends(i + 1, i)) != there ? 1 : 0;
    by_step += (Attendance{1, 0.5}.Attends(i, i + 1)) != there ? 1 : 0;
  }
  for (const int differ : {by_seed, by_client, by_step}) EXPECT_NEAR(differ, 500, 80);
}

}  // namespace
}  // namespace polykern
