#pragma once

#include <cstddef>
#include <string>

namespace polykern {

// What one core of this machine can do at best with vectors: loops that a
// clock is held to. Both choose the vector unit at run time, as the engine does. Pure.

/// Some thousand independent fused multiply-adds in registers; returns how many flops they were.
double RunMultiplyAdds();

/// The same in double precision.
double RunDoubleMultiplyAdds();

/// The engine's sine and cosine of an array that stays in the first cache; returns how many pairs.
double RunSinCos();

/// The vector unit in use, such as AVX2.
std::string VectorTarget();

}  // namespace polykern
