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

/// The sum of the values.
double Sum(std::span<const double> values);

/// The least of the values, which must not be empty.
double Least(std::span<const double> values);

/// sum_i a_i b_i.
double Dot(std::span<const double> a, std::span<const float> b);

/// sum_i a_i^2.
double SumOfSquares(std::span<const float> a);

/// out[i] = a x[i] + b y[i].
void Combine(float a, std::span<const float> x, float b, std::span<const float> y,
             std::span<float> out);

/// True if all |values[i]| <= limit; false if one is NaN.
bool AllWithin(std::span<const float> values, float limit);

/// sums[i] += round(values[i] / unit), where unit is a power of two and the result is below 2^51.
void AddRounded(std::span<const float> values, double unit, std::span<std::int64_t> sums);

}  // namespace polykern
