#include "network_forms.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "hardware/network_facts.hpp"
#include "hardware/operator_curve.hpp"
#include "network/zoo/zoo.hpp"
#include "program/lowering.hpp"

namespace plimsoll {
namespace {

using hardware::Arithmetic;
using hardware::Device;

/// Letters in lower case and digits: as the zoo compares names.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool takes_depth(const network::zoo::Entry& entry) {
  return std::ranges::find(entry.options, "alpha", &network::zoo::Option::name) != entry.options.end();
}

/// What is measured of a network holds for the input that it was measured with.
bool other_input(std::string_view options, const InspectOptions& given) {
  return options.find("input=") != options.npos || options.find("channels=") != options.npos ||
         !given.binding.inputs.empty();
}

std::string depth_name(std::string_view entry, double depth) {
  return depth == std::floor(depth) ? fmt::format("{}_{:.1f}", entry, depth)
                                    : fmt::format("{}_{:g}", entry, depth);
}

/// The options after the colon without alpha, and the depth that alpha or the name says.
struct Spec {
  std::string_view name;
  std::string options;
  std::optional<double> depth;
};

Spec spec_of(std::string_view model, const std::vector<hardware::NetworkFacts>& facts) {
  const auto colon = model.find(':');
  Spec spec{model.substr(0, colon), {}, {}};
  for (const hardware::NetworkFacts& known : facts)
    if (plain(known.network) == plain(spec.name)) spec.depth = known.depth;
  std::string_view rest = colon == model.npos ? std::string_view() : model.substr(colon + 1);
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item.starts_with("alpha="))
      spec.depth = std::strtod(std::string(item.substr(6)).c_str(), nullptr);
    else
      spec.options += (spec.options.empty() ? "" : ",") + std::string(item);
  }
  return spec;
}

plan::Variant variant_of(std::string name, std::optional<double> depth,
                         const std::vector<hardware::NetworkFacts>& facts) {
  plan::Variant variant{.name = std::move(name), .depth = depth};
  const auto known = std::ranges::find(facts, variant.name, &hardware::NetworkFacts::network);
  if (known != facts.end()) {
    variant.accuracies = known->accuracies;
    variant.memories = known->memories;
  }
  return variant;
}

std::optional<network::Precision> precision_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp32: return network::Precision::fp32;
    case Arithmetic::tf32: return network::Precision::tf32;
    case Arithmetic::fp16: return network::Precision::fp16;
    case Arithmetic::bf16: return network::Precision::bf16;
    case Arithmetic::int8: return network::Precision::int8;
    case Arithmetic::fp64:
    case Arithmetic::fp8: break;
  }
  return std::nullopt;
}

}  // namespace

Result<NetworkForms> NetworkForms::load(const std::string& model, const std::vector<double>& depths,
                                        const InspectOptions& options) {
  const auto& facts = hardware::built_in_network_facts();
  PLIMSOLL_TRY(facts);
  const network::zoo::Entry* entry = network::zoo::find(model);
  const bool deep = entry != nullptr && takes_depth(*entry);
  if (!depths.empty() && !deep)
    return std::unexpected(Error{fmt::format("{} has no depth multiplier", quote(model)), "--depth",
                                 "The network mobilenet_v1 has one."});
  NetworkForms out;
  const auto add = [&](const std::string& spec, std::string name, std::optional<double> depth) -> Status {
    Result<Batches> form = Batches::load(spec, options);
    PLIMSOLL_TRY(form);
    out.forms_.push_back(*std::move(form));
    out.variants_.push_back(variant_of(std::move(name), depth, *facts));
    return {};
  };
  if (!deep) {
    PLIMSOLL_TRY(add(model, model, std::nullopt));
    return out;
  }
  const Spec spec = spec_of(model, *facts);
  const std::vector<double> wanted = depths.empty() ? std::vector<double>{spec.depth.value_or(1)} : depths;
  for (const double depth : wanted) {
    const std::string full =
        fmt::format("{}:{}{}alpha={}", entry->name, spec.options, spec.options.empty() ? "" : ",", depth);
    const bool measured = !other_input(spec.options, options);
    PLIMSOLL_TRY(add(full, measured ? depth_name(entry->name, depth) : full, depth));
  }
  return out;
}

Result<const NetworkForms::Bound*> NetworkForms::bound(std::size_t form, std::int64_t batch) const {
  const auto key = std::pair(form, batch);
  if (const auto found = bound_.find(key); found != bound_.end()) return &found->second;
  Result<network::Shapes> shapes = forms_[form].shapes(batch);
  PLIMSOLL_TRY(shapes);
  program::Counts counts = forms_[form].count(*shapes);
  return &bound_.emplace(key, Bound{*std::move(shapes), std::move(counts)}).first->second;
}

Result<const CalibratedDevice*> NetworkForms::calibrated(const Device& device) const {
  if (const auto found = calibrated_.find(device.id); found != calibrated_.end()) return &found->second;
  Result<CalibratedDevice> made = with_calibration(device, {}, here_.contains(device.id));
  PLIMSOLL_TRY(made);
  return &calibrated_.emplace(device.id, *std::move(made)).first->second;
}

