#include "program/convolution_workspace.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <numeric>

#include "network/saturating.hpp"
#include "program/convolution_workspace_table.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace {

using Extents = std::array<std::int64_t, 3>;
using Features = std::array<std::int64_t, static_cast<std::size_t>(WorkspaceFeature::count)>;

/// Multiprocessors of an H200: as many tiles run at once.
constexpr std::int64_t kMultiprocessors = 132;

/// Rows and columns of the tile that a block of threads computes.
constexpr std::int64_t kTile = 128;

std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, product);
}

std::int64_t parts(std::int64_t value, std::int64_t size) {
  return value / size + (value % size != 0 ? 1 : 0);
}

std::int64_t rounded(std::int64_t value, std::int64_t multiple) {
  return product(parts(value, multiple), multiple);
}

/// Channels of a group as grouped kernels pad them.
std::int64_t widened(std::int64_t channels) {
  return channels > 16 ? rounded(channels, 32)
                       : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(channels)));
}

/// The numbers of a shape that the rule speaks of, worked out once.
struct Geometry {
  std::int64_t batch, groups, inputs, outputs;  // channels of a group
  std::int64_t input_area = 1, output_area = 1, taps = 1;
  std::int64_t tiles_of_four = 1;  // of the result of a pass
  std::int64_t last_taps = 1, stride = 1, dilation = 1;
  std::int64_t size;  // bytes of an element

  Geometry(const ConvolutionShape& s, ConvolutionPass pass)
      : batch(s.batch),
        groups(s.groups),
        inputs(s.in_channels / s.groups),
        outputs(s.out_channels / s.groups),
        size(std::max(1, s.element_bits / 8)) {
    for (int i = 0; i < s.rank; ++i) {
      const auto at = static_cast<std::size_t>(i);
      input_area = product(input_area, s.input[at]);
      output_area = product(output_area, s.output[at]);
      const Extents& result = pass == ConvolutionPass::input_gradient ? s.input : s.output;
      tiles_of_four = product(tiles_of_four, parts(result[at], 4));
      taps = product(taps, s.kernel[at]);
      last_taps = s.kernel[at];
      stride = std::max(stride, s.stride[at]);
      dilation = std::max(dilation, s.dilation[at]);
    }
  }
};

bool has_elements(const ConvolutionShape& s) {
  if (s.rank < 1 || s.rank > 3 || s.groups < 1 || s.batch < 1) return false;
  if (s.in_channels < s.groups || s.out_channels < s.groups) return false;
  const auto positive = [&](const Extents& e) {
    return std::all_of(e.begin(), e.begin() + s.rank, [](std::int64_t v) { return v > 0; });
  };
  return positive(s.input) && positive(s.output) && positive(s.kernel);
}

/// The largest power of two, up to 64, that divides it.
std::int64_t alignment(std::int64_t value) {
  return std::gcd(value, std::int64_t{64});
}

std::int64_t weight_tiles_of(const Geometry& g) {
  return product_of({g.groups, parts(g.outputs, kTile), parts(product(g.inputs, g.taps), kTile)});
}

Features features(const Geometry& g) {
  Features f{};
  const auto set = [&](WorkspaceFeature which, std::int64_t value) {
    f[static_cast<std::size_t>(which)] = value;
  };
  using enum WorkspaceFeature;
  const std::int64_t positions = product(g.batch, g.output_area);
  const std::int64_t per_output = product(g.inputs, g.taps);
  const std::int64_t all_outputs = product(g.groups, g.outputs);
  set(batch, g.batch);
  set(inputs_per_group, g.inputs);
  set(outputs_per_group, g.outputs);
  set(groups, g.groups);
  set(input_area, g.input_area);
  set(output_area, g.output_area);
  set(taps, g.taps);
  set(last_taps, g.last_taps);
  set(stride, g.stride);
  set(dilation, g.dilation);
  set(input_alignment, alignment(g.inputs));
  set(output_alignment, alignment(g.outputs));
  set(area_alignment, alignment(g.input_area));
  set(output_positions, positions);
  set(products_per_output, per_output);
  set(weights, product(per_output, all_outputs));
  set(inputs, product_of({g.batch, g.groups, g.inputs, g.input_area}));
  set(outputs, product(positions, all_outputs));
  set(positions_per_output, positions / g.outputs);
  set(smaller_channels, std::min(g.inputs, g.outputs));
  set(output_area_alignment, alignment(g.output_area));
  set(output_tiles, product_of({g.groups, parts(positions, kTile), parts(g.outputs, kTile)}));
  set(weight_tiles, weight_tiles_of(g));
  set(products, product_of({positions, all_outputs, per_output}));
  return f;
}

