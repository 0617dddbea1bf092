#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "run/mps.hpp"

namespace plimsoll::running {

/// What CUDA's driver gives a process with the present environment. Under MPS these are the limits that took
/// effect: a client with a quarter of the SMs counts a quarter of them, and its free memory ends at its
/// limit.
struct CudaFacts {
  int multiprocessors = 0;
  Bytes free;
  Bytes total;
  int driver = 0;  ///< 13000: CUDA 13.0
  friend bool operator==(const CudaFacts&, const CudaFacts&) = default;
};

/// Of the first visible device; makes a context, so it is for a process of its own.
[[nodiscard]] Result<CudaFacts> read_cuda_facts(const std::string& library = "libcuda.so.1");
[[nodiscard]] std::string to_json(const CudaFacts& facts);
[[nodiscard]] Result<CudaFacts> cuda_facts_from_json(const std::string& json);

/// The same in a fresh process with these variables: `program cuda-facts` must print to_json's text.
[[nodiscard]] Result<CudaFacts> probe_cuda(const std::string& program, const Variables& variables);

}  // namespace plimsoll::running
