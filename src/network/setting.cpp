#include "network/setting.hpp"

#include <array>

#include "base/named.hpp"

namespace plimsoll::network {
namespace {

constexpr std::array<std::string_view, 2> kModes = {"infer", "train"};
constexpr std::array<std::string_view, 8> kPrecisions = {"fp32", "fp32-strict", "tf32",     "fp16",
                                                         "bf16", "amp-bf16",    "amp-fp16", "int8"};
constexpr std::array<std::string_view, 4> kOptimizers = {"sgd", "momentum", "adam", "adamw"};
constexpr std::array<std::string_view, 3> kLosses = {"cross-entropy", "mean-square", "none"};
constexpr std::array<std::string_view, 3> kInPlace = {"auto", "always", "never"};
constexpr std::array<std::string_view, 2> kLayouts = {"contiguous", "channels-last"};
constexpr std::array<std::string_view, 2> kLogits = {"all", "last"};
constexpr std::array<std::string_view, 3> kZeroGrad = {"before-forward", "before-backward", "keep"};
constexpr std::array<std::string_view, 5> kShardings = {"none", "data-parallel", "zero1", "zero2", "zero3"};

}  // namespace

std::string_view name(Mode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}
std::string_view name(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}
std::string_view name(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}
std::string_view name(Loss loss) {
  return kLosses[static_cast<std::size_t>(loss)];
}
std::string_view name(InPlace choice) {
  return kInPlace[static_cast<std::size_t>(choice)];
}
std::string_view name(Layout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}
std::string_view name(Logits logits) {
  return kLogits[static_cast<std::size_t>(logits)];
}
std::string_view name(ZeroGrad when) {
  return kZeroGrad[static_cast<std::size_t>(when)];
}
std::string_view name(Sharding sharding) {
  return kShardings[static_cast<std::size_t>(sharding)];
}
std::optional<Mode> mode_named(std::string_view name) {
  return named<Mode>(name, kModes);
}
std::optional<Precision> precision_named(std::string_view name) {
  return named<Precision>(name, kPrecisions);
}
std::optional<Optimizer> optimizer_named(std::string_view name) {
  return named<Optimizer>(name, kOptimizers);
}
std::optional<Loss> loss_named(std::string_view name) {
  return named<Loss>(name, kLosses);
}
std::optional<InPlace> in_place_named(std::string_view name) {
  return named<InPlace>(name, kInPlace);
}
std::optional<Layout> layout_named(std::string_view name) {
  return named<Layout>(name, kLayouts);
}
std::optional<Logits> logits_named(std::string_view name) {
  return named<Logits>(name, kLogits);
}
std::optional<ZeroGrad> zero_grad_named(std::string_view name) {
  return named<ZeroGrad>(name, kZeroGrad);
}
std::optional<Sharding> sharding_named(std::string_view name) {
  return named<Sharding>(name, kShardings);
}

bool is_autocast(Precision precision) {
  return precision == Precision::amp_bf16 || precision == Precision::amp_fp16;
}

int weight_bits(Precision precision) {
  switch (precision) {
    case Precision::fp16:
    case Precision::bf16: return 16;
    case Precision::int8: return 8;
    default: return 32;
  }
}

int state_per_parameter(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd: return 0;
    case Optimizer::momentum: return 1;
    default: return 2;
  }
}

Sharding effective_sharding(const Setting& setting) {
  if (setting.mode == Mode::infer || setting.devices <= 1) return Sharding::none;
  return setting.sharding == Sharding::none ? Sharding::data_parallel : setting.sharding;
}

Shares sharded(const Setting& setting) {
  const Sharding how = effective_sharding(setting);
  const std::int64_t all = setting.devices;
  return {.state = how >= Sharding::zero1 ? all : 1,
          .gradients = how >= Sharding::zero2 ? all : 1,
          .weights = how >= Sharding::zero3 ? all : 1};
}

}  // namespace plimsoll::network
