#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "polykern/gpu/device.h"

// The kernels' source as C++, for one source file at a time: its macros are everywhere after it.

namespace polykern::gpu {
namespace {

// C++'s words for what the kernels are written in; kernels/cuda_shim.cu has CUDA's.

thread_local KernelShape shape;  // that the kernels are compiled for
thread_local Grid emulated_grid;
thread_local Grid emulated_block;

constexpr U32 kThreads = 64;
constexpr U32 kClientsPerThreadRoom = 4;
constexpr U32 kStrideRoom = 64;
constexpr U32 kKernelRoom = 64;

#define kDimension (shape.dimension)
#define kStride (shape.stride())
#define kKernels (shape.kernels)
#define kSizes (shape.sizes)
#define kPastRows (shape.past_rows())
#define kPastRoom (shape.past_room())
#define kFeatures (shape.features)
#define kPaddedFeatures (shape.padded_features())
#define kFeatureTile (shape.feature_tile())
#define kFeaturesPerBlock (shape.features_per_block())
#define kPerUpload (shape.per_upload)
#define kClientsPerThread (shape.clients_per_thread())
#define kSharedDraw (shape.shared_draw)
#define kChecksAngles (shape.checks_angles)
#define kHuberLoss (shape.huber)
#define kPrivateWeights (shape.private_weights)
#define kAdaHedge (shape.adahedge)
#define kChoosesKernels (shape.chooses_kernels)
#define kExploresOnly (shape.explores_only)
#define kSendsAll (shape.sends_all())
#define kScoresAreLosses (shape.scores_are_losses)

#define WITH_GRAM

/// What no one has written yet holds anything.
template <class T>
std::vector<T> Unwritten(std::size_t size) {
  std::vector<T> values(size);
  if (size > 0) std::memset(static_cast<void*>(values.data()), 0xa5, size * sizeof(T));
  return values;
}

#define DEVICE inline
#define KERNEL(name) inline void name(const FleetArguments& a)
#define CROWDED_KERNEL KERNEL
#define SHARED(type, name) type name = Unwritten<type>(1)[0]
#define SHARED_ARRAY(type, name, size) std::vector<type> name = Unwritten<type>(size)
#define BLOCK_X (emulated_block.x)
#define BLOCK_Y (static_cast<U32>(emulated_block.y))
#define BLOCK_Z (static_cast<U32>(emulated_block.z))
#define BLOCKS_Y (static_cast<U32>(emulated_grid.y))
#define THREADS(t) for (U32 t = 0; t < kThreads; ++t)
#define BARRIER static_cast<void>(0)
#define OWN(type, name) std::vector<type> name = Unwritten<type>(kThreads)
#define MINE(name, t) name[t]
#define UNROLL
#define UNROLL_BY_TWO
#define UNROLL_BY_EIGHT
#define NO_UNROLL

DEVICE U32 BitsOf(float value) {
  return std::bit_cast<U32>(value);
}
DEVICE float FloatOf(U32 bits) {
  return std::bit_cast<float>(bits);
}
DEVICE U64 BitsOf(double value) {
  return std::bit_cast<U64>(value);
}
DEVICE double DoubleOf(U64 bits) {
  return std::bit_cast<double>(bits);
}
DEVICE U64 HighProduct(U64 a, U64 b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<U64>(Wide{a} * b >> 64);
}
DEVICE void AddTo(U64* sum, U64 value) {
  *sum += value;
}
DEVICE U32 AddTo(U32* sum, U32 value) {
  const U32 before = *sum;
  *sum += value;
  return before;
}
DEVICE void LowerTo(U64* least, U64 value) {
  *least = std::min(*least, value);
}
DEVICE void RaiseTo(U64* most, U64 value) {
  *most = std::max(*most, value);
}

using std::fabs;
using std::floor;
using std::fma;
using std::sqrt;
inline float fmaf(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float fabsf(float value) {
  return std::fabs(value);
}

// Each uses those before it.
// clang-format off
#include "polykern/gpu/kernels/arithmetic.cu"
#include "polykern/gpu/kernels/random_numbers.cu"
#include "polykern/gpu/kernels/totals.cu"
#include "polykern/gpu/kernels/samples.cu"
#include "polykern/gpu/kernels/features.cu"
#include "polykern/gpu/kernels/experts.cu"
#include "polykern/gpu/kernels/lessons.cu"
#include "polykern/gpu/kernels/updates.cu"
#include "polykern/gpu/kernels/gram_experts.cu"
#include "polykern/gpu/kernels/gram_sums.cu"
#include "polykern/gpu/kernels/naive.cu"
#include "polykern/gpu/kernels/floors.cu"
// clang-format on

}  // namespace
}  // namespace polykern::gpu
