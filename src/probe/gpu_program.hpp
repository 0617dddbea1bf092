#pragma once
#include <filesystem>

#include "base/companion.hpp"
#include "base/error.hpp"

namespace plimsoll::probe {

/// plimsoll-cuda: named by PLIMSOLL_CUDA, beside this program, or in PATH. machine_lacks, with how to get
/// it, where there is none.
[[nodiscard]] Result<std::filesystem::path> find_cuda_program();
[[nodiscard]] Result<std::filesystem::path> find_cuda_program(const CompanionSearch& search);

}  // namespace plimsoll::probe
