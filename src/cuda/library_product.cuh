#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <cublasLt.h>

#include "cuda/runtime.cuh"

namespace plimsoll::cuda {

/// What a product computes in. fp32 is without TF32; fp8 is e4m3 with the results in bf16; int8 has results
/// of 32 bits; the others' results are of their own kind. All sums are at least fp32 or int32.
enum class Number { fp64, fp32, tf32, fp16, bf16, fp8, int8 };

struct NumberRow {
  Number number;
  const char* rate;  ///< "product-bf16"
  cudaDataType_t operand, result, scale;
  cublasComputeType_t compute;
  int operand_bytes, result_bytes;
};
[[nodiscard]] const NumberRow& row_of(Number number);

/// cuBLASLt has no kernel for it on this device.
class NotSupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Two square matrices full of numbers, and room for their product. Random ones: the power that a product
/// takes, and so its clock, depends on the bits that change; zeros would be too fast.
struct Operands {
  Operands(const NumberRow& row, std::int64_t size, const Stream& stream);
  [[nodiscard]] static std::int64_t bytes(const NumberRow& row, std::int64_t size);
  DeviceMemory a, b, c;
};

/// A product of square matrices by cuBLASLt: of the kernels that its heuristic proposes the fastest, tried
/// on the operands given.
class LibraryProduct {
 public:
  /// `turned`: the first matrix is stored a row after the other, the second a column after the other, as in
  /// a linear layer, and as fp8 and int8 need it; else both a column after the other.
  LibraryProduct(const NumberRow& row, std::int64_t size, bool turned);
  /// Throws NotSupported.
  void choose(const void* a, const void* b, void* c, const Stream& stream);
  void launch(const void* a, const void* b, void* c, const Stream& stream) const;

 private:
  template <auto destroy>
  struct Destroyer {
    template <class T>
    void operator()(T* what) const {
      destroy(what);
    }
  };
  template <class T, auto destroy>
  using Owned = std::unique_ptr<T, Destroyer<destroy>>;
  using Layout = Owned<cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutDestroy>;

  /// Seconds of one call; 0 where it cannot be run.
  [[nodiscard]] double trial_seconds(const cublasLtMatmulHeuristicResult_t& proposal, const void* a,
                                     const void* b, void* c, const Stream& stream) const;
  [[nodiscard]] cublasStatus_t try_launch(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b,
                                          void* c, const Stream& stream) const;

  const NumberRow* row_;
  Owned<cublasLtContext, cublasLtDestroy> handle_;
  Owned<cublasLtMatmulDescOpaque_t, cublasLtMatmulDescDestroy> description_;
  Layout operand_layout_, result_layout_;
  DeviceMemory workspace_;
  std::optional<cublasLtMatmulAlgo_t> algorithm_;
};

}  // namespace plimsoll::cuda
