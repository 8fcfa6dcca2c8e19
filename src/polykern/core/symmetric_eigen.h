#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace polykern {

/// A symmetric matrix as sum_k values[k] v_k v_k'.
struct SymmetricEigen {
  std::vector<double> values;   ///< in no order
  std::vector<double> vectors;  ///< v_k, of length 1, one after the other
};

/// By Jacobi's rotations, to double's rounding: about 50 size^3 operations, for matrices of a
/// hundred rows. `matrix`: size x size, symmetric and finite. Pure: the same bits everywhere.
SymmetricEigen DecomposeSymmetric(std::size_t size, std::span<const double> matrix);

}  // namespace polykern
