#pragma once

#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// How pof-newton's messages look: a kernel's features times a length that tells the label. A
/// feature vector has norm 1, so its direction is the whole of it and its length is free to carry
/// one more number; e^asinh(y) is above 0 and keeps the same relative precision for every y.
double LengthOf(double label);
double LabelOf(double length);

/// Settings of the server.
struct NewtonRule {
  double ridge = 1e-4;    ///< added to the diagonal, > 0
  double forgetting = 1;  ///< what each step leaves of the samples before it, in (0, 1]
  double refresh = 0;     ///< a kernel is solved again once it has this share of new samples
};

/// The server that solves, for every kernel, the ridge regression of all samples it was ever sent:
/// theta_i = (ridge I + sum z z')^-1 sum y z. A message does not depend on the theta its client
/// had, so it counts whenever it comes. Takes NormalEquations::Bytes(width) per block. Commit
/// throws Error, naming kernel and step, if a system cannot be solved in double; the server is of
/// no use then. Saves, kernel by kernel: the equations, theta, the last step with samples, all
/// samples and those not yet in theta.
std::unique_ptr<Server> NewNewtonServer(const ModelShape& shape, const NewtonRule& rule);

}  // namespace polykern
