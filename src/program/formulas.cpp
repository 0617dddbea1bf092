#include "program/formulas.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "network/saturating.hpp"

namespace plimsoll::program::formula {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace {

using network::Attribute;
using network::TensorId;

std::span<const std::int64_t> integers(const Site& s, std::string_view name) {
  const Attribute* a = s.network.find(s.op, name);
  return a != nullptr && a->kind == Attribute::Kind::integers ? s.network.integers_of(*a)
                                                              : std::span<const std::int64_t>{};
}

std::string_view text(const Site& s, std::string_view name, std::string_view otherwise) {
  const Attribute* a = s.network.find(s.op, name);
  return a != nullptr && a->kind == Attribute::Kind::text ? s.network.view(a->list) : otherwise;
}

using network::Count;
namespace shared = hardware::formula;

/// FLOPs of no product.
Operations others(std::int64_t flops) {
  return {.macs = {}, .other_flops = {flops}};
}

bool counts_bias(const Site& s, std::size_t input) {
  return s.conventions.bias && s.has(input);
}

/// Each output element of a convolution sums over the weights of one output channel: all of the weights
/// divided by their first extent.
Operations convolve(const Site& s, std::size_t weight, std::size_t bias) {
  const std::int64_t depth = quotient(s.input_elements(weight), s.input_dim(weight, 0));
  return shared::contraction<Count>({s.output_elements()}, {depth}, counts_bias(s, bias));
}

}  // namespace

Operations nothing(const Site&, const WorkRow&) {
  return {};
}
Operations per_output(const Site& s, const WorkRow& row) {
  return shared::per_element<Count>({s.output_elements()}, row.cost);
}
Operations per_input(const Site& s, const WorkRow& row) {
  return shared::per_element<Count>({s.input_elements(0)}, row.cost);
}

Operations per_extra_input(const Site& s, const WorkRow& row) {
  const auto extra = static_cast<int>(s.inputs().size()) - 1;
  return shared::per_element<Count>({s.output_elements()}, extra * row.cost);
}

Operations batch_norm(const Site& s, const WorkRow& row) {
  const bool training = s.integer("training_mode", 0) != 0;
  if (!training && !s.conventions.batch_norm) return {};
  return shared::per_element<Count>({s.input_elements(0)},
                                    training ? hardware::kBatchNormTrainingCost.forward : row.cost);
}

Operations dropout(const Site& s, const WorkRow& row) {
  // It only does something where training_mode (input 2) is not known to be false.
  if (!s.has(2)) return {};
  const TensorId mode = s.inputs()[2];
  if (s.shapes.at(mode).has_value && s.shapes.value(mode).front().is_integer() &&
      s.shapes.value(mode).front().integer() == 0)
    return {};
  return per_output(s, row);
}

Operations convolution(const Site& s, const WorkRow&) {
  return convolve(s, 1, 2);
}
Operations convolution_quantized(const Site& s, const WorkRow&) {
  return convolve(s, 3, 8);
}

Operations convolution_transposed(const Site& s, const WorkRow&) {
  // The convolution from its result to its input, run backwards: that one's results are this one's input.
  const std::int64_t depth = quotient(s.input_elements(1), s.input_dim(1, 0));
  Operations o = shared::contraction<Count>({s.input_elements(0)}, {depth});
  if (counts_bias(s, 2)) o.other_flops = {s.output_elements()};
  return o;
}

Operations convolution_deformed(const Site& s, const WorkRow& row) {
  Operations o = convolve(s, 1, 3);
  // Each sampled value is interpolated from four neighbours.
  const std::int64_t taps =
      product(quotient(s.input_elements(1), product(s.input_dim(1, 0), s.input_dim(1, 1))),
              quotient(s.output_elements(), std::max<std::int64_t>(1, s.input_dim(1, 0))));
  o.other_flops = o.other_flops + Count{product(product(taps, s.input_dim(0, 1)), row.cost)};
  return o;
}

Operations matmul(const Site& s, const WorkRow&) {
  return shared::contraction<Count>({s.output_elements()}, {s.input_dim(0, -1)});
}

Operations matmul_scaled(const Site& s, const WorkRow&) {
  const std::int64_t inner = s.input_dim(0, s.integer("transA", 0) != 0 ? -2 : -1);
  return shared::contraction<Count>({s.output_elements()}, {inner});
}

Operations matmul_nbits(const Site& s, const WorkRow& row) {
  // Each weight is unpacked and scaled once, then multiplied.
  const std::int64_t weights =
      product(std::max<std::int64_t>(0, s.integer("K", 0)), std::max<std::int64_t>(0, s.integer("N", 0)));
  Operations o = shared::contraction<Count>({s.output_elements()}, {s.input_dim(0, -1)});
  o.other_flops = {product(weights, row.cost)};
  return o;
}

Operations gemm(const Site& s, const WorkRow&) {
  const std::int64_t inner = s.input_dim(0, s.integer("transA", 0) != 0 ? 0 : 1);
  return shared::contraction<Count>({s.output_elements()}, {inner}, counts_bias(s, 2));
}

Operations einsum(const Site& s, const WorkRow&) {
  // One product over all labels: what a single loop nest executes. Broadcast extents ("...") come from
  // the output, which has them all.
  const std::string_view equation = text(s, "equation", "");
  const std::string_view left = equation.substr(0, equation.find("->"));
  std::int64_t extents[128];
  std::fill(std::begin(extents), std::end(extents), 0);
  std::size_t operand = 0;
  std::int64_t shared = 1;
  std::string_view rest = left;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string term;
    for (const char c : rest.substr(0, comma))
      if (c != ' ') term += c;
    const auto labels =
        static_cast<std::int64_t>(std::ranges::count_if(term, [](char c) { return c != '.'; }));
    const bool ellipsis = term.find('.') != std::string::npos;
    if (operand < s.inputs().size() && s.has(operand) && s.shapes.ranked(s.inputs()[operand])) {
      const auto rank = static_cast<std::int64_t>(s.shapes.dims(s.inputs()[operand]).size());
      const std::int64_t hidden = ellipsis ? std::max<std::int64_t>(0, rank - labels) : 0;
      std::int64_t axis = 0, broadcast = 1;
      for (std::size_t i = 0; i < term.size(); ++i) {
        if (term[i] == '.') {
          for (std::int64_t h = 0; h < hidden; ++h)
            broadcast = product(broadcast, s.input_dim(operand, axis++));
          i += 2;  // the two other dots
          continue;
        }
        auto& extent = extents[static_cast<unsigned char>(term[i]) & 127];
        extent = std::max(extent, s.input_dim(operand, axis++));
      }
      shared = std::max(shared, broadcast);
    }
    ++operand;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::int64_t macs = shared;
  for (const std::int64_t e : extents)
    if (e != 0) macs = product(macs, e);
  return operand < 2 ? others(macs) : Operations{.macs = {macs}, .other_flops = {}};
}

Operations recurrent(const Site& s, const WorkRow& row) {
  // X is (sequence, batch, input) or, with layout 1, (batch, sequence, input): the product is the same.
  const std::int64_t steps = product(s.input_dim(0, 0), s.input_dim(0, 1));
  const std::int64_t hidden = product(s.input_dim(2, 0), s.input_dim(2, -1));  // directions × hidden size
  Operations o = shared::contraction<Count>({steps}, {sum(s.input_elements(1), s.input_elements(2))});
  o.other_flops = {sum(product(product(steps, hidden), row.cost),
                       s.conventions.bias ? product(steps, s.input_elements(3)) : 0)};
  return o;
}

Operations pool(const Site& s, const WorkRow& row) {
  std::int64_t window = 1;
  for (const std::int64_t k : integers(s, "kernel_shape"))
    window = product(window, std::max<std::int64_t>(0, k));
  return shared::pooling<Count>({s.output_elements()}, {window}, row.cost);
}

Operations resize(const Site& s, const WorkRow&) {
  const std::string_view mode = text(s, "mode", "nearest");
  if (mode == "nearest") return {};
  // Only the axes that change are interpolated: 2 taps each (linear) or 4 (cubic), a multiply and an add.
  std::int64_t taps = 1;
  const auto out = s.outputs().front();
  for (std::int64_t axis = 0; axis < 16; ++axis)
    if (s.input_dim(0, axis) != s.dim(out, axis)) taps = product(taps, mode == "cubic" ? 4 : 2);
  return others(product(s.output_elements(), 2 * taps));
}

Operations grid_sample(const Site& s, const WorkRow&) {
  const std::string_view mode = text(s, "mode", "linear");
  const std::int64_t taps = mode == "nearest" ? 0 : mode == "cubic" || mode == "bicubic" ? 16 : 4;
  return others(product(s.output_elements(), 2 * taps));
}

Operations roi_align(const Site& s, const WorkRow&) {
  // sampling_ratio samples per axis and output cell, each interpolated from four neighbours. Zero means
  // "as many as the region has pixels per cell": at most the whole map.
  const std::int64_t ratio = s.integer("sampling_ratio", 0);
  const auto out = s.outputs().front();
  std::int64_t samples = product(ratio, ratio);
  if (ratio <= 0) {
    const auto cells = [&](std::int64_t axis) {
      const std::int64_t cell = std::max<std::int64_t>(1, s.dim(out, axis));
      return quotient(sum(s.input_dim(0, axis), cell - 1), cell);
    };
    samples = s.upper ? product(cells(-2), cells(-1)) : 1;
  }
  return others(product(product(s.output_elements(), samples), 8));
}

Operations roi_pool(const Site& s, const WorkRow&) {
  return others(s.upper ? product(s.output_elements(), product(s.input_dim(0, -2), s.input_dim(0, -1))) : 0);
}

Operations non_max_suppression(const Site& s, const WorkRow& row) {
  // Every kept box is compared with every other of its class: about `cost` FLOPs for one overlap.
  const std::int64_t boxes = s.input_dim(0, 1);
  std::int64_t kept = boxes;
  if (s.has(2) && s.shapes.at(s.inputs()[2]).has_value && !s.shapes.value(s.inputs()[2]).empty()) {
    const auto& most = s.shapes.value(s.inputs()[2]).front();
    if (most.is_integer()) kept = std::min(kept, std::max<std::int64_t>(0, most.integer()));
  }
  if (!s.upper) kept = 0;
  return others(
      product(product(product(s.input_dim(1, 0), s.input_dim(1, 1)), product(boxes, kept)), row.cost));
}

Operations fourier(const Site& s, const WorkRow&) {
  // 5 n log2 n, the usual count of a complex transform; n is the longest the axis can be.
  const std::int64_t n = s.output_elements();
  if (n == kUnbounded) return others(kUnbounded);
  const std::int64_t length = std::max<std::int64_t>(2, s.dim(s.outputs().front(), s.integer("axis", 1)));
  return others(product(quotient(n, 2), product(5, std::bit_width(static_cast<std::uint64_t>(length) - 1))));
}

Operations short_time_fourier(const Site& s, const WorkRow&) {
  const auto out = s.outputs().front();
  const std::int64_t length = std::max<std::int64_t>(2, product(2, s.dim(out, 2)));
  if (length == kUnbounded) return others(kUnbounded);
  const std::int64_t frames = product(s.dim(out, 0), s.dim(out, 1));
  return others(
      product(product(frames, length), product(5, std::bit_width(static_cast<std::uint64_t>(length) - 1))));
}

Operations determinant(const Site& s, const WorkRow& row) {
  const std::int64_t n = s.input_dim(0, -1);  // LU: 2/3 n³ for each matrix; an inverse is three times that
  return others(quotient(product(product(s.input_elements(0), n), std::int64_t{2} * row.cost), 3));
}

Operations attention(const Site& s, const WorkRow&) {
  // Q: (batch, heads, q, width) or (batch, q, heads × width); K and V alike, with past keys before them.
  const bool four = s.has(0) && s.shapes.ranked(s.inputs()[0]) && s.shapes.dims(s.inputs()[0]).size() == 4;
  const std::int64_t query_heads =
      four ? s.input_dim(0, 1) : std::max<std::int64_t>(1, s.integer("q_num_heads", 1));
  const std::int64_t kv_heads =
      four ? s.input_dim(1, 1) : std::max<std::int64_t>(1, s.integer("kv_num_heads", 1));
  const std::int64_t past = s.has(4) ? s.input_dim(4, 2) : 0;
  // A sliding layer's query sees so many keys at most.
  const std::int64_t window = s.integer("local_window_size", 0), all = sum(s.input_dim(1, -2), past);
  const std::int64_t keys = window > 0 ? std::min(all, window) : all;
  const std::int64_t scores =
      product(product(s.input_dim(0, 0), query_heads), product(s.input_dim(0, -2), keys));
  const std::int64_t width = four ? s.input_dim(0, 3) : quotient(s.input_dim(0, 2), query_heads);
  const std::int64_t value_width = four ? s.input_dim(2, 3) : quotient(s.input_dim(2, 2), kv_heads);
  return shared::attention<Count>({scores}, {width}, {value_width});
}

Operations attention_packed(const Site& s, const WorkRow&) {
  // input (batch, sequence, width), weights (width, q + k + v)
  const std::int64_t batch = s.input_dim(0, 0), sequence = s.input_dim(0, 1);
  const std::int64_t heads = std::max<std::int64_t>(1, s.integer("num_heads", 1));
  const std::int64_t width = s.input_dim(0, 2), projected = s.input_dim(1, -1);
  const std::int64_t past = s.has(4) ? s.input_dim(4, -2) : 0;
  const std::int64_t scores = product(product(batch, heads), product(sequence, sum(sequence, past)));
  const std::int64_t head = quotient(quotient(projected, 3), heads);
  const Count results{product(product(batch, sequence), projected)};
  const Operations projection = shared::contraction<Count>(results, {width}, counts_bias(s, 2));
  const Operations attended = shared::attention<Count>({scores}, {head}, {head});
  return {attended.macs + projection.macs, attended.other_flops + projection.other_flops};
}

Operations attention_multi_head(const Site& s, const WorkRow&) {
  // query (batch, q, width); key and value (batch, keys, width), or all packed in the query (5 dims)
  const std::int64_t heads = std::max<std::int64_t>(1, s.integer("num_heads", 1));
  const auto out = s.outputs().front();
  const std::int64_t width = s.dim(out, -1);
  const std::int64_t keys = s.has(1) ? s.input_dim(1, -2) : s.input_dim(0, 1);
  const std::int64_t past = s.has(6) ? s.input_dim(6, -2) : 0;
  const std::int64_t scores = product(product(s.dim(out, 0), heads), product(s.dim(out, 1), sum(keys, past)));
  return shared::attention<Count>({scores}, {quotient(width, heads)}, {quotient(width, heads)});
}

Operations attention_grouped(const Site& s, const WorkRow&) {
  const std::int64_t heads = std::max<std::int64_t>(1, s.integer("num_heads", 1));
  const auto out = s.outputs().front();
  const std::int64_t width = quotient(s.dim(out, -1), heads);
  // present_key, where it is made, holds every key that is attended to.
  const bool present =
      s.outputs().size() > 1 && s.outputs()[1] != network::kNoTensor && s.shapes.ranked(s.outputs()[1]);
  const std::int64_t keys =
      present ? s.dim(s.outputs()[1], 2) : sum(s.dim(out, 1), s.has(3) ? s.input_dim(3, 2) : 0);
  const std::int64_t scores = product(product(s.dim(out, 0), heads), product(s.dim(out, 1), keys));
  return shared::attention<Count>({scores}, {width}, {width});
}

}  // namespace plimsoll::program::formula
