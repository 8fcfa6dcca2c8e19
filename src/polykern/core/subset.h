#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace polykern {

/// The kernels a client uploads: how many, and the probability they were drawn with.
struct Bin {
  std::size_t count = 0;
  double probability = 0;
};

/// Algorithm 1: kernels sorted by weight (ties by index), cut into bins of `per_bin`, one bin drawn
/// with q_j = (1 - xi) u_j / U + xi / m  (10). With xi = 1 the bins are the kernels in index order.
///   losses    cumulative losses: the smaller, the heavier (a total order even where weights
///             underflow)
///   weights   normalised weights of step t, before its label changed them
///   uniform   the draw, in [0, 1): the first bin whose cumulative q exceeds it
///   order     scratch, one place per kernel
///   kernels   out: the drawn bin; at least per_bin places
/// Needs 1 <= per_bin <= N and 0 < xi <= 1. Pure; never fails.
Bin ChooseBin(std::span<const double> losses, std::span<const double> weights, std::size_t per_bin,
              double xi, double uniform, std::span<std::uint32_t> order,
              std::span<std::uint32_t> kernels);

/// The index drawn by `uniform`, in [0, 1), from probabilities that sum to 1: the first whose
/// cumulative probability exceeds it; the last one takes what rounding left. Pure; never fails.
std::size_t DrawIndex(std::span<const double> probabilities, double uniform);

}  // namespace polykern
