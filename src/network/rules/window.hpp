#pragma once
#include <array>

#include "network/inference.hpp"

/// Operators that slide a window over spatial extents: convolutions and pooling, plain, quantized and
/// fused. Private to network/rules.
namespace plimsoll::network {

enum class ChannelsAt : std::uint8_t { second, last };

/// Which inputs are the data and the weights; QLinearConv has scales between them.
struct ConvolutionInputs {
  std::size_t x = 0;
  std::size_t weights = 1;
  ChannelsAt channels = ChannelsAt::second;
};

/// Strides, dilations, padding and rounding, read from the attributes and checked.
struct Window {
  enum class Padding : std::uint8_t { given, same, valid };
  std::size_t axes = 0;
  Padding padding = Padding::given;
  bool round_up = false;
  std::array<Dim, kMaxRank> kernel{};
  std::array<std::int64_t, kMaxRank> stride{}, dilation{}, before{}, after{};
};

/// The window of the operator's attributes; its kernel is `kernel_shape` where that is given, else invalid.
[[nodiscard]] Result<Window> read_window(InferenceContext& c, std::size_t axes);
/// How many positions the window has over an extent of axis `i`.
[[nodiscard]] Result<Dim> positions(InferenceContext& c, const Window& window, std::size_t i, Dim extent);

[[nodiscard]] Status infer_convolution(InferenceContext& c, ConvolutionInputs inputs, DataType type);
/// `pads` is the input that holds the padding where no attribute does; kAttribute otherwise.
inline constexpr std::size_t kAttribute = ~std::size_t{0};
[[nodiscard]] Status infer_transposed_convolution(InferenceContext& c, DataType type,
                                                  std::size_t pads = kAttribute);
/// Output 0 has the given type, output 1 (MaxPool's indices) int64.
[[nodiscard]] Status infer_pool(InferenceContext& c, DataType type, ChannelsAt channels = ChannelsAt::second);
[[nodiscard]] Status infer_global_pool(InferenceContext& c, DataType type,
                                       ChannelsAt channels = ChannelsAt::second);

}  // namespace plimsoll::network
