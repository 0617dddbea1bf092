#include "probe/gpu_program.hpp"

namespace plimsoll::probe {
namespace {

constexpr Companion kCudaProgram{
    .name = "plimsoll-cuda",
    .variable = "PLIMSOLL_CUDA",
    .hint = "`make cuda` builds it where CUDA's nvcc is; PLIMSOLL_CUDA names one in another place."};

}  // namespace

Result<std::filesystem::path> find_cuda_program() {
  return find_cuda_program(CompanionSearch::of_this_process(kCudaProgram));
}
Result<std::filesystem::path> find_cuda_program(const CompanionSearch& search) {
  return find_companion(kCudaProgram, search);
}

}  // namespace plimsoll::probe
