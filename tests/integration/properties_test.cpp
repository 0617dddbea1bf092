// What holds of every estimate, whatever the network, the device, the precision and the mode: no time is
// below what the device's peaks and its bandwidth allow, and neither time nor memory falls as batch, sequence
// or context grow. A seeded sample of all combinations; PLIMSOLL_ALL=1 tries every one of them, and
// PLIMSOLL_ALL=t4 those of one device.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimate/floor.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/operator_curve.hpp"
#include "network/batch.hpp"
#include "network/zoo/zoo.hpp"
#include "program/lowering.hpp"

namespace plimsoll {
namespace {

using network::Mode;
using network::Precision;
using network::Setting;

constexpr std::size_t kSample = 240;
constexpr double kMayFall = 0.01;  ///< of a larger batch against a smaller one
/// PyTorch's allocator counts what it could not split off a block, and libraries choose other workspaces for
/// other shapes: its own peak falls by up to two hundredths where tensors begin to fill their blocks.
constexpr double kBlocksMayFall = 0.03;

constexpr Precision kPrecisions[] = {Precision::fp32,     Precision::fp32_strict, Precision::tf32,
                                     Precision::fp16,     Precision::bf16,        Precision::amp_bf16,
                                     Precision::amp_fp16, Precision::int8};

struct Calibrated {
  hardware::Device device;
  std::optional<hardware::OperatorCurves> curves;
};
const Calibrated& calibrated(const hardware::Device& device) {
  static std::map<std::string, Calibrated> known;
  const auto [entry, fresh] = known.try_emplace(device.id, Calibrated{device, std::nullopt});
  if (!fresh) return entry->second;
  const auto calibration = hardware::calibration_of(device);
  if (calibration && *calibration) {
    entry->second.curves.emplace((*calibration)->points);
    entry->second.device.calibration = **calibration;
  }
  return entry->second;
}

struct Combination {
  std::string_view network;
  const hardware::Device* device;
  Precision precision;
  Mode mode;
};

std::vector<Combination> combinations() {
  std::vector<Combination> out;
  const auto& catalogue = hardware::built_in_catalogue();
  EXPECT_TRUE(catalogue);
  for (const auto& entry : network::zoo::entries()) {
    if (entry.name == "gpt3") continue;  // 96 layers of what GPT-2 has
    for (const hardware::Device& device : catalogue->devices())
      for (const Precision precision : kPrecisions)
        for (const Mode mode : {Mode::infer, Mode::train})
          if (mode == Mode::infer || precision != Precision::int8)
            out.push_back({entry.name, &device, precision, mode});
  }
  if (const char* all = std::getenv("PLIMSOLL_ALL")) {
    if (std::string_view(all) != "1") std::erase_if(out, [&](const auto& c) { return c.device->id != all; });
    return out;
  }
  std::size_t on_measured = kSample / 4, on_others = kSample - on_measured;
  std::mt19937 draw(20'261'117);
  std::ranges::shuffle(out, draw);
  // Every fourth on a device that was measured: there other code answers.
  std::vector<Combination> sample;
  for (const Combination& c : out) {
    const bool measured = calibrated(*c.device).curves.has_value();
    auto& left = measured ? on_measured : on_others;
    if (left > 0) sample.push_back(c);
    if (left > 0) --left;
  }
  return sample;
}

struct Answer {
  double seconds = 0, floor = 0, peak = 0;
  double tensors = 0;  ///< B of the peak without workspaces and what blocks are larger by
};

/// One network on one device, asked again and again.
class Asked {
 public:
  explicit Asked(const Combination& c)
      : combination_(c), network_(network::zoo::build(c.network, c.mode).value()) {
    const Calibrated& on = calibrated(*c.device);
    target_ = {&on.device, on.curves ? &*on.curves : nullptr};
  }

  /// Nothing where the network has no such shape, or the device too few figures.
  [[nodiscard]] std::optional<Answer> at(std::int64_t batch, std::optional<std::int64_t> sequence,
                                         std::int64_t context) const {
    const auto binding = network::bind(network_, {.batch = batch, .sequence = sequence});
    if (!binding) return std::nullopt;
    const auto shapes = network::infer(network_, *binding);
    if (!shapes) return std::nullopt;
    const Setting setting{.mode = combination_.mode,
                          .context = context,
                          .precision = combination_.precision,
                          .optimizer = network::Optimizer::adam};
    const auto program = program::lower(network_, *shapes, setting, target_.platform(setting));
    if (!program) return std::nullopt;
    const auto time = estimate::estimate_time(*program, setting, target_);
    if (!time) return std::nullopt;
    const auto memory = estimate::estimate_memory(network_, *program, setting, *target_.device);
    if (!memory) return std::nullopt;
    return Answer{
        time->seconds.value(), floor(*shapes, setting, *program),
        static_cast<double>(memory->peak_allocated.count()),
        static_cast<double>(estimate::peak_bounds(estimate::allocations_of(*program, setting, 0)).low)};
  }
  [[nodiscard]] bool has_sequence() const {
    const auto binding = network::bind(network_, {});
    return binding && std::ranges::any_of(binding->symbols, [](const network::BoundSymbol& symbol) {
             return network::names_sequence(symbol.name);
           });
  }

