#pragma once
#include <cstdint>
#include <span>

namespace plimsoll::estimate {

/// Operands that a plan copies into another layout, as a set of bits.
enum WorkspaceCopies : std::uint8_t {
  kCopyInput = 1,
  kCopyOutput = 2,
  kCopyWeights = 4,
  kCopyWidened = 8,  ///< the channels of each group are padded in the copies as grouped kernels want them
};

/// What else a plan keeps.
enum class WorkspaceExtra : std::uint8_t {
  nothing,
  mebibytes,       ///< partial sums of output tiles, about as many as run at once
  sums,            ///< sums of the size of the weights, in fp32
  sums_per_image,  ///< such a sum for every image of the batch
  inputs,
  outputs,
  wave,      ///< partial sums of as many 128 x 128 tiles of the weights' gradient as run at once
  winograd,  ///< tiles of 6 x 6 of both maps and of the weights
};

enum class WorkspaceFeature : std::uint8_t {
  batch,
  inputs_per_group,
  outputs_per_group,
  groups,
  input_area,
  output_area,
  taps,
  last_taps,
  stride,
  dilation,
  input_alignment,
  output_alignment,
  area_alignment,
  output_positions,
  products_per_output,
  weights,
  inputs,
  outputs,
  positions_per_output_channel,
  count,
};

/// A node of a decision tree. Where `above` is not 0: up to the threshold go on to the next node, else to the
/// one at `above`. Otherwise a leaf: the terms of the workspace.
struct WorkspaceNode {
  std::int64_t threshold = 0;
  std::uint16_t above = 0;
  WorkspaceFeature feature = WorkspaceFeature::batch;
  std::uint8_t copies = 0;
  WorkspaceExtra extra = WorkspaceExtra::nothing;
  std::uint8_t times = 0;
};

[[nodiscard]] std::span<const WorkspaceNode> workspace_nodes();

/// Where the trees begin: fp32 forward, input gradient, weight gradient, then the same of 16-bit numbers.
[[nodiscard]] std::span<const std::uint16_t> workspace_roots();

}  // namespace plimsoll::estimate
