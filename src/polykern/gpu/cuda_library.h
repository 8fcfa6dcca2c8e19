#pragma once

#include <cstddef>

#include "polykern/gpu/kernel_code.h"

namespace polykern::gpu {

/// A CUDA driver and NVRTC as they are found at run time: nothing of CUDA is needed to build this.
/// Only what is called is declared, as CUDA's documents have it.
struct CudaDriver {
  using Result = int;
  using Address = unsigned long long;
  using Handle = void*;  // contexts, streams, events, modules, functions

  Result (*init)(unsigned);
  Result (*driver_version)(int*);
  Result (*error_string)(Result, const char**);
  Result (*device_count)(int*);
  Result (*device_get)(int*, int);
  Result (*device_id)(char*, int);
  Result (*device_name)(char*, int, int);
  Result (*device_attribute)(int*, int, int);
  Result (*context_retain)(Handle*, int);
  Result (*context_set)(Handle);
  Result (*memory_info)(std::size_t*, std::size_t*);
  Result (*memory_allocate)(Address*, std::size_t);
  Result (*memory_free)(Address);
  Result (*write)(Address, const void*, std::size_t, Handle);
  Result (*read)(void*, Address, std::size_t, Handle);
  Result (*fill)(Address, unsigned char, std::size_t, Handle);
  Result (*stream_create)(Handle*, unsigned);
  Result (*stream_destroy)(Handle);
  Result (*stream_wait)(Handle);
  Result (*stream_wait_event)(Handle, Handle, unsigned);
  Result (*event_create)(Handle*, unsigned);
  Result (*event_record)(Handle, Handle);
  Result (*event_destroy)(Handle);
  Result (*module_load)(Handle*, const void*);
  Result (*module_unload)(Handle);
  Result (*module_function)(Handle*, Handle, const char*);
  Result (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Handle, void**, void**);
};

/// Loads the driver once. Throws Error, in one line, if there is none, or if it is for a CUDA
/// before 12.
const CudaDriver& LoadCudaDriver();

/// Loads NVRTC once. Throws Error, in one line, if there is none whose code the driver takes.
const KernelCompiler& LoadCompiler();

}  // namespace polykern::gpu
