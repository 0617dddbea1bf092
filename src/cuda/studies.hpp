#pragma once
#include "cuda/answer.hpp"
#include "cuda/job.hpp"

/// The tasks of plimsoll-cuda, each on the device that is current. They throw what the runtime says.
namespace plimsoll::cuda {

void study_vector_add(const Job& job, const Emit& emit);
void study_matrix_product(const Job& job, const Emit& emit);
void study_ceilings(const Job& job, const Emit& emit);
void carry_load(const Job& job, const Emit& emit);
void share_device(const Job& job, const Emit& emit);

/// Parts of study_ceilings. `progress` is told the phase before each figure.
using Phase = std::function<void(const std::string&)>;
void measure_memory(const Emit& emit, const Phase& phase);
void measure_copies(const Emit& emit, const Phase& phase);
void measure_launches(const Emit& emit, const Phase& phase);
void measure_products(const Emit& emit, const Phase& phase);

/// Copies within the device by the runtime, the source and the copy of `bytes` each: "memory-device-copy".
[[nodiscard]] Rate measure_device_copy(std::int64_t bytes);

}  // namespace plimsoll::cuda
