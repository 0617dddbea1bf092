#pragma once
#include "network/inference.hpp"

/// Matrix products; private to network/rules.
namespace plimsoll::network {

/// numpy.matmul of two shapes; `transpose` swaps an operand's last two extents first.
struct Transposed {
  bool a = false;
  bool b = false;
};
[[nodiscard]] Result<Shape> matrix_product(InferenceContext& c, std::span<const Dim> a,
                                           std::span<const Dim> b, Transposed transposed = {});

/// Output 0 is the product of inputs `a` and `b`.
[[nodiscard]] Status infer_matrix_product(InferenceContext& c, std::size_t a, std::size_t b, DataType type,
                                          Transposed transposed = {});
/// Output 0 is Gemm's of inputs `a`, `b` and, where there is one, `bias`, with the attributes transA, transB.
[[nodiscard]] Status infer_gemm(InferenceContext& c, std::size_t a, std::size_t b, std::size_t bias,
                                DataType type);

}  // namespace plimsoll::network