Result<std::vector<std::int64_t>> NetworkForms::image_shape() const {
  const Result<const Bound*> first = bound(0, 1);
  PLIMSOLL_TRY(first);
  const network::Network& network = forms_.front().network();
  std::vector<std::int64_t> out;
  if (network.main().inputs.empty()) return out;
  const network::TensorId id = network.main().inputs.front();
  if (!(*first)->shapes.ranked(id) || (*first)->shapes.dims(id).size() != 4) return out;
  for (const network::Dim dim : (*first)->shapes.dims(id).subspan(1))
    out.push_back(dim.exact() ? dim.value() : 0);
  return out;
}

Result<const program::Program*> NetworkForms::program(std::size_t form, const Device& device,
                                                      const network::Setting& setting,
                                                      std::int64_t batch) const {
  const Result<const CalibratedDevice*> on = calibrated(device);
  PLIMSOLL_TRY(on);
  const program::Platform platform = (*on)->target().platform(setting);
  for (const Lowered& known : programs_)
    if (known.form == form && known.batch == batch && known.precision == setting.precision &&
        known.platform == platform)
      return &known.program;
  const Result<const Bound*> at = bound(form, batch);
  PLIMSOLL_TRY(at);
  Result<program::Program> lowered = program::lower(forms_[form].network(), (*at)->shapes, setting, platform);
  PLIMSOLL_TRY(lowered);
  programs_.push_back({form, batch, setting.precision, platform, *std::move(lowered)});
  return &programs_.back().program;
}

Result<plan::Memory> NetworkForms::memory(std::size_t form, const Device& device, Arithmetic arithmetic,
                                          std::int64_t batch) const {
  const auto precision = precision_of(arithmetic);
  if (!precision) return fail("no memory estimate in {}", hardware::name(arithmetic));
  const Result<const Bound*> at = bound(form, batch);
  PLIMSOLL_TRY(at);
  const network::Network& network = forms_[form].network();
  const double bytes = network::weight_bits(*precision) / 8.0;
  plan::Memory out;
  out.weights = Bytes((*at)->counts.parameter_sizes.bytes(*precision));
  for (const network::Operator& op : network.main().operators)
    for (const network::TensorId id : network.outputs(op)) {
      if (id == network::kNoTensor) continue;
      const auto elements = (*at)->shapes.elements(id);
      out.largest_tensor =
          std::max(out.largest_tensor, Bytes::rounded(static_cast<double>(elements.low) * bytes));
    }
  if (device.kind == hardware::DeviceKind::microcontroller) return out;
  const network::Setting setting{.precision = *precision};
  const Result<const program::Program*> program = this->program(form, device, setting, batch);
  if (!program) return out;
  const auto estimated = estimate::estimate_memory(network, **program, setting, device);
  if (estimated) {
    out.whole = estimated->minimum_device();
    out.source = "estimated as PyTorch would keep it (docs/memory.md)";
  }
  return out;
}

Result<plan::Pass> NetworkForms::pass(std::size_t form, const Device& device, Arithmetic arithmetic,
                                      std::int64_t batch) const {
  const auto precision = precision_of(arithmetic);
  if (!precision) return fail("no estimate of time in {}", hardware::name(arithmetic));
  const Result<const Bound*> at = bound(form, batch);
  PLIMSOLL_TRY(at);
  const network::Setting setting{.precision = *precision};
  const Result<const CalibratedDevice*> on = calibrated(device);
  PLIMSOLL_TRY(on);
  const hardware::OperatorCurves* curves = (*on)->curves.get();
  const Result<const program::Program*> program = this->program(form, device, setting, batch);
  PLIMSOLL_TRY(program);
  const Result<estimate::TimeEstimate> time = estimate::estimate_time(**program, setting, (*on)->target());
  PLIMSOLL_TRY(time);
  const bool gpu = device.kind == hardware::DeviceKind::gpu;
  return plan::Pass{.time = time->seconds,
                    .low = time->low,
                    .high = time->high,
                    .energy = time->joules,
                    .low_energy = time->low_joules,
                    .high_energy = time->high_joules,
                    .provenance = time->provenance,
                    .source = fmt::format("estimated by the {} (docs/time.md), batch {}{}",
                                          curves != nullptr ? "device's calibration" : "datasheet", batch,
                                          gpu ? "" : "; its runtime is not PyTorch")};
}

plan::Estimators NetworkForms::estimators() const {
  plan::Estimators out;
  out.pass = [this](std::size_t form, const Device& device, Arithmetic arithmetic, std::int64_t batch) {
    return pass(form, device, arithmetic, batch);
  };
  out.memory = [this](std::size_t form, const Device& device, Arithmetic arithmetic, std::int64_t batch) {
    return memory(form, device, arithmetic, batch);
  };
  out.work = [this](std::size_t form) {
    const Result<const Bound*> one = bound(form, 1);
    return one ? Flops(2 * static_cast<double>((*one)->counts.forward.macs.low)) : Flops();
  };
  return out;
}

}  // namespace plimsoll
