// What updates and sums give away where nobody masks them and nobody adds noise: attacks that work
// are the honest measure. Each is a plain least-squares solver.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_schedule.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Vector;

constexpr std::size_t kInputs = 5;
constexpr std::size_t kSought = kInputs + 1;  // of a sample: its inputs, and its label

/// Plain pointers and four sums: tests are compiled without optimisation.
double FastDot(std::span<const double> a, std::span<const double> b) {
  const double* p = a.data();
  const double* q = b.data();
  const std::size_t size = a.size();
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    sums[0] += p[i] * q[i];
    sums[1] += p[i + 1] * q[i + 1];
    sums[2] += p[i + 2] * q[i + 2];
    sums[3] += p[i + 3] * q[i + 3];
  }
  for (; i < size; ++i) sums[0] += p[i] * q[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

void AddTo(std::span<double> a, double factor, std::span<const double> b) {
  double* p = a.data();
  const double* q = b.data();
  const std::size_t size = a.size();
  for (std::size_t i = 0; i < size; ++i) p[i] += factor * q[i];
}

double Length(const Vector& a) {
  return std::sqrt(FastDot(a, a));
}

Matrix Transposed(const Matrix& a) {
  Matrix t(a[0].size(), Vector(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < t.size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

/// Where a row is not 0: a sum knows nothing of other samples.
struct Support {
  explicit Support(const Vector& row) {
    const auto nonzero = [](double value) { return value != 0; };
    begin = static_cast<std::size_t>(std::ranges::find_if(row, nonzero) - row.begin());
    end = static_cast<std::size_t>(std::find_if(row.rbegin(), row.rend(), nonzero).base() -
                                   row.begin());
  }
  std::size_t begin;
  std::size_t end;
};

/// a a', the lower triangle.
Matrix RowProducts(const Matrix& a) {
  const std::vector<Support> supports(a.begin(), a.end());
  Matrix products(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t begin = std::max(supports[i].begin, supports[j].begin);
      const std::size_t end = std::min(supports[i].end, supports[j].end);
      const std::size_t size = end > begin ? end - begin : 0;
      products[i].push_back(size == 0 ? 0
                                      : FastDot(std::span(a[i]).subspan(begin, size),
                                                std::span(a[j]).subspan(begin, size)));
    }
  }
  return products;
}

/// (a + damping I)^-1 b, of a lower triangle, by Cholesky.
Vector SolveDamped(Matrix a, double damping, Vector b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i][i] += damping;
    for (std::size_t j = 0; j <= i; ++j) {
      double left = a[i][j];
      const double* p = a[i].data();
      const double* q = a[j].data();
      for (std::size_t k = 0; k < j; ++k) left -= p[k] * q[k];
      a[i][j] = i == j ? std::sqrt(std::max(left, 1e-300)) : left / a[j][j];
    }
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = a.size(); i-- > 0;) {
    b[i] /= a[i][i];
    for (std::size_t k = 0; k < i; ++k) b[k] -= a[i][k] * b[i];
  }
  return b;
}

/// Equations for what is sought: by how much each is missed, and the derivatives of that.
struct Missed {
  Vector by;
  Matrix slopes;
};
using Equations = std::function<Missed(const Vector&)>;

/// Steps of Levenberg and Marquardt from `v` until the equations hold to `enough` (the length of
/// what they are missed by), which is returned.
double Attack(const Equations& equations, Vector& v, double enough, int steps) {
  Missed missed = equations(v);
  double damping = 1e-3;
  while (steps > 0 && Length(missed.by) > enough) {
    // (J'J + c I)^-1 J' r = J' (JJ' + c I)^-1 r: the smaller of the two.
    const bool wide = missed.slopes.size() < v.size();
    const Matrix turned = Transposed(missed.slopes);
    const Matrix products = RowProducts(wide ? missed.slopes : turned);
    double all = 0;
    for (std::size_t i = 0; i < products.size(); ++i) all += products[i][i];
    Vector right = missed.by;
    if (!wide) {
      right.clear();
      for (const Vector& column : turned) right.push_back(FastDot(column, missed.by));
    }
    for (bool better = false; !better && steps > 0; --steps) {
      Vector step = SolveDamped(products, damping * all / static_cast<double>(v.size()), right);
      Vector next = v;
      for (std::size_t j = 0; j < v.size(); ++j) {
        const double down = wide ? FastDot(turned[j], step) : step[j];
        next[j] = std::clamp(v[j] - down, -0.2, 1.2);
      }
      Missed then = equations(next);
      better = FastDot(then.by, then.by) < FastDot(missed.by, missed.by);
      damping = better ? std::max(damping / 5, 1e-13) : damping * 4;
      if (damping > 1e6) return Length(missed.by);
      if (better) {
        v = std::move(next);
        missed = std::move(then);
      }
    }
  }
  return Length(missed.by);
}

/// Samples that somebody wants to know, uniform in [0, 1] as rows of floats and labels.
Vector Secret(std::size_t samples, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  Vector v(samples * kSought);
  for (double& value : v) value = static_cast<double>(static_cast<float>(random.Uniform()));
  return v;
}

/// As if somebody knew each number to within 5 %.
Vector Near(const Vector& secret, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  Vector v = secret;
  for (double& value : v) value += 0.1 * (random.Uniform() - 0.5);
  return v;
}

/// The largest error of each true sample's numbers in the sample found that is nearest to it: sums
/// do not say in which order samples came.
Vector ErrorsOf(const Vector& found, const Vector& secret) {
  Vector errors;
  for (std::size_t s = 0; s < secret.size(); s += kSought) {
    double least = 1e9;
    for (std::size_t f = 0; f < found.size(); f += kSought) {
      double error = 0;
      for (std::size_t j = 0; j < kSought; ++j) {
        error = std::max(error, std::abs(found[f + j] - secret[s + j]));
      }
      least = std::min(least, error);
    }
    errors.push_back(least);
  }
  return errors;
}

/// A sum that somebody has seen: of an expert over samples first .. last - 1.
struct SeenSum {
  std::size_t expert = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Sums over a federation's samples, as the real code computes them.
class SeenSums {
 public:
  SeenSums(const GramGrid& grid, const KernelBank& bank, std::vector<SeenSum> sums,
           const Vector& secret)
      : grid_(grid), bank_(bank), sums_(std::move(sums)) {
    const QuarteredKernels kernels(bank);
    GramSums real(grid, kernels);
    const Vector weights(grid.experts(), 1 / static_cast<double>(grid.experts()));
    for (const SeenSum& sum : sums_) {
      LearntSamples samples;
      for (std::size_t s = sum.first; s < sum.last; ++s) {
        for (std::size_t j = 0; j < kInputs; ++j) {
          samples.x.push_back(static_cast<float>(secret[s * kSought + j]));
        }
        samples.y.push_back(secret[s * kSought + kInputs]);
      }
      std::vector<std::uint64_t> integers;
      real.Append(sum.expert, samples, weights, integers);
      integers.resize(integers.size() - grid.experts());
      for (const std::uint64_t sent : integers) {
        seen_.push_back(static_cast<double>(static_cast<std::int64_t>(sent)) * GramGrid::kUnit);
      }
    }
  }

  /// All numbers of all sums, of samples `v`, less what was seen.
  Missed operator()(const Vector& v) const {
    Missed missed{seen_, Matrix(seen_.size(), Vector(v.size()))};
    for (double& by : missed.by) by = -by;
    std::size_t at = 0;
    for (const SeenSum& sum : sums_) {
      for (std::size_t s = sum.first; s < sum.last; ++s) AddSample(sum, v, s, at, missed);
      at += GramGrid::EquationsSize(grid_.WidthOf(sum.expert)) + 1;
    }
    return missed;
  }

 private:
  void AddSample(const SeenSum& sum, const Vector& v, std::size_t s, std::size_t at,
                 Missed& missed) const {
    const std::size_t width = grid_.WidthOf(sum.expert);
    const double* sample = &v[s * kSought];
    const double y = sample[kInputs] - GramGrid::kMiddle;
    Vector z(width);
    std::vector<std::array<double, kInputs>> dz(width);
    const double scale = 1 / std::sqrt(static_cast<double>(bank_.features()));
    for (std::size_t i = 0; i < width; i += 2) {
      const float* rho = &bank_.Frequencies(grid_.KernelOf(sum.expert))[i / 2 * kInputs];
      double angle = 0;
      for (std::size_t c = 0; c < kInputs; ++c) angle += static_cast<double>(rho[c]) * sample[c];
      z[i] = scale * std::sin(angle);
      z[i + 1] = scale * std::cos(angle);
      for (std::size_t c = 0; c < kInputs; ++c) {
        dz[i][c] = static_cast<double>(rho[c]) * z[i + 1];
        dz[i + 1][c] = -static_cast<double>(rho[c]) * z[i];
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = i; j < width; ++j, ++at) {
        missed.by[at] += z[i] * z[j];
        double* slopes = &missed.slopes[at][s * kSought];
        for (std::size_t c = 0; c < kInputs; ++c) slopes[c] = z[i] * dz[j][c] + z[j] * dz[i][c];
      }
      missed.by[at] += y * z[i];
      double* slopes = &missed.slopes[at++][s * kSought];
      for (std::size_t c = 0; c < kInputs; ++c) slopes[c] = y * dz[i][c];
      slopes[kInputs] = z[i];
    }
    missed.by[at] += y * y;
    missed.slopes[at][s * kSought + kInputs] = 2 * y;
  }

  const GramGrid& grid_;
  const KernelBank& bank_;
  std::vector<SeenSum> sums_;
  Vector seen_;
};

/// How far the sums of `samples` samples are from those of exact features, as a length: features
/// and labels are off by r = 2^-19 / sqrt(3) in the root mean square, products z_i z_j, i < j, by r
/// times the root of z_i^2 + z_j^2, z_i^2 by 2 r z_i, y z_i by at most r times that of 1/4 + z_i^2.
/// The squares of z sum to at most 1, so those of the errors to samples r^2 (5/4 width + 5).
double RoundingOf(std::size_t samples, std::size_t width) {
  return 0x1p-19 / std::sqrt(3.0) *
         std::sqrt(static_cast<double>(samples) * (1.25 * static_cast<double>(width) + 5));
}

/// How precise the numbers sought can be at best where the equations are missed by `left` at the
/// truth: dv = (J'J)^-1 J' e, and the squared length of the j-th row of (J'J)^-1 J' is
/// (J'J)^-1_jj, so |dv_j| <= |e| sqrt((J'J)^-1_jj), here for the worst j.
double PrecisionFor(double left, const Missed& at_truth) {
  const Matrix products = RowProducts(Transposed(at_truth.slopes));
  double worst = 0;
  for (std::size_t j = 0; j < products.size(); ++j) {
    Vector unit(products.size());
    unit[j] = 1;
    worst = std::max(worst, SolveDamped(products, 0, unit)[j]);
  }
  return left * std::sqrt(worst);
}

/// The update of one sample by a client of pof-mkl, with what everybody knows.
struct SentUpdate {
  explicit SentUpdate(const Vector& secret) {
    Random random(5, Purpose::kTest);
    for (std::size_t i = 0; i < 3 * bank->feature_size(); ++i) {
      broadcast.model.push_back(static_cast<float>(0.3 * random.Normal()));
    }
    options.learning_rate = rate;
    options.regularization = decay;
    const auto algorithm = NewPofMkl({bank, options, {kInputs, 100, 3}});
    const auto step = algorithm->NewCpuStep();
    Vector state(algorithm->state_size());
    double* const states[] = {state.data()};
    const std::uint64_t ids[] = {0};
    const double middle[] = {0.5};  // of three kernels the second
    const std::vector<float> x(secret.begin(), secret.begin() + kInputs);
    step->Predict(broadcast, {ids, x, states, middle});
    const double label[] = {secret[kInputs]};
    updates = step->Learn(label);
  }

  /// (eta / p) (2 (theta . z - y) z + 2 lambda theta), less what was sent. With exploration 1, the
  /// default, everybody knows p = 1 / 3.
  Missed operator()(const Vector& v) const {
    const std::size_t width = bank->feature_size();
    const std::size_t size = width / 2;
    const std::size_t kernel = updates.blocks[0];
    const Vector z = twin::FeaturesOf(*bank, kernel, {v.begin(), v.begin() + kInputs});
    const float* theta = &broadcast.model[kernel * width];
    double error = -v[kInputs];
    std::array<double, kInputs> along{};  // the derivatives of theta . z
    Matrix dz(width, Vector(kInputs));
    for (std::size_t i = 0; i < width; ++i) {
      error += static_cast<double>(theta[i]) * z[i];
      for (std::size_t c = 0; c < kInputs; ++c) {
        const auto rho = static_cast<double>(bank->Frequencies(kernel)[i % size * kInputs + c]);
        dz[i][c] = i < size ? rho * z[size + i] : -rho * z[i - size];
        along[c] += static_cast<double>(theta[i]) * dz[i][c];
      }
    }
    Missed missed{Vector(width), Matrix(width, Vector(kSought))};
    for (std::size_t i = 0; i < width; ++i) {
      missed.by[i] = 6 * rate * (error * z[i] + decay * static_cast<double>(theta[i])) -
                     static_cast<double>(updates.values[i]);
      for (std::size_t c = 0; c < kInputs; ++c) {
        missed.slopes[i][c] = 6 * rate * (along[c] * z[i] + error * dz[i][c]);
      }
      missed.slopes[i][kInputs] = -6 * rate * z[i];
    }
    return missed;
  }

  double rate = 0.1;
  double decay = 0.01;
  std::shared_ptr<const KernelBank> bank =
      std::make_shared<const KernelBank>(MakeDictionary("gaussian", 3), kInputs, 10, 3);
  AlgorithmOptions options;
  Broadcast broadcast;
  Updates updates;
};

/// Attacks from at most ten random starts until the equations hold to `enough`.
Vector AttackFromAnywhere(const Equations& equations, std::size_t samples, double enough) {
  Vector v;
  for (std::uint64_t start = 0; start < 10; ++start) {
    v = Secret(samples, 100 + start);
    if (Attack(equations, v, enough, 100) <= enough) return v;
  }
  ADD_FAILURE() << "no start led to a solution";
  return v;
}

TEST(Recovery, OfASampleFromOneUpdateOfPofMkl) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Vector secret = Secret(1, seed);
    const SentUpdate sent(secret);
    ASSERT_EQ(sent.updates.blocks.size(), 1U);
    // An update is 6 eta = 0.6 times the prediction's error long, which is below 3. Its features,
    // of length 1, are good to 1e-7 as their sines and cosines are, the error to little more, and
    // floats to 6e-8: all together less than 1e-6.
    const double left = 1e-6;
    const double precision = PrecisionFor(2 * left, sent(secret));
    EXPECT_LT(Length(sent(secret).by), left);
    EXPECT_LT(precision, 1e-3);
    const Vector found = AttackFromAnywhere(std::cref(sent), 1, left);
    EXPECT_LT(ErrorsOf(found, secret)[0], precision) << "seed " << seed;
  }
}