 private:
  /// FLOPs over a peak that the device has in that precision; weights, and tensors larger than its cache,
  /// over its bandwidth.
  [[nodiscard]] double floor(const network::Shapes& shapes, const Setting& setting,
                             const program::Program& program) const {
    const program::Counts counts = program::count(network_, shapes, {.halve_causal = true});
    const estimate::Needs needs = estimate::needs(network_, counts, setting);
    const estimate::Floors floors = estimate::floors(needs, *target_.device, setting.precision);
    const double cache = target_.device->l2_cache ? target_.device->l2_cache->value : 0;
    double bytes = 0;
    for (const program::Storage& storage : program.storages)
      if (static_cast<double>(storage.bytes) > cache && storage.purpose == program::Purpose::activation)
        bytes += static_cast<double>(storage.bytes);
    const double weights = weights_read(program);
    if (weights > cache) bytes += weights;
    const double moved =
        target_.device->memory_bandwidth ? bytes / target_.device->memory_bandwidth->value : 0;
    return std::max(moved, floors.compute ? floors.compute->value() : 0);
  }

  /// Tables of which rows are picked are not read whole.
  [[nodiscard]] double weights_read(const program::Program& program) const {
    std::vector<bool> whole(network_.tensors.size(), false);
    for (const network::Operator& op : network_.main().operators) {
      const auto inputs = network_.inputs(op);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] != network::kNoTensor && (i > 0 || network_.type_of(op) != "Gather"))
          whole[static_cast<std::size_t>(inputs[i])] = true;
    }
    double bytes = 0;
    for (const program::Storage& storage : program.storages)
      if (storage.purpose == program::Purpose::weight && storage.tensor != network::kNoTensor &&
          whole[static_cast<std::size_t>(storage.tensor)])
        bytes += static_cast<double>(storage.bytes);
    return bytes;
  }

  Combination combination_;
  network::Network network_;
  estimate::Target target_;
};

struct Broken {
  std::string what;
  double by = 0;
};

class Properties : public testing::Test {
 protected:
  void check(const std::string& where, const Answer& answer) {
    if (answer.seconds < answer.floor * (1 - 1e-9))
      below_.push_back(
          {fmt::format("{}: {:.4g} s, and at least {:.4g} s", where, answer.seconds, answer.floor),
           answer.floor / answer.seconds});
  }
  void check(const std::string& where, const Answer& smaller, const Answer& larger) {
    if (larger.seconds < smaller.seconds * (1 - kMayFall))
      falls_.push_back({fmt::format("{}: {:.4g} s after {:.4g} s", where, larger.seconds, smaller.seconds),
                        smaller.seconds / larger.seconds});
    if (larger.tensors < smaller.tensors * (1 - kMayFall) ||
        larger.peak < smaller.peak * (1 - kBlocksMayFall))
      shrinks_.push_back({fmt::format("{}: {:.4g} B ({:.4g} B of tensors) after {:.4g} B ({:.4g} B)", where,
                                      larger.peak, larger.tensors, smaller.peak, smaller.tensors),
                          smaller.peak / larger.peak});
  }
  static std::string told(std::vector<Broken> broken) {
    std::ranges::sort(broken, std::greater(), &Broken::by);
    std::string out = fmt::format("{} cases, the worst:\n", broken.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(broken.size(), 12); ++i)
      out += "  " + broken[i].what + '\n';
    return out;
  }
  std::vector<Broken> below_, falls_, shrinks_;
};

TEST_F(Properties, TimesAreNeverBelowTheirFloorAndNothingFallsAsItGrows) {
  std::size_t asked = 0;
  const std::vector<Combination> all = combinations();
  ASSERT_FALSE(all.empty()) << "PLIMSOLL_ALL is 1, or a device of the catalogue";
  for (const Combination& c : all) {
    const Asked model(c);
    const std::string where = fmt::format("{} on {} in {}, {}", c.network, c.device->id,
                                          network::name(c.precision), network::name(c.mode));
    const auto walk = [&](std::string_view what, std::initializer_list<std::int64_t> values, auto&& ask) {
      std::optional<Answer> before;
      for (const std::int64_t value : values) {
        const std::optional<Answer> now = ask(value);
        if (!now) return;
        ++asked;
        const std::string here = fmt::format("{}, {} {}", where, what, value);
        check(here, *now);
        if (before) check(here, *before, *now);
        before = now;
      }
    };
    walk("batch", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128},
         [&](std::int64_t batch) { return model.at(batch, std::nullopt, 0); });
    if (!model.has_sequence()) continue;
    walk("sequence", {16, 32, 64, 96, 128, 256, 384, 512},
         [&](std::int64_t sequence) { return model.at(1, sequence, 0); });
    if (c.mode == Mode::infer)
      walk("context", {0, 64, 512, 4096}, [&](std::int64_t context) { return model.at(1, 1, context); });
  }
  fmt::print("{} combinations, {} answers\n", all.size(), asked);
  const bool one_device = all.front().device == all.back().device;  // of which figures may be missing
  EXPECT_TRUE(one_device || asked > kSample) << asked;
  EXPECT_TRUE(below_.empty()) << "below the floor: " << told(below_);
  EXPECT_TRUE(falls_.empty()) << "time falls: " << told(falls_);
  EXPECT_TRUE(shrinks_.empty()) << "memory falls: " << told(shrinks_);
}

}  // namespace
}  // namespace plimsoll
