#pragma once

#include <cstdint>
#include <span>

namespace polykern {

// Loops over whole arrays, compiled for every vector unit and chosen at run time. Results have the
// same bits for every vector width: sums run over kPartialSums interleaved partial sums, which are
// then added in pairs. Pure; any thread may call them.

inline constexpr std::size_t kPartialSums = 8;

/// values[i] = exp(values[i]), for values <= 0; -infinity gives 0.
void ExpOfNegatives(std::span<double> values);

/// weights[i] = exp(-rate (losses[i] - least loss)), divided by their sum; those of the least loss
/// are not 0 even with an infinite rate. Not empty, of equal size.
void SoftMin(std::span<const double> losses, double rate, std::span<double> weights);

/// sums += added. Returns the least of the sums; unit becomes false if an added value lies outside
/// [0, 1]. Not empty, of equal size.
double AddAndFindLeast(std::span<const double> added, std::span<double> sums, bool& unit);

/// values += factor * added, then sums += values. Of equal size.
void AddScaledAndSum(std::span<const double> added, double factor, std::span<double> values,
                     std::span<double> sums);

/// The sum of the values.
double Sum(std::span<const double> values);

/// The least of the values, which must not be empty.
double Least(std::span<const double> values);

/// sum_i a_i b_i.
double Dot(std::span<const double> a, std::span<const float> b);

/// sum_i a_i^2.
double SumOfSquares(std::span<const float> a);
double SumOfSquares(std::span<const double> a);

/// a_i = keep * a_i + factor * b_i.
void ScaleAndAdd(std::span<double> a, double keep, double factor, std::span<const float> b);

/// Some rows of a matrix, each with a factor.
struct ScaledRows {
  std::span<const float> factors;
  std::span<const std::uint32_t> rows;
  std::span<const float> matrix;
};

/// Row r of values = factors[r] * itself + the r-th scaled row; rows have `width` numbers.
void ScaleAndAddRows(std::span<const float> factors, const ScaledRows& added, std::size_t width,
                     std::span<float> values);

/// values -= factor * sums.
void SubtractScaled(std::span<const std::int64_t> sums, double factor, std::span<double> values);

/// The values as floats.
void RoundToFloat(std::span<const double> values, std::span<float> rounded);

}  // namespace polykern
