#pragma once
#include "cuda/runtime.cuh"

/// Products of square matrices of floats, stored a row after the other: c = a b. Any size up to kMostSize.
namespace plimsoll::cuda {

/// A thread per element, which reads its row and its column from main memory.
void multiply_naively(const float* a, const float* b, float* c, int size, const Stream& stream);

/// By blocks of kTile x kTile results: tiles of both matrices are brought to shared memory once for all
/// threads of a block, and from there to registers once for 8 x 8 results.
inline constexpr int kTile = 128;
void multiply_by_blocks(const float* a, const float* b, float* c, int size, const Stream& stream);

}  // namespace plimsoll::cuda
