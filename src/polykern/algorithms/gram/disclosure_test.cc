// What disclosure leaves open: every sample by default, and nothing by four times as much.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "polykern/algorithms/gram/attack_testing.h"
#include "polykern/algorithms/gram/gram_schedule.h"

namespace polykern {
namespace {

using attack::AddTo;
using attack::Attack;
using attack::ErrorsOf;
using attack::FastDot;
using attack::kInputs;
using attack::kSought;
using attack::Length;
using attack::Near;
using attack::Secret;
using attack::SeenSum;
using attack::SeenSums;
using attack::Support;
using twin::Matrix;
using twin::Vector;

/// What a federation sends whose clients, each with a sample per step, trust all experts alike.
std::vector<SeenSum> ReleasedSums(const GramGrid& grid, const GramRules& rules, std::size_t clients,
                                  std::size_t steps) {
  GramSchedule schedule(grid, rules);
  const Vector trust(grid.experts(), 1 / static_cast<double>(grid.experts()));
  std::vector<SeenSum> released;
  std::vector<std::uint32_t> turn;
  std::uint64_t reach = 0;
  for (std::size_t step = 1; step <= steps; ++step) {
    for (const std::uint32_t expert : turn) {
      const auto had = static_cast<std::size_t>(schedule.Samples(expert));
      released.push_back({expert, had, step * clients});
      const std::uint64_t samples = step * clients - had;
      const std::uint64_t fresh = step * clients - std::exchange(reach, step * clients);
      schedule.Hold(expert, {{samples, samples * kSought}, fresh * kSought, 1});
    }
    schedule.Learnt({clients, clients * kSought});
    for (const std::uint32_t expert : turn) {
      const double held = schedule.Held(expert);
      EXPECT_TRUE(schedule.Close(expert)) << "everybody is there";
      schedule.Opened(expert, held, trust);
    }
    turn = schedule.NextTurn();
  }
  return released;
}

/// Those over samples from .. to - 1 alone, which are numbered from 0 then.
std::vector<SeenSum> SumsWithin(const std::vector<SeenSum>& sums, std::size_t from,
                                std::size_t to) {
  std::vector<SeenSum> within;
  for (const SeenSum& sum : sums) {
    if (sum.first < from || sum.last > to) continue;
    within.push_back({sum.expert, sum.first - from, sum.last - from});
  }
  return within;
}

/// Orthonormal vectors that span the rows: Gram and Schmidt, twice, which is enough. What is 1e-10
/// of a row counts as a direction of its own: the attacker gets more than the rounding leaves him.
Matrix RowSpace(Matrix rows) {
  Matrix space;
  std::vector<Support> supports;
  for (Vector& row : rows) {
    const double length = Length(row);
    if (length == 0) continue;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < space.size(); ++i) {
        const auto [begin, end] = supports[i];
        const auto q = std::span(space[i]).subspan(begin, end - begin);
        const auto part = std::span(row).subspan(begin, end - begin);
        const double share = FastDot(q, part);
        if (share != 0) AddTo(part, -share, q);
      }
    }
    const double left = Length(row);
    if (left < 1e-10 * length) continue;
    for (double& value : row) value /= left;
    supports.emplace_back(row);
    space.push_back(std::move(row));
  }
  return space;
}

/// Which share of a sample's numbers, and of their combinations, the null space leaves open: the
/// block of the projection on it, I - Q'Q.
Matrix OpenBlock(const Matrix& space, std::size_t sample) {
  Matrix block(kSought, Vector(kSought));
  for (std::size_t i = 0; i < kSought; ++i) {
    block[i][i] = 1;
    for (const Vector& q : space) {
      AddTo(block[i], -q[sample * kSought + i], std::span(q).subspan(sample * kSought, kSought));
    }
  }
  return block;
}

/// By inverse iteration.
double LeastEigenvalue(const Matrix& positive) {
  Vector v(positive.size(), 1);
  double least = 0;
  for (int i = 0; i < 30; ++i) {
    v = twin::Solve(positive, v);
    least = 1 / Length(v);
    for (double& value : v) value *= least;
  }
  return least;
}

class Disclosed : public testing::Test {
 protected:
  static constexpr std::size_t kSenders = 8;

  GramGrid grid_{4, 100};
  KernelBank bank_{MakeDictionary("gaussian", 4), kInputs, 100, 3};
};

TEST_F(Disclosed, SumsByDefaultLeaveEverySampleOpen) {
  const std::size_t steps = 26;
  const std::size_t samples = kSenders * steps;
  const Vector secret = Secret(samples, 1);
  const auto sums = ReleasedSums(grid_, {}, kSenders, steps);
  std::vector<bool> heard(grid_.kernels());
  for (const SeenSum& sum : sums) heard[grid_.KernelOf(sum.expert)] = true;
  EXPECT_THAT(heard, testing::Each(true));
  const SeenSums seen(grid_, bank_, sums, secret);

  // The weights that come with each sum may be any equations.
  const Matrix space = RowSpace(seen(secret).slopes);
  EXPECT_LE(2 * (space.size() + sums.size() * grid_.experts()), samples * kSought);
  for (std::size_t s = 0; s < samples; ++s) {
    // Two thirds of all directions are open. Of a sample's six numbers no combination is known:
    // the least share that is open was measured as 0.07.
    EXPECT_GT(LeastEigenvalue(OpenBlock(space, s)), 0.02) << "sample " << s;
  }

  // Somebody who knows each number to within 0.05 finds other samples with these sums, to their
  // rounding. Steps move along what is known alone, a third of all directions, so each sample keeps
  // most of its error: the least was 0.011 of 0.02 at the start.
  Vector v = Near(secret, 7);
  const double left = Length(seen(secret).by);
  EXPECT_LE(Attack(std::cref(seen), v, left, 30), 4 * left);  // after 30 steps nearly
  for (const double error : ErrorsOf(v, secret)) EXPECT_GT(error, 0.005);
}

TEST_F(Disclosed, SumsByFourTimesTheDefaultLeaveNothingOpen) {
  // The first samples, by the sums over them alone: soon there are equations for every unknown.
  bool closed = false;
  for (std::size_t steps = 4; steps <= 12 && !closed; ++steps) {
    const std::size_t samples = kSenders * steps;
    const auto sums =
        SumsWithin(ReleasedSums(grid_, {.disclosure = 2}, kSenders, steps), 0, samples);
    const Vector secret = Secret(samples, 1);
    const SeenSums seen(grid_, bank_, sums, secret);
    closed = RowSpace(seen(secret).slopes).size() == secret.size();
  }
  EXPECT_TRUE(closed);
}

}  // namespace
}  // namespace polykern
