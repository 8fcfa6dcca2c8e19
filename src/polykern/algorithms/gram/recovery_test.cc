// What updates and sums give away where nobody masks them and nobody adds noise: attacks that work
// are the honest measure.

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "polykern/algorithms/gram/attack_testing.h"
#include "polykern/algorithms/paper/pof_mkl.h"

namespace polykern {
namespace {

using attack::Attack;
using attack::Equations;
using attack::ErrorsOf;
using attack::kInputs;
using attack::kSought;
using attack::Length;
using attack::Missed;
using attack::Near;
using attack::RowProducts;
using attack::Secret;
using attack::SeenSum;
using attack::SeenSums;
using attack::SolveDamped;
using attack::Transposed;
using twin::Matrix;
using twin::Vector;

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

TEST(Recovery, FromTheNineBandwidthsOfTheDictionaryByAnAttackerWhoKnowsEachNumberToFivePercent) {
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

}  // namespace
}  // namespace polykern
