#include "polykern/core/symmetric_eigen.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace polykern {
namespace {

constexpr int kMostSweeps = 60;  // convergence is quadratic: ten are many

/// Rows p and q, as a rotation by the angle with this cosine and sine leaves them.
void RotateRows(double* p, double* q, std::size_t size, double cosine, double sine) {
  for (std::size_t k = 0; k < size; ++k) {
    const double at_p = p[k];
    const double at_q = q[k];
    p[k] = cosine * at_p - sine * at_q;
    q[k] = sine * at_p + cosine * at_q;
  }
}

/// Turns the plane of p and q such that the matrix is 0 there.
void Rotate(std::size_t size, std::size_t p, std::size_t q, std::vector<double>& a,
            std::vector<double>& vectors) {
  const double between = a[p * size + q];
  const double slope = (a[q * size + q] - a[p * size + p]) / (2 * between);
  const double root = std::abs(slope) + std::sqrt(slope * slope + 1);
  const double tangent = (slope < 0 ? -1 : 1) / root;  // the smaller of two angles
  const double cosine = 1 / std::sqrt(tangent * tangent + 1);
  const double sine = tangent * cosine;
  RotateRows(&a[p * size], &a[q * size], size, cosine, sine);
  for (std::size_t k = 0; k < size; ++k) {
    double* const row = &a[k * size];
    const double at_p = row[p];
    row[p] = cosine * at_p - sine * row[q];
    row[q] = sine * at_p + cosine * row[q];
  }
  a[p * size + q] = a[q * size + p] = 0;
  RotateRows(&vectors[p * size], &vectors[q * size], size, cosine, sine);
}

}  // namespace

SymmetricEigen DecomposeSymmetric(std::size_t size, std::span<const double> matrix) {
  assert(matrix.size() == size * size);
  std::vector<double> a(matrix.begin(), matrix.end());
  std::vector<double> vectors(size * size);
  double squares = 0;
  for (const double number : a) squares += number * number;
  for (std::size_t k = 0; k < size; ++k) vectors[k * size + k] = 1;
  // What is less than this changes nothing, not even all of it together.
  const double least = std::sqrt(squares) * std::numeric_limits<double>::epsilon() /
                       static_cast<double>(8 * size * size);
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (std::size_t p = 0; p < size; ++p) {
      for (std::size_t q = p + 1; q < size; ++q) {
        if (std::abs(a[p * size + q]) <= least) continue;
        Rotate(size, p, q, a, vectors);
        turned = true;
      }
    }
  }
  SymmetricEigen eigen{{}, std::move(vectors)};
  for (std::size_t k = 0; k < size; ++k) eigen.values.push_back(a[k * size + k]);
  return eigen;
}

}  // namespace polykern
