#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::network {

/// What a network is run for. A training graph in inference mode: BatchNorm uses its running statistics,
/// Dropout and stochastic depth vanish.
enum class Mode : std::uint8_t { infer, train };

/// Numbers that a network computes in. fp32 is what PyTorch does by default: TF32 in convolutions, FP32 in
/// matrix products; tf32 means both, fp32_strict neither. amp_* is autocast over FP32 weights; fp16, bf16
/// and int8 are the whole network.
enum class Precision : std::uint8_t { fp32, fp32_strict, tf32, fp16, bf16, amp_bf16, amp_fp16, int8 };

enum class Optimizer : std::uint8_t { sgd, momentum, adam, adamw };

enum class Loss : std::uint8_t { cross_entropy, mean_square, none };

/// ONNX does not say which operators a framework runs in place: automatic is ReLU-like ones directly after a
/// convolution, normalisation or addition.
enum class InPlace : std::uint8_t { automatic, always, never };

[[nodiscard]] std::string_view name(Mode mode);
[[nodiscard]] std::string_view name(Precision precision);  ///< "amp-bf16"
[[nodiscard]] std::string_view name(Optimizer optimizer);
[[nodiscard]] std::string_view name(Loss loss);       ///< "cross-entropy"
[[nodiscard]] std::string_view name(InPlace choice);  ///< "auto"
[[nodiscard]] std::optional<Mode> mode_named(std::string_view name);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view name);
[[nodiscard]] std::optional<Optimizer> optimizer_named(std::string_view name);
[[nodiscard]] std::optional<Loss> loss_named(std::string_view name);
[[nodiscard]] std::optional<InPlace> in_place_named(std::string_view name);

/// Whether products run in half precision over weights in float32.
[[nodiscard]] bool is_autocast(Precision precision);
/// Bits in which a weight that the model stores in floating point is kept.
[[nodiscard]] int weight_bits(Precision precision);
/// Values of state per parameter: none, momentum's one, Adam's two.
[[nodiscard]] int state_per_parameter(Optimizer optimizer);

}  // namespace plimsoll::network
