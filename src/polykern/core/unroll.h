#pragma once

/// Before a loop over registers: it must not remain a loop, since an index that is not constant
/// puts them into memory.
#define POLYKERN_UNROLL _Pragma("GCC unroll 16")
