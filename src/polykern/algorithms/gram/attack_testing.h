#pragma once

// For tests only: attacks on what updates and sums give away where nobody masks them and nobody
// adds noise. Each is a plain least-squares solver.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern::attack {

using twin::Matrix;
using twin::Vector;

inline constexpr std::size_t kInputs = 5;
inline constexpr std::size_t kSought = kInputs + 1;  // of a sample: its inputs, and its label

/// Plain pointers and four sums: tests are compiled without optimisation.
inline double FastDot(std::span<const double> a, std::span<const double> b) {
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

inline void AddTo(std::span<double> a, double factor, std::span<const double> b) {
  double* p = a.data();
  const double* q = b.data();
  const std::size_t size = a.size();
  for (std::size_t i = 0; i < size; ++i) p[i] += factor * q[i];
}

inline double Length(const Vector& a) {
  return std::sqrt(FastDot(a, a));
}

inline Matrix Transposed(const Matrix& a) {
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
inline Matrix RowProducts(const Matrix& a) {
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
inline Vector SolveDamped(Matrix a, double damping, Vector b) {
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
inline double Attack(const Equations& equations, Vector& v, double enough, int steps) {
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
inline Vector Secret(std::size_t samples, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  Vector v(samples * kSought);
  for (double& value : v) value = static_cast<double>(static_cast<float>(random.Uniform()));
  return v;
}

/// As if somebody knew each number to within 5 %.
inline Vector Near(const Vector& secret, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  Vector v = secret;
  for (double& value : v) value += 0.1 * (random.Uniform() - 0.5);
  return v;
}

/// The largest error of each true sample's numbers in the sample found that is nearest to it: sums
/// do not say in which order samples came.
inline Vector ErrorsOf(const Vector& found, const Vector& secret) {
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

}  // namespace polykern::attack