TEST(Recovery, OfEightSamplesFromOneSum) {
  const Kernel kernel{KernelKind::kGaussian, std::sqrt(0.3)};
  const KernelBank bank(std::span(&kernel, 1), kInputs, 21, 3);
  const GramGrid grid(1, 21);
  const Vector secret = Secret(8, 1);
  const SeenSums seen(grid, bank, {{2, 0, 8}}, secret);
  const double left = RoundingOf(8, 42);
  EXPECT_LT(Length(seen(secret).by), left);
  // What is found misses by as much as the truth does, at most, in another direction. The bound is
  // for the worst of all errors of that length: of these, the errors were below 1e-5.
  const double precision = PrecisionFor(2 * left, seen(secret));
  EXPECT_LT(precision, 3e-4);
  const Vector found = AttackFromAnywhere(std::cref(seen), 8, left);
  for (const double error : ErrorsOf(found, secret)) EXPECT_LT(error, precision);
}

/// The sums of all nine kernels, D = 5, over the same samples.
std::vector<SeenSum> NineSums(std::size_t samples) {
  std::vector<SeenSum> sums;
  for (std::size_t expert = 0; expert < 9; ++expert) sums.push_back({expert, 0, samples});
  return sums;
}

TEST(Recovery, OfTwentyTwoSamplesFromNineSumsThatAreEachTooFewEquations) {
  std::vector<Kernel> kernels;  // bandwidths from 10^-1/2 to 10^1/2
  for (int i = 0; i < 9; ++i) {
    kernels.push_back({KernelKind::kGaussian, std::pow(10, -0.25 + i / 16.0)});
  }
  const KernelBank bank(kernels, kInputs, 5, 3);
  const GramGrid grid(9, 5);
  EXPECT_LT(grid.NumbersOf(0) - grid.experts(), 22 * kSought);
  const Vector secret = Secret(22, 1);
  const SeenSums seen(grid, bank, NineSums(22), secret);
  const double left = 3 * RoundingOf(22, 10);  // the squares of nine sums
  EXPECT_LT(Length(seen(secret).by), left);
  const double precision = PrecisionFor(2 * left, seen(secret));
  EXPECT_LT(precision, 2e-3);
  const Vector found = AttackFromAnywhere(std::cref(seen), 22, left);
  for (const double error : ErrorsOf(found, secret)) EXPECT_LT(error, precision);
}

