#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll::program {

enum class ConvolutionPass : std::uint8_t { forward, input_gradient, weight_gradient };

/// A convolution over up to three spatial extents; of each array the first `rank` count. A transposed
/// convolution is described by the convolution that it transposes (its input is that one's output), with
/// `forward` and `input_gradient` exchanged.
struct ConvolutionShape {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  int rank = 2;
  std::array<std::int64_t, 3> input{1, 1, 1};
  std::array<std::int64_t, 3> output{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  int element_bits = 32;
};

/// Bytes of scratch memory that PyTorch with cuDNN takes while the pass runs, beside its operands and result:
/// what cuDNN's first suggestion (torch.backends.cudnn.benchmark off, TF32 allowed) asked for on an H200. It
/// is a rule fitted to measurements (bench/device/fit_workspace.py; errors in
/// docs/figures/convolution_workspace.txt), and it is used for other GPUs as well, whose plans were not
/// measured. On a CPU there is no such workspace. 0 for a shape without elements; kUnbounded where the bytes
/// leave 63 bits.
[[nodiscard]] std::int64_t convolution_workspace(const ConvolutionShape& shape, ConvolutionPass pass);
inline constexpr std::string_view kDeviceOfWorkspaceRule = "h200";

}  // namespace plimsoll::program
