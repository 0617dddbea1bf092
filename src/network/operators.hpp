#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::network {

class InferenceContext;

/// Sets the types, shapes and, where they are known, the contents of an operator's outputs
/// (network/inference.hpp). May fail only on input that no framework could run either.
using InferRule = Status (*)(InferenceContext&);

inline constexpr std::uint8_t kAny = 255;  ///< no upper limit on inputs or outputs

/// One row per operator that Plimsoll knows by name. A row without a rule is an operator that is known to
/// exist: its outputs have the shapes the file declares, or none.
struct OperatorInfo {
  std::string_view name;
  std::uint8_t min_inputs = 1;
  std::uint8_t max_inputs = 1;
  std::uint8_t max_outputs = 1;
  InferRule infer = nullptr;
  std::string_view domain = "";
};

/// All rows, sorted by domain and name; OperatorKind is an index into it.
[[nodiscard]] std::span<const OperatorInfo> operator_table();
[[nodiscard]] const OperatorInfo& info(OperatorKind kind);  ///< not for kUnknownKind
/// "ai.onnx" is the same domain as "". Gives kUnknownKind where no row fits.
[[nodiscard]] OperatorKind find_operator(std::string_view domain, std::string_view name);
[[nodiscard]] bool is_known_domain(std::string_view domain);

// The rows, by subject; each in a file of its own under network/rules/.
[[nodiscard]] std::span<const OperatorInfo> arithmetic_operators();   // element-wise, comparisons, casts
[[nodiscard]] std::span<const OperatorInfo> convolution_operators();  // convolutions and pooling
[[nodiscard]] std::span<const OperatorInfo> product_operators();      // MatMul, Gemm, Einsum, quantized ones
[[nodiscard]] std::span<const OperatorInfo> normalization_operators();  // norms, softmax, dropout, losses
[[nodiscard]] std::span<const OperatorInfo> reduction_operators();      // Reduce*, ArgMax, CumSum, TopK
[[nodiscard]] std::span<const OperatorInfo> movement_operators();  // Reshape, Transpose, Gather, Slice, Pad …
[[nodiscard]] std::span<const OperatorInfo> shape_operators();     // Shape, Size, Constant, Range, Expand …
[[nodiscard]] std::span<const OperatorInfo>
selection_operators();  // NonZero, NMS, Unique, RoiAlign, Resize …
[[nodiscard]] std::span<const OperatorInfo> recurrent_operators();     // RNN, GRU, LSTM
[[nodiscard]] std::span<const OperatorInfo> quantization_operators();  // Quantize/Dequantize, QLinear*
[[nodiscard]] std::span<const OperatorInfo> signal_operators();        // DFT, STFT, windows, random numbers
[[nodiscard]] std::span<const OperatorInfo> control_operators();       // If, Loop, Scan, sequences, optionals
[[nodiscard]] std::span<const OperatorInfo> attention_operators();     // Attention, rotary embedding
[[nodiscard]] std::span<const OperatorInfo> fused_operators();         // com.microsoft
[[nodiscard]] std::span<const OperatorInfo> unruled_operators();       // known by name only

}  // namespace plimsoll::network
