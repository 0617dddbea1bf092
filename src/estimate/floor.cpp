#include "estimate/floor.hpp"

#include <algorithm>
#include <string_view>

#include "network/saturating.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Device;
using network::Precision;

bool is_convolution(std::string_view type) {
  return type.find("Conv") != std::string_view::npos;
}

/// Rates for the three classes of work. Where a device has no units for a format it computes in the next
/// wider one that it has.
struct Rates {
  std::optional<FlopsPerSecond> convolutions, products, others;
};

std::optional<FlopsPerSecond> first_of(const Device& device, std::initializer_list<Arithmetic> order) {
  for (const Arithmetic a : order)
    if (const auto rate = hardware::peak_rate(device, a)) return rate;
  return std::nullopt;
}

Rates rates(const Device& device, Precision precision) {
  const auto fp32 = first_of(device, {Arithmetic::fp32});
  const auto tf32 = first_of(device, {Arithmetic::tf32, Arithmetic::fp32});
  const auto fp16 = first_of(device, {Arithmetic::fp16, Arithmetic::bf16, Arithmetic::fp32});
  const auto bf16 = first_of(device, {Arithmetic::bf16, Arithmetic::fp32});
  const auto int8 = first_of(device, {Arithmetic::int8, Arithmetic::fp16, Arithmetic::fp32});
  switch (precision) {
    case Precision::fp32: return {tf32, fp32, fp32};
    case Precision::fp32_strict: return {fp32, fp32, fp32};
    case Precision::tf32: return {tf32, tf32, fp32};
    case Precision::fp16:
    case Precision::amp_fp16: return {fp16, fp16, fp16};
    case Precision::bf16:
    case Precision::amp_bf16: return {bf16, bf16, bf16};
    case Precision::int8: return {int8, int8, int8};
  }
  return {};
}

}  // namespace

Needs needs(const network::Network& network, const program::Counts& counts, const network::Setting& setting) {
  const bool training = setting.mode == network::Mode::train;
  Needs n;
  n.weights = Bytes(counts.weight_sizes.bytes(setting.precision));
  // Data that may or may not be computed is no part of a floor: the lower bounds are used.
  std::int64_t convolutions = 0, matrix = 0, all = 0;
  for (const program::OperatorCount& row : counts.operators) {
    if (row.coverage == program::Coverage::no_rule || row.coverage == program::Coverage::unbounded)
      n.complete = false;
    if (row.alternative > 0 || !row.certain) continue;
    const program::Work& forward = counts.work_of(row);
    const program::Work& backward = counts.backward_of(row);
    const std::int64_t macs = network::sum(forward.macs.low, training ? backward.macs.low : 0);
    const std::string_view type = network.type_of(network.graph(row.graph).operators[row.index]);
    (is_convolution(type) ? convolutions : matrix) =
        network::sum(is_convolution(type) ? convolutions : matrix, macs);
    all = network::sum(all, network::sum(forward.flops.low, training ? backward.flops.low : 0));
  }
  n.convolutions = Flops(2.0 * static_cast<double>(convolutions));
  n.products = Flops(2.0 * static_cast<double>(matrix));
  n.others = Flops(std::max(0.0, static_cast<double>(all) - n.convolutions.value() - n.products.value()));
  // Experts that no token chooses are not read, in whatever type they are kept.
  const Bytes idle(training ? 0 : counts.idle_sizes.bytes(setting.precision));
  n.traffic = n.weights - idle + Bytes(network::sum(counts.input_bytes, counts.output_bytes));
  if (training) {
    const Bytes parameters(counts.parameter_sizes.bytes(setting.precision));
    n.gradients = parameters;
    n.optimizer_state = parameters * network::state_per_parameter(setting.optimizer);
    // Read and written once each by the step; a fused step need not move the gradients.
    n.traffic += parameters + n.optimizer_state * 2;
  }
  return n;
}

Floors::Binding Floors::binding() const {
  if (!compute || !memory) return Binding::unknown;
  return *compute >= *memory ? Binding::compute : Binding::memory;
}

std::string_view name(Floors::Binding binding) {
  static constexpr std::string_view kNames[] = {"unknown", "compute", "memory"};
  return kNames[static_cast<std::size_t>(binding)];
}

std::optional<Seconds> Floors::floor() const {
  if (!compute || !memory) return std::nullopt;
  return std::max(*compute, *memory);
}

Floors floors(const Needs& needs, const Device& device, Precision precision) {
  Floors f;
  const auto lacks = [&f](std::string_view what) {
    f.missing += f.missing.empty() ? "" : ", ";
    f.missing += what;
  };
  const Rates r = rates(device, precision);
  if (r.convolutions && r.products && r.others) {
    // Matrix units and vector units can work at the same time; each alone cannot be faster than its peak.
    const Seconds matrix = needs.convolutions / *r.convolutions + needs.products / *r.products;
    f.compute = std::max(matrix, needs.others / *r.others);
  } else {
    lacks("peak rate");
  }
  if (const auto bandwidth = hardware::memory_bandwidth(device))
    f.memory = needs.traffic / *bandwidth;
  else
    lacks("memory bandwidth");
  f.capacity = hardware::capacity(device);
  if (f.capacity)
    f.fits = needs.memory() <= *f.capacity;
  else
    lacks("memory size");
  return f;
}

}  // namespace plimsoll::estimate