const WorkspaceTerms& terms_for(const Features& values, std::size_t tree) {
  const WorkspaceTable table = workspace_table();
  std::size_t at = table.roots[tree];
  while (table.nodes[at].feature != WorkspaceFeature::leaf) {
    const WorkspaceNode& node = table.nodes[at];
    at = values[static_cast<std::size_t>(node.feature)] <= node.threshold ? at + 1 : node.above;
  }
  return table.terms[static_cast<std::size_t>(table.nodes[at].threshold)];
}

std::int64_t copies(const Geometry& g, unsigned which) {
  // A kernel loads 16 bytes at once: channels are padded to as many.
  const std::int64_t at_once = (which & copy_unpadded) != 0 ? 1 : std::max<std::int64_t>(1, 16 / g.size);
  std::int64_t inputs = rounded(g.inputs, at_once);
  std::int64_t outputs = rounded(g.outputs, at_once);
  if ((which & copy_widened) != 0) {
    inputs = widened(inputs);
    outputs = widened(outputs);
  }
  std::int64_t bytes = 0;
  if ((which & copy_input) != 0) bytes = product_of({g.batch, g.input_area, g.groups, inputs, g.size});
  if ((which & copy_output) != 0)
    bytes = sum(bytes, product_of({g.batch, g.output_area, g.groups, outputs, g.size}));
  if ((which & copy_weights) != 0)
    bytes = sum(bytes, product_of({g.groups, inputs, outputs, g.taps, g.size}));
  return bytes;
}

std::int64_t extra(const Geometry& g, WorkspaceExtra which) {
  constexpr std::int64_t fp32 = 4;
  const std::int64_t weights = product_of({g.groups, g.inputs, g.outputs, g.taps, fp32});
  switch (which) {
    case WorkspaceExtra::nothing: return 0;
    case WorkspaceExtra::mebibytes: return std::int64_t{1} << 20;
    case WorkspaceExtra::sums: return weights;
    case WorkspaceExtra::sums_per_image: return product(g.batch, weights);
    case WorkspaceExtra::inputs: return product_of({g.batch, g.groups, g.inputs, g.input_area, g.size});
    case WorkspaceExtra::outputs: return product_of({g.batch, g.groups, g.outputs, g.output_area, g.size});
    case WorkspaceExtra::wave: {
      const std::int64_t tiles = weight_tiles_of(g);
      return product_of({tiles, std::max<std::int64_t>(1, kMultiprocessors / tiles), kTile * kTile, fp32});
    }
    case WorkspaceExtra::winograd: {
      constexpr std::int64_t tile = 36;
      const std::int64_t inputs = product(g.groups, g.inputs);
      const std::int64_t outputs = product(g.groups, g.outputs);
      const std::int64_t maps = product_of({g.batch, g.tiles_of_four, sum(inputs, outputs)});
      return product_of({sum(maps, product(inputs, outputs)), tile, fp32});
    }
  }
  return 0;
}

}  // namespace

std::int64_t convolution_workspace(const ConvolutionShape& shape, ConvolutionPass pass) {
  if (!has_elements(shape)) return 0;
  // Depthwise convolutions go to PyTorch's own kernels, which take none.
  if (shape.groups > 1 && shape.groups == shape.in_channels) return 0;
  const Geometry geometry(shape, pass);
  // A map of one position makes it a product of matrices, which takes nothing, or little.
  if (geometry.input_area == 1) return 0;
  const std::size_t tree = (shape.element_bits > 16 ? 0 : 3) + static_cast<std::size_t>(pass);
  const WorkspaceTerms& terms = terms_for(features(geometry), tree);
  return sum(copies(geometry, terms.copies), product(terms.times, extra(geometry, terms.extra)));
}

}  // namespace plimsoll::program
