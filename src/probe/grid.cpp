#include "probe/grid.hpp"

#include <algorithm>
#include <set>

#include "hardware/operator_place.hpp"
#include "probe/shapes.hpp"

namespace plimsoll::probe {
namespace {

using hardware::Arithmetic;
using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;
using enum hardware::OperatorClass;

/// How many cases of a class, by arithmetic, forward and backward (of a weighted class: each of the two).
struct Counts {
  int forward = 0, backward = 0;
};
struct Share {
  OperatorClass operator_class;
  Counts tf32, fp32, bf16, fp16;
};
constexpr Share kGpu[] = {
    {convolution, {1500, 1000}, {150, 60}, {1200, 700}, {60, 0}},
    {grouped, {150, 80}, {0, 0}, {100, 50}, {0, 0}},
    {depthwise, {150, 80}, {0, 0}, {80, 40}, {0, 0}},
    {convolution_channels_last, {900, 450}, {0, 0}, {1400, 700}, {40, 0}},
    {grouped_channels_last, {100, 60}, {0, 0}, {150, 100}, {0, 0}},
    {depthwise_channels_last, {80, 100}, {0, 0}, {120, 100}, {0, 0}},
    {matrix, {200, 60}, {600, 240}, {900, 400}, {60, 0}},
    {batched, {60, 0}, {150, 80}, {120, 40}, {0, 0}},
    {attention, {50, 0}, {220, 120}, {220, 110}, {30, 0}},
    {grouped_attention, {0, 0}, {0, 0}, {300, 60}, {40, 0}},
    {batch_norm, {0, 0}, {60, 0}, {40, 0}, {0, 0}},
    {batch_norm_training, {0, 0}, {80, 70}, {30, 20}, {0, 0}},
    {batch_norm_channels_last, {0, 0}, {40, 0}, {40, 0}, {0, 0}},
    {batch_norm_training_channels_last, {0, 0}, {60, 50}, {60, 50}, {0, 0}},
    {layer_norm, {0, 0}, {100, 70}, {80, 40}, {0, 0}},
    {group_norm, {0, 0}, {50, 30}, {30, 15}, {0, 0}},
    {softmax, {0, 0}, {100, 60}, {60, 30}, {0, 0}},
    {max_pool, {0, 0}, {60, 40}, {30, 15}, {0, 0}},
    {average_pool, {0, 0}, {50, 30}, {25, 15}, {0, 0}},
    {max_pool_channels_last, {0, 0}, {40, 30}, {40, 30}, {0, 0}},
    {average_pool_channels_last, {0, 0}, {30, 20}, {30, 20}, {0, 0}},
    {global_pool, {0, 0}, {40, 20}, {20, 10}, {0, 0}},
    {unary, {0, 0}, {60, 50}, {40, 25}, {15, 0}},
    {function, {0, 0}, {50, 40}, {40, 20}, {10, 0}},
    {binary, {0, 0}, {60, 0}, {40, 0}, {15, 0}},
    {broadcast, {0, 0}, {60, 0}, {30, 0}, {0, 0}},
    {row_sum, {0, 0}, {50, 0}, {25, 0}, {0, 0}},
    {column_sum, {0, 0}, {60, 0}, {30, 0}, {0, 0}},
    {channel_sum, {0, 0}, {60, 0}, {40, 0}, {0, 0}},
    {embedding, {0, 0}, {50, 40}, {30, 20}, {0, 0}},
    {copy, {0, 0}, {50, 0}, {30, 0}, {0, 0}},
    {transpose, {0, 0}, {70, 0}, {40, 0}, {0, 0}},
    {optimizer_sgd, {0, 0}, {30, 0}, {20, 0}, {0, 0}},
    {optimizer_momentum, {0, 0}, {40, 0}, {20, 0}, {0, 0}},
    {optimizer_adam, {0, 0}, {40, 0}, {20, 0}, {0, 0}},
};
/// More of them for networks' first layers: forward, and the weight's gradient.
constexpr Share kFirstLayersOfGpu[] = {
    {convolution_channels_last, {150, 80}, {0, 0}, {300, 150}, {0, 0}},
};
constexpr Counts kNone = {};
constexpr Share kCpu[] = {
    {convolution, kNone, {700, 160}, kNone, kNone},
    {grouped, kNone, {50, 15}, kNone, kNone},
    {depthwise, kNone, {100, 30}, kNone, kNone},
    {depthwise_channels_last, kNone, {15, 6}, kNone, kNone},
    {matrix, kNone, {260, 70}, kNone, kNone},
    {batched, kNone, {40, 20}, kNone, kNone},
    {attention, kNone, {60, 20}, kNone, kNone},
    {batch_norm, kNone, {40, 0}, kNone, kNone},
    {batch_norm_training, kNone, {20, 20}, kNone, kNone},
    {layer_norm, kNone, {30, 15}, kNone, kNone},
    {group_norm, kNone, {15, 10}, kNone, kNone},
    {softmax, kNone, {20, 10}, kNone, kNone},
    {max_pool, kNone, {30, 10}, kNone, kNone},
    {average_pool, kNone, {15, 10}, kNone, kNone},
    {global_pool, kNone, {12, 6}, kNone, kNone},
    {unary, kNone, {24, 12}, kNone, kNone},
    {function, kNone, {24, 12}, kNone, kNone},
    {binary, kNone, {24, 0}, kNone, kNone},
    {broadcast, kNone, {24, 0}, kNone, kNone},
    {row_sum, kNone, {12, 0}, kNone, kNone},
    {column_sum, kNone, {12, 0}, kNone, kNone},
    {embedding, kNone, {15, 10}, kNone, kNone},
    {copy, kNone, {12, 0}, kNone, kNone},
    {transpose, kNone, {15, 0}, kNone, kNone},
    {optimizer_sgd, kNone, {8, 0}, kNone, kNone},
    {optimizer_momentum, kNone, {8, 0}, kNone, kNone},
    {optimizer_adam, kNone, {8, 0}, kNone, kNone},
};

/// What a case holds on the device, where the kernel is not a good one: attention without a fused kernel
/// writes its scores, and masks are expanded.
double held_bytes(const OperatorCase& c) {
  const hardware::OperatorWork work = work_of(c);
  if (c.operator_class != attention) return work.bytes();
  double scores = 4;
  for (const std::size_t i : {0, 1, 2, 3}) scores *= static_cast<double>(c.extents[i]);
  return work.bytes() + 3 * scores;
}

bool within(const OperatorCase& c, const GridLimits& limits) {
  const hardware::OperatorWork work = work_of(c);
  const bool fast = c.arithmetic != Arithmetic::fp32;
  // Vector units compute what is not a product.
  const double rate =
      fast && is_product(c.operator_class) ? limits.fast_flops_per_second : limits.flops_per_second;
  return work.flops_at_peak() <= limits.seconds * rate &&
         work.bytes() <= limits.seconds * limits.bytes_per_second && held_bytes(c) <= limits.bytes;
}

struct Placed {
  double place = 0;  ///< 0 to 1, in the list
  OperatorCase what;
};

/// The cases of one class, direction and arithmetic. Each begins elsewhere in the sequence.
void add_cases(OperatorCase what, int count, const GridLimits& limits, std::vector<Placed>& cases,
               bool first_layers = false) {
  constexpr std::uint64_t kApart = 100'003, kMostTries = 60;
  const auto key = (static_cast<std::uint64_t>(what.operator_class) * hardware::kDirections +
                    static_cast<std::uint64_t>(what.direction)) *
                       hardware::kArithmetics +
                   static_cast<std::uint64_t>(what.arithmetic);
  std::set<hardware::Extents> seen;
  for (std::uint64_t n = 0; n < kMostTries * static_cast<std::uint64_t>(count); ++n) {
    if (static_cast<int>(seen.size()) == count) break;
    const Draw draw(key * kApart + n, limits.kind);
    const auto shape = first_layers ? shape_of_first_layer(draw) : shape_of(what.operator_class, draw);
    if (!shape || seen.contains(*shape)) continue;
    what.extents = *shape;
    what = completed(what);
    if (!within(what, limits)) continue;
    cases.push_back({(static_cast<double>(seen.size()) + 0.5) / count, what});
    seen.insert(*shape);
  }
}

bool has_backward(OperatorClass c) {
  switch (c) {
    case batch_norm:
    case batch_norm_channels_last:
    case binary:
    case broadcast:
    case row_sum:
    case column_sum:
    case channel_sum:
    case copy:
    case transpose:
    case optimizer_sgd:
    case optimizer_momentum:
    case optimizer_adam: return false;
    default: return true;
  }
}

void add_class(OperatorClass c, Arithmetic arithmetic, Counts counts, const GridLimits& limits,
               std::vector<Placed>& cases) {
  add_cases({c, Direction::forward, arithmetic, {}}, counts.forward, limits, cases);
  if (!has_backward(c)) return;
  add_cases({c, Direction::backward_input, arithmetic, {}}, counts.backward, limits, cases);
  if (hardware::operator_classes()[static_cast<std::size_t>(c)].weighted)
    add_cases({c, Direction::backward_weight, arithmetic, {}}, counts.backward, limits, cases);
}

}  // namespace

std::vector<OperatorCase> designed_grid(GridKind kind, const GridLimits& limits) {
  std::vector<Placed> cases;
  for (const Share& share : kind == GridKind::gpu ? std::span<const Share>(kGpu) : kCpu) {
    add_class(share.operator_class, Arithmetic::tf32, share.tf32, limits, cases);
    add_class(share.operator_class, Arithmetic::fp32, share.fp32, limits, cases);
    add_class(share.operator_class, Arithmetic::bf16, share.bf16, limits, cases);
    add_class(share.operator_class, Arithmetic::fp16, share.fp16, limits, cases);
  }
  if (kind == GridKind::gpu)
    for (const Share& share : kFirstLayersOfGpu)
      for (const auto& [arithmetic, counts] :
           {std::pair(Arithmetic::tf32, share.tf32), std::pair(Arithmetic::bf16, share.bf16)}) {
        add_cases({share.operator_class, Direction::forward, arithmetic, {}}, counts.forward, limits, cases,
                  true);
        add_cases({share.operator_class, Direction::backward_weight, arithmetic, {}}, counts.backward, limits,
                  cases, true);
      }
  std::ranges::stable_sort(cases, {}, &Placed::place);
  std::vector<OperatorCase> grid;
  grid.reserve(cases.size());
  std::set<OperatorCase> seen;
  for (const Placed& placed : cases)
    if (seen.insert(placed.what).second) grid.push_back(placed.what);
  return grid;
}

GridLimits limits_for(GridKind kind, const hardware::Device& device) {
  const auto value = [](const std::optional<hardware::DeviceFigure>& figure, double otherwise) {
    return figure ? figure->value : otherwise;
  };
  const bool gpu = kind == GridKind::gpu;
  GridLimits limits;
  limits.flops_per_second = value(device.peak_of(Arithmetic::fp32), gpu ? 1e13 : 1e11);
  // Kernels in tf32 come near half of their peak; the time counts, not the peak.
  limits.fast_flops_per_second =
      std::max(limits.flops_per_second, 0.5 * value(device.peak_of(Arithmetic::tf32), 0));
  limits.bytes_per_second = value(device.memory_bandwidth, gpu ? 3e11 : 2e10);
  // Six or more calls of each on a CPU, and a kernel that is not the best.
  limits.seconds = gpu ? 0.012 : 0.01;
  limits.kind = kind;
  if (const auto capacity = hardware::capacity(device))
    limits.bytes = std::min(limits.bytes, 0.15 * static_cast<double>(capacity->count()));
  return limits;
}

}  // namespace plimsoll::probe
