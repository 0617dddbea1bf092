#pragma once
#include <cstdint>
#include <span>

namespace plimsoll::program {

/// Operands that a plan copies into another layout, as a set of bits.
enum WorkspaceCopies : std::uint8_t {
  copy_input = 1,
  copy_output = 2,
  copy_weights = 4,
  copy_widened = 8,    ///< the channels of each group are padded in the copies as grouped kernels want them
  copy_unpadded = 16,  ///< channels are not padded to what a kernel loads at once
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

/// What the rule asks about a convolution.
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
  positions_per_output,
  smaller_channels,
  output_area_alignment,
  output_tiles,
  weight_tiles,
  products,
  count,
  leaf = count,
};

struct WorkspaceTerms {
  std::uint8_t copies;
  WorkspaceExtra extra;
  std::uint8_t times;
};

/// A node of a decision tree: where the feature is up to the threshold go on to the next node, else to the
/// one at `above`. In a leaf the threshold is the place of the terms.
struct WorkspaceNode {
  WorkspaceFeature feature;
  std::int64_t threshold;
  std::uint16_t above;
};

struct WorkspaceTable {
  std::span<const WorkspaceTerms> terms;
  std::span<const WorkspaceNode> nodes;
  /// Where the trees begin: fp32 forward, input gradient, weight gradient, then the same of 16-bit numbers.
  std::span<const std::uint16_t> roots;
};

[[nodiscard]] WorkspaceTable workspace_table();

}  // namespace plimsoll::program
