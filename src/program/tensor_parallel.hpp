#pragma once
#include <cstdint>
#include <vector>

#include "network/inference.hpp"
#include "network/setting.hpp"
#include "program/program.hpp"

namespace plimsoll::program {

/// Which part of a product's weight each of several devices has.
enum class ProductRole : std::uint8_t {
  none,
  column,  ///< of its outputs: each device computes a part of the result from the whole input
  row,     ///< of its inputs: each has a part of the input, and results are summed over the devices
};

/// How devices can share every layer (tensor parallelism as Megatron-LM does it): products by columns, what
/// follows on the parts, products by rows, whose results are summed. Found by walking the graph: heads and
/// hidden widths are divided, what stands between them stays whole.
struct LayerDivision {
  std::vector<bool> divided;       ///< by tensor: activations of which each device has a part
  std::vector<bool> weight;        ///< by tensor: weights that are divided
  std::vector<ProductRole> roles;  ///< by operator of the main graph
  std::int64_t heads = 0;  ///< greatest number that divides those of every attention; 0: there is none
  std::int64_t forward_elements = 0;   ///< summed over the devices in a forward pass
  std::int64_t backward_elements = 0;  ///< and of gradients in a backward pass
  std::int64_t output_elements = 0;    ///< of results that each device has a part of
  std::int64_t sums = 0;               ///< in how many messages forward; backward as many again
};
[[nodiscard]] LayerDivision divide_layers(const network::Network& network, const network::Shapes& shapes);

/// What one of `parts` devices executes: weights, activations and kernels by their parts. Workspaces stay
/// whole: that is more than it needs.
[[nodiscard]] Program tensor_part(const Program& whole, const LayerDivision& division, std::int64_t parts);

}  // namespace plimsoll::program
