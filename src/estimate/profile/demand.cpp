#include "estimate/profile/demand.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "estimate/profile/demand_table.hpp"
#include "estimate/profile/parallel_work.hpp"
#include "hardware/operator_place.hpp"
#include "network/saturating.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;
using hardware::OperatorPlace;

// From the start of one kernel to the start of the next the SMs are empty for so long, whatever the kernel:
// captured in a graph, and as Nsight Compute counts, which waits for each kernel (docs/profile.md).
constexpr double kIdlePerLaunch = 1.0e-6, kIdlePerCountedLaunch = 2.1e-6;  // s
constexpr double kLeastBusy = 0.1;  // of the time of a kernel that is hardly more than its launch

// What a kernel reads was written by the one before. With a fifth of the L2 as all its bytes it finds all of
// that there, with all of the L2 nothing.
constexpr double kWholeInCache = 0.2, kNoneInCache = 1.0;
constexpr double kMostOfBandwidth = 0.92;  // that any kernel was seen to reach
/// Only cases that do not fit the cache tell how often libraries move what has to be moved once.
constexpr double kTellsTraffic = 0.8;  // of the L2

constexpr double kSomeTensor = 0.005;  // of all cycles: less is some other kernel's beside

constexpr std::size_t kNeighbours = 4;
constexpr double kSame = 0.02;  // squared distance below which cases are as good as the same

/// A counted kernel as laws of its own: how full the SMs are beside what its blocks would fill evenly.
struct CountedDemand {
  const CountedKernel* counted;
  OperatorPlace place;
  double work;     ///< parallel_work()
  double fill;     ///< SMs busy, launch left out, over those that its blocks reach
  double packing;  ///< resident warps of a busy SM over those that would fit
  double traffic;  ///< bytes moved over bytes that have to be; 0: unknown
  bool by_tensor;  ///< in tensor units
};

/// SMs that get a block at all.
double reached(double blocks, double units) {
  return std::min(1.0, blocks / units);
}
/// Warps of an SM over the most, where blocks spread evenly.
double packed(double blocks, double blocks_per_sm, double warps_per_block, double units, double most_warps) {
  return std::min(1.0, std::min(blocks_per_sm, std::max(1.0, blocks / units)) * warps_per_block / most_warps);
}

double busy_part(double launches, double idle_each, double seconds) {
  return std::max(1 - launches * idle_each / seconds, kLeastBusy);
}

CountedDemand law_of(const CountedKernel& k) {
  const double share = std::max(k.sm_share, 1e-6);
  const double fill = std::min(1.0, share / busy_part(k.launches, kIdlePerCountedLaunch, k.seconds));
  const OperatorCase what = completed(k.what);
  const double bytes = hardware::work_of(what).bytes();
  return {.counted = &k,
          .place = hardware::place_of(what),
          .work = parallel_work(what),
          .fill = fill / reached(k.blocks, kCountedMultiprocessors),
          .packing = k.occupancy / share /
                     packed(k.blocks, k.blocks_per_sm, k.warps_per_block, kCountedMultiprocessors,
                            kCountedMostWarps),
          .traffic = bytes < kTellsTraffic * kCountedCache ? 0 : std::max(1.0, k.dram_bytes / bytes),
          .by_tensor = k.tensor_share > kSomeTensor};
}

const std::vector<CountedDemand>& laws() {
  static const std::vector<CountedDemand> all = [] {
    std::vector<CountedDemand> made;
    for (const CountedKernel& k : counted_kernels()) made.push_back(law_of(k));
    return made;
  }();
  return all;
}

std::span<const CountedDemand> laws_of(const OperatorCase& group) {
  const auto less = [](const OperatorCase& a, const OperatorCase& b) {
    return std::tie(a.operator_class, a.direction, a.arithmetic) <
           std::tie(b.operator_class, b.direction, b.arithmetic);
  };
  const auto of = [](const CountedDemand& law) -> const OperatorCase& { return law.counted->what; };
  const auto found = std::ranges::equal_range(laws(), group, less, of);
  return {found.begin(), found.end()};
}

