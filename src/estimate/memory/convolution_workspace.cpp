#include "estimate/memory/convolution_workspace.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <numeric>

#include "estimate/memory/convolution_workspace_table.hpp"
#include "estimate/saturating.hpp"

namespace plimsoll::estimate {
namespace {

using Extents = std::array<std::int64_t, 3>;
using Features = std::array<std::int64_t, static_cast<std::size_t>(WorkspaceFeature::count)>;

/// Multiprocessors of an H200: as many tiles run at once.
constexpr std::int64_t kMultiprocessors = 132;

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
  std::int64_t input_area = 1, output_area = 1, taps = 1, tiles_of_four = 1;
  std::int64_t last_taps = 1, stride = 1, dilation = 1;
  std::int64_t size;  // bytes of an element

  explicit Geometry(const ConvolutionShape& s)
      : batch(s.batch),
        groups(s.groups),
        inputs(s.in_channels / s.groups),
        outputs(s.out_channels / s.groups),
        size(std::max(1, s.element_bits / 8)) {
    for (int i = 0; i < s.rank; ++i) {
      const auto at = static_cast<std::size_t>(i);
      input_area = product(input_area, s.input[at]);
      output_area = product(output_area, s.output[at]);
      tiles_of_four = product(tiles_of_four, parts(s.output[at], 4));
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

Features features(const Geometry& g) {
  Features f{};
  const auto set = [&](WorkspaceFeature which, std::int64_t value) {
    f[static_cast<std::size_t>(which)] = value;
  };
  using enum WorkspaceFeature;
  const std::int64_t positions = product(g.batch, g.output_area);
  const std::int64_t products = product(g.inputs, g.taps);
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
  set(products_per_output, products);
  set(weights, product(products, all_outputs));
  set(inputs, product_of({g.batch, g.groups, g.inputs, g.input_area}));
  set(outputs, product(positions, all_outputs));
  set(positions_per_output_channel, positions / g.outputs);
  return f;
}

const WorkspaceNode& leaf_for(const Features& values, std::size_t tree) {
  const auto nodes = workspace_nodes();
  std::size_t at = workspace_roots()[tree];
  while (nodes[at].above != 0)
    at =
        values[static_cast<std::size_t>(nodes[at].feature)] <= nodes[at].threshold ? at + 1 : nodes[at].above;
  return nodes[at];
}

std::int64_t copies(const Geometry& g, unsigned which) {
  // A kernel loads 16 bytes at once: channels are padded to as many.
  const std::int64_t at_once = std::max<std::int64_t>(1, 16 / g.size);
  std::int64_t inputs = rounded(g.inputs, at_once);
  std::int64_t outputs = rounded(g.outputs, at_once);
  if ((which & kCopyWidened) != 0) {
    inputs = widened(inputs);
    outputs = widened(outputs);
  }
  std::int64_t bytes = 0;
  if ((which & kCopyInput) != 0) bytes = product_of({g.batch, g.input_area, g.groups, inputs, g.size});
  if ((which & kCopyOutput) != 0)
    bytes = sum(bytes, product_of({g.batch, g.output_area, g.groups, outputs, g.size}));
  if ((which & kCopyWeights) != 0)
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
      constexpr std::int64_t side = 128;
      const std::int64_t tiles =
          product_of({g.groups, parts(g.outputs, side), parts(product(g.inputs, g.taps), side)});
      return product_of({tiles, std::max<std::int64_t>(1, kMultiprocessors / tiles), side * side, fp32});
    }
    case WorkspaceExtra::winograd: {
      constexpr std::int64_t tile = 6 * 6;
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
  const Geometry geometry(shape);
  const std::size_t tree = (shape.element_bits > 16 ? 0 : 3) + static_cast<std::size_t>(pass);
  const WorkspaceNode& terms = leaf_for(features(geometry), tree);
  return sum(copies(geometry, terms.copies), product(terms.times, extra(geometry, terms.extra)));
}

}  // namespace plimsoll::estimate
