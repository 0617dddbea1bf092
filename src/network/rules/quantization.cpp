#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"
#include "network/rules/product.hpp"
#include "network/rules/window.hpp"

namespace plimsoll::network {
namespace {

Status quantize_linear(InferenceContext& c) {
  const Result<DataType> stated = type_attribute(c, "output_dtype", DataType::undefined);
  PLIMSOLL_TRY(stated);
  set_like(c, 0, 0, c.has(2) ? c.type(2) : *stated != DataType::undefined ? *stated : DataType::uint8);
  return {};
}

/// Opset 19 lets the scale say the type; before, it was always float32.
Status dequantize_linear(InferenceContext& c) {
  const Result<DataType> stated = type_attribute(c, "output_dtype", DataType::undefined);
  PLIMSOLL_TRY(stated);
  set_like(c, 0, 0,
           *stated != DataType::undefined ? *stated
           : c.opset() >= 19              ? c.type(1)
                                          : DataType::float32);
  return {};
}

Status dynamic_quantize(InferenceContext& c) {
  set_like(c, 0, 0, DataType::uint8);
  c.set(1, DataType::float32, {});
  c.set(2, DataType::uint8, {});
  return {};
}

Status convolution_integer(InferenceContext& c) {
  return infer_convolution(c, {}, DataType::int32);
}
Status quantized_convolution_rule(InferenceContext& c) {
  return infer_convolution(c, {.x = 0, .weights = 3}, c.type(7));
}
Status quantized_matmul(InferenceContext& c) {
  return infer_matrix_product(c, 0, 3, c.type(7));
}

constexpr OperatorInfo kQuantizationOperators[] = {
    {"ConvInteger", 2, 4, 1, convolution_integer},
    {"DequantizeLinear", 2, 3, 1, dequantize_linear},
    {"DynamicQuantizeLinear", 1, 1, 3, dynamic_quantize},
    {"QLinearConv", 8, 9, 1, quantized_convolution_rule},
    {"QLinearMatMul", 8, 8, 1, quantized_matmul},
    {"QuantizeLinear", 2, 3, 1, quantize_linear},
};

}  // namespace

std::span<const OperatorInfo> quantization_operators() {
  return kQuantizationOperators;
}

}  // namespace plimsoll::network