/// The counted cases that tell most: of other formats and directions where those asked for were not counted.
std::span<const CountedDemand> laws_for(OperatorCase c) {
  const bool half = c.arithmetic == Arithmetic::fp16 || c.arithmetic == Arithmetic::bf16;
  const std::array formats = {c.arithmetic, half ? Arithmetic::bf16 : Arithmetic::fp32, Arithmetic::tf32,
                              half ? Arithmetic::fp32 : Arithmetic::bf16};
  for (const Direction direction : {c.direction, Direction::forward, Direction::backward_input})
    for (const Arithmetic format : formats) {
      c.direction = direction;
      c.arithmetic = format;
      if (const auto found = laws_of(c); !found.empty()) return found;
    }
  return {};
}

/// The nearest few laws, each with its weight; weights add up to 1.
class Neighbours {
 public:
  void offer(const CountedDemand& law, double squared) {
    std::size_t at = count_;
    while (at > 0 && nearest_[at - 1].squared > squared) --at;
    if (at == kNeighbours) return;
    count_ = std::min(count_ + 1, kNeighbours);
    std::shift_right(nearest_.begin() + static_cast<std::ptrdiff_t>(at),
                     nearest_.begin() + static_cast<std::ptrdiff_t>(count_), 1);
    nearest_[at] = {&law, squared};
  }
  [[nodiscard]] double worst() const {
    return count_ < kNeighbours ? std::numeric_limits<double>::infinity() : nearest_[count_ - 1].squared;
  }
  [[nodiscard]] const CountedDemand* first() const { return count_ == 0 ? nullptr : nearest_[0].law; }
  template <class Value>
  [[nodiscard]] double mean(const Value& value) const {
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const double weight = 1 / (nearest_[i].squared + kSame);
      sum += weight * value(*nearest_[i].law);
      weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
  }

 private:
  struct Near {
    const CountedDemand* law;
    double squared;
  };
  std::array<Near, kNeighbours> nearest_{};
  std::size_t count_ = 0;
};

struct Alike {
  Neighbours kernels;  ///< all
  Neighbours large;    ///< those that tell the traffic
};
Alike alike(const OperatorCase& c) {
  Alike found;
  const OperatorPlace place = hardware::place_of(c);
  for (const CountedDemand& law : laws_for(c)) {
    const double enough =
        law.traffic > 0 ? std::max(found.kernels.worst(), found.large.worst()) : found.kernels.worst();
    const double squared = hardware::squared_distance(place, law.place, enough);
    if (squared >= enough) continue;
    found.kernels.offer(law, squared);
    if (law.traffic > 0) found.large.offer(law, squared);
  }
  return found;
}

/// Warps that an SM of the device holds at most.
double most_warps(const hardware::Device& device) {
  if (!device.compute_capability) return kCountedMostWarps;
  const auto [major, minor] = *device.compute_capability;
  if (major == 7 && minor == 5) return 32;
  return (major == 8 && minor >= 6) || major >= 12 ? 48 : kCountedMostWarps;
}

/// A kernel of the device, with the blocks that a counted one would have.
struct Launch {
  double blocks, blocks_per_sm, reached, packed;
};
Launch launch_of(const CountedDemand& law, double work, double units, double most) {
  const CountedKernel& k = *law.counted;
  double blocks = work > 0 && law.work > 0 ? std::max(1.0, k.blocks * work / law.work) : k.blocks;
  // As many blocks as SMs: they stay, and fetch one tile after the other.
  if (work == 0 && k.blocks == kCountedMultiprocessors) blocks = units;
  const double fit = std::max(1.0, std::min(k.blocks_per_sm, std::floor(most / k.warps_per_block)));
  return {blocks, fit, reached(blocks, units), packed(blocks, fit, k.warps_per_block, units, most)};
}

double dram_bytes_of(const OperatorCase& c, const Neighbours& large, const hardware::Device& device) {
  const double bytes = hardware::work_of(c).bytes(), cold = cold_bytes(c);
  const double cache = device.l2_cache ? device.l2_cache->value : 0;
  const double missed =
      cache > 0 ? std::clamp((bytes / cache - kWholeInCache) / (kNoneInCache - kWholeInCache), 0.0, 1.0) : 1;
  const double traffic = std::max(1.0, large.mean([](const CountedDemand& law) { return law.traffic; }));
  return cold + (bytes - cold) * missed + bytes * (traffic - 1) * missed;
}

