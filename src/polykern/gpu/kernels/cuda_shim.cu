// CUDA's words for what the kernels are written in; emulated_device.cc has those of C++.
#define DEVICE static __device__ __forceinline__
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(kThreads) name(FleetArguments a)
// At least four of its blocks share a processor.
#define CROWDED_KERNEL(name) extern "C" __global__ void __launch_bounds__(kThreads, 4) name(FleetArguments a)
#define SHARED(type, name) __shared__ type name
#define SHARED_ARRAY(type, name, size) __shared__ type name[size]
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_Z blockIdx.z
#define BLOCKS_Y gridDim.y
// A kernel is a row of phases, each done by all threads of a block; what a thread keeps from phase
// to phase is its own.
#define THREADS(t) if (const U32 t = threadIdx.x; true)
#define BARRIER __syncthreads()
#define OWN(type, name) type name
#define MINE(name, t) name
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_TWO _Pragma("unroll 2")
#define UNROLL_BY_EIGHT _Pragma("unroll 8")
#define NO_UNROLL _Pragma("unroll 1")

DEVICE U32 BitsOf(float value) {
  return __float_as_uint(value);
}
DEVICE float FloatOf(U32 bits) {
  return __uint_as_float(bits);
}
DEVICE U64 BitsOf(double value) {
  return static_cast<U64>(__double_as_longlong(value));
}
DEVICE double DoubleOf(U64 bits) {
  return __longlong_as_double(static_cast<I64>(bits));
}
DEVICE U64 HighProduct(U64 a, U64 b) {
  return __umul64hi(a, b);
}
DEVICE void AddTo(U64* sum, U64 value) {
  atomicAdd(sum, value);
}
DEVICE U32 AddTo(U32* sum, U32 value) {
  return atomicAdd(sum, value);
}
DEVICE void LowerTo(U64* least, U64 value) {
  atomicMin(least, value);
}
DEVICE void RaiseTo(U64* most, U64 value) {
  atomicMax(most, value);
}