TEST(Recovery, FromTheNineBandwidthsOfTheDictionaryBySomebodyWhoKnowsEachNumberToFivePercent) {
  const KernelBank bank(MakeDictionary("gaussian", 9), kInputs, 5, 3);
  const GramGrid grid(9, 5);
  const Vector secret = Secret(22, 1);
  const SeenSums seen(grid, bank, NineSums(22), secret);
  const double left = 3 * RoundingOf(22, 10);
  Vector v = Near(secret, 7);
  EXPECT_LT(Attack(std::cref(seen), v, left, 100), left);
  const double precision = PrecisionFor(2 * left, seen(secret));
  EXPECT_LT(precision, 2e-4);
  for (const double error : ErrorsOf(v, secret)) EXPECT_LT(error, precision);
}

/// What a federation sends whose clients, each with a sample per step, trust all experts alike.
std::vector<SeenSum> ReleasedSums(const GramGrid& grid, const GramRules& rules, std::size_t clients,
                                  std::size_t steps) {
  GramSchedule schedule(grid, rules);
  const Vector trust(grid.experts(), 1 / static_cast<double>(grid.experts()));
  std::vector<SeenSum> released;
  std::vector<std::uint32_t> turn;
  for (std::size_t step = 1; step <= steps; ++step) {
    for (const std::uint32_t expert : turn) {
      const auto had = static_cast<std::size_t>(schedule.Samples(expert));
      released.push_back({expert, had, step * clients});
      schedule.Released(expert, static_cast<double>(step * clients - had), trust);
    }
    schedule.Learnt({clients, clients * kSought}, turn);
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