/// Products at the peak of tensor units, as far as kernels alike use them at all: for small or odd shapes
/// libraries take others. FP32 attention multiplies in TF32, several times.
double tensor_share_of(const OperatorCase& c, const Neighbours& near, Seconds duration,
                       const hardware::Device& device) {
  const auto& peak = device.peak_of(c.arithmetic == Arithmetic::fp32 ? Arithmetic::tf32 : c.arithmetic);
  if (!peak || !hardware::is_matrix_product(c.operator_class)) return 0;
  const double used = near.mean([](const CountedDemand& law) { return law.by_tensor ? 1.0 : 0.0; });
  return std::min(1.0, used * hardware::work_of(c).flops_at_peak() / (peak->value * duration.value()));
}

/// Kernels that nobody has counted fill a GPU as those do that are most like them.
OperatorCase counted_like(OperatorCase c) {
  const hardware::Extents e = c.extents;
  switch (c.operator_class) {
    case OperatorClass::depthwise_channels_last: return c;  // was counted
    case OperatorClass::grouped_attention:
      c.operator_class = OperatorClass::attention;
      c.extents = {e[hardware::grouped::batch],   e[hardware::grouped::heads],
                   e[hardware::grouped::queries], e[hardware::grouped::keys],
                   e[hardware::grouped::width],   e[hardware::grouped::queries] > 1 ? 1 : 0};
      return c;
    case OperatorClass::channel_sum:
      c.operator_class = OperatorClass::row_sum;
      c.extents = {e[1], network::product(e[0], e[2])};
      return c;
    default: c.operator_class = channels_first(c.operator_class); return c;
  }
}

}  // namespace

std::optional<Demand> demand_of(const OperatorCase& asked, Seconds duration, const hardware::Device& device) {
  if (device.kind != hardware::DeviceKind::gpu || !device.multiprocessors || duration <= Seconds())
    return std::nullopt;
  OperatorCase c = asked;
  // A contiguous copy is left to the driver, and a cast is one of the element-wise kernels, as most copies
  // are.
  if (c.operator_class == OperatorClass::copy) c.operator_class = OperatorClass::unary;
  // Of what is only counted: as if its bytes went through an element-wise kernel.
  if (c.operator_class == OperatorClass::counted) {
    c = {.operator_class = OperatorClass::unary, .arithmetic = Arithmetic::fp32};
    c.extents[0] = std::max<std::int64_t>(asked.extents[1] / 8 + asked.extents[2] / 8, 1);
  }
  c = counted_like(c);
  const Alike near = alike(c);
  if (near.kernels.first() == nullptr) return std::nullopt;
  const double units = device.multiprocessors->value, most = most_warps(device), work = parallel_work(c);
  const auto launch = [&](const CountedDemand& law) { return launch_of(law, work, units, most); };
  const CountedKernel& nearest = *near.kernels.first()->counted;
  const Launch chosen = launch(*near.kernels.first());
  Demand out{
      .launches = std::max(
          1.0, std::round(near.kernels.mean([](const CountedDemand& law) { return law.counted->launches; }))),
      .blocks = std::ceil(chosen.blocks),
      .warps_per_block = nearest.warps_per_block,
      .blocks_per_sm = chosen.blocks_per_sm};
  out.waves = out.blocks / (units * out.blocks_per_sm);
  const double busy = busy_part(out.launches, kIdlePerLaunch, duration.value());
  out.sm_share = busy * near.kernels.mean([&](const CountedDemand& law) {
    return std::min(1.0, launch(law).reached * law.fill);
  });
  out.occupancy = out.sm_share * near.kernels.mean([&](const CountedDemand& law) {
    return std::min(1.0, launch(law).packed * law.packing);
  });
  out.tensor_share = tensor_share_of(c, near.kernels, duration, device);
  out.block_seconds = duration * (busy / out.launches / std::max(1.0, out.waves));
  out.dram_bytes = dram_bytes_of(c, near.large, device);
  if (device.memory_bandwidth)
    out.dram_share =
        std::min(out.dram_bytes / (device.memory_bandwidth->value * duration.value()), kMostOfBandwidth);
  return out;
}

}  // namespace plimsoll::estimate
