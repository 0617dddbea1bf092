#include "plan/several.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "estimate/memory/memory.hpp"
#include "estimate/parallel.hpp"
#include "estimate/time/communication.hpp"
#include "estimate/time/time.hpp"
#include "network/saturating.hpp"
#include "program/lowering.hpp"
#include "program/stages.hpp"
#include "program/tensor_parallel.hpp"

namespace plimsoll::plan {
namespace {

using estimate::MemoryEstimate;
using estimate::TimeEstimate;
using network::Setting;
using program::Program;

constexpr std::array<std::string_view, 7> kNames = {"data-parallel", "zero1",    "zero2",          "zero3",
                                                    "tensor",        "pipeline", "tensor-pipeline"};

constexpr std::int64_t kMostStages = 1024;  // deeper pipelines than anybody runs

/// What it needs at least, were its tensors to take as much as they do in 95 % of runs.
Bytes upper_of(const MemoryEstimate& e) {
  return e.minimum_device() + std::max(e.high - e.peak_allocated, Bytes());
}

/// Whether it may fit: without the search for what it needs at least.
bool may_fit(const MemoryEstimate& e) {
  return e.fits.value_or(false) && e.capacity && e.high + e.context.value_or(Bytes()) <= *e.capacity;
}

class Planner {
 public:
  Planner(const network::Network& network, const estimate::ShapesForBatch& shapes, std::int64_t batch,
          const Setting& setting, const estimate::Target& target, const SeveralLimits& limits)
      : network_(network),
        shapes_(shapes),
        batch_(batch),
        setting_(setting),
        target_(target),
        limits_(limits) {
    setting_.devices = 1;
    setting_.sharding = network::Sharding::none;
  }

  Result<SeveralDevices> run() {
    const std::optional<Bytes> capacity = hardware::capacity(*target_.device);
    if (!capacity) return fail("the memory of {} is not known", target_.device->name);
    capacity_ = *capacity;
    const Result<network::Shapes> shapes = shapes_(batch_);
    PLIMSOLL_TRY(shapes);
    Result<Program> lowered = program::lower(network_, *shapes, setting_, target_.platform(setting_));
    PLIMSOLL_TRY(lowered);
    whole_ = *std::move(lowered);
    division_ = program::divide_layers(network_, *shapes);
    SeveralDevices out;
    if (training()) {
      PLIMSOLL_TRY(add_sharded(out, setting_.checkpoint));
      const auto does = [](const Way& way) { return way.devices.has_value(); };
      // Recomputation costs time, and is offered only where nothing does without.
      if (!setting_.checkpoint && std::ranges::none_of(out.ways, does)) {
        out.ways.clear();
        PLIMSOLL_TRY(add_sharded(out, true));
      }
    }
    PLIMSOLL_TRY(add(out, tensor()));
    PLIMSOLL_TRY(add(out, pipeline(Parallelism::pipeline, 1)));
    PLIMSOLL_TRY(add_both(out));
    choose(out);
    return out;
  }

 private:
  [[nodiscard]] bool training() const { return setting_.mode == network::Mode::train; }

  Status add_sharded(SeveralDevices& out, bool checkpoint) {
    using network::Sharding;
    if (batch_ > 1) PLIMSOLL_TRY(add(out, sharded(Parallelism::data, Sharding::data_parallel, checkpoint)));
    for (const auto& [how, sharding] :
         {std::pair(Parallelism::zero1, Sharding::zero1), std::pair(Parallelism::zero2, Sharding::zero2),
          std::pair(Parallelism::zero3, Sharding::zero3)})
      PLIMSOLL_TRY(add(out, sharded(how, sharding, checkpoint)));
    return {};
  }

  /// Stages of several devices each, where those are fewer than either way by itself needs.
  Status add_both(SeveralDevices& out) {
    std::optional<std::int64_t> fewest;
    for (const Way& way : out.ways)
      if ((way.how == Parallelism::tensor || way.how == Parallelism::pipeline) && way.devices)
        fewest = std::min(fewest.value_or(*way.devices), *way.devices);
    std::optional<Way> best;
    for (const std::int64_t parts : tensor_parts()) {
      Result<Way> way = pipeline(Parallelism::tensor_pipeline, parts);
      PLIMSOLL_TRY(way);
      if (!way->devices || (fewest && *way->devices >= *fewest)) continue;
      fewest = way->devices;
      best = *std::move(way);
    }
    if (best) out.ways.push_back(*std::move(best));
    return {};
  }

  static Status add(SeveralDevices& out, Result<Way> way) {
    PLIMSOLL_TRY(way);
    out.ways.push_back(*std::move(way));
    return {};
  }

  // ---- Data-parallel, and ZeRO

  /// The program of a device with its part of the batch; of the whole one where a graph's batch is fixed.
  struct Part {
    std::int64_t batch = 1;
    Program program;
  };
  Result<Part> part_of_batch(std::int64_t devices, const Setting& setting) const {
    Part out{.batch = std::max<std::int64_t>(network::divided(batch_, devices), 1), .program = {}};
    Result<network::Shapes> shapes = shapes_(out.batch);
    if (!shapes) {
      out.batch = batch_;
      shapes = shapes_(batch_);
    }
    PLIMSOLL_TRY(shapes);
    Result<Program> program = program::lower(network_, *shapes, setting, target_.platform(setting));
    PLIMSOLL_TRY(program);
    out.program = *std::move(program);
    return out;
  }

  /// The fewest with which it fits, in powers of two; 0 where none does.
  Result<std::int64_t> fewest_sharded(Setting setting, Way& way) {
    for (std::int64_t n = 2; n <= limits_.most_sharded; n *= 2) {
      setting.devices = static_cast<int>(n);
      // What stays alone decides most cases, without a run.
      if (estimate::model_state(whole_, setting).all() > capacity_) continue;
      const Result<Part> part = part_of_batch(n, setting);
      PLIMSOLL_TRY(part);
      const auto memory = fitting(part->program, setting);
      PLIMSOLL_TRY(memory);
      if (!*memory) continue;
      note(way, **memory);
      if (part->batch != batch_) way.local_batch = part->batch;
      note(way, estimate::estimate_time(part->program, setting, target_), part->batch);
      return n;
    }
    return 0;
  }

  /// What the program needs of a device, where even the upper bound of that fits.
  Result<std::optional<MemoryEstimate>> fitting(const Program& program, const Setting& setting) const {
    using Fitting = std::optional<MemoryEstimate>;
    const auto peak = estimate::estimate_peak(network_, program, setting, *target_.device);
    PLIMSOLL_TRY(peak);
    if (!may_fit(*peak)) return Fitting();
    const auto memory = estimate::estimate_memory(network_, program, setting, *target_.device);
    PLIMSOLL_TRY(memory);
    return upper_of(*memory) <= capacity_ ? Fitting(*memory) : Fitting();
  }

  Result<Way> sharded(Parallelism how, network::Sharding sharding, bool checkpoint) {
    Way way{.how = how, .checkpoint = checkpoint && !setting_.checkpoint};
    Setting setting = setting_;
    setting.sharding = sharding;
    setting.checkpoint = checkpoint;
    const Result<std::int64_t> devices = fewest_sharded(setting, way);
    PLIMSOLL_TRY(devices);
    if (*devices == 0) {
      setting.devices = static_cast<int>(limits_.most_sharded);
      const Bytes kept = estimate::model_state(whole_, setting).all();
      way.checkpoint = false;
      way.reason = kept > capacity_
                       ? fmt::format("on {} GPUs each still keeps more than it has", limits_.most_sharded)
                       : "one sample and the layers that work on it are too much for one GPU";
      return way;
    }
    way.devices = *devices;
    return way;
  }

  // ---- Tensor and pipeline

  /// Parts that divide the heads, within one machine.
  [[nodiscard]] std::vector<std::int64_t> tensor_parts() const {
    std::vector<std::int64_t> out;
    for (std::int64_t t = 2; t <= setting_.interconnect.devices_per_machine && t <= division_.heads; ++t)
      if (division_.heads % t == 0) out.push_back(t);
    return out;
  }
  [[nodiscard]] std::int64_t most_tensor() const {
    const auto parts = tensor_parts();
    return parts.empty() ? 1 : parts.back();
  }

  Result<Way> tensor() {
    Way way{.how = Parallelism::tensor};
    for (const std::int64_t t : tensor_parts()) {
      const Program part = program::tensor_part(whole_, division_, t);
      if (estimate::model_state(part, setting_).all() > capacity_) continue;
      const auto memory = fitting(part, setting_);
      PLIMSOLL_TRY(memory);
      if (!*memory) continue;
      way.devices = way.tensor = t;
      note(way, **memory);
      note(way, in_stages(part, {0}, t), batch_);
      return way;
    }
    way.reason = division_.heads == 0 ? "it has no attention whose heads could be divided"
                 : tensor_parts().empty()
                     ? fmt::format("heads, those of keys too, are not divided by any number up to {}",
                                   setting_.interconnect.devices_per_machine)
                     : fmt::format("{} parts, as many as its heads allow within a machine, are not enough",
                                   most_tensor());
    return way;
  }

  /// Bytes that a stage pays for each call: weights with what training keeps of them, what it saves, and the
  /// context's keys and values.
  [[nodiscard]] std::vector<double> costs(const Program& program) const {
    const double copies = training() ? 2 + network::state_per_parameter(setting_.optimizer) : 1;
    std::vector<double> out(program.calls.size(), 0);
    for (const program::Layer& layer : program.layers)
      for (const program::StorageId id :
           std::span(program.weights_of).subspan(layer.weights.begin, layer.weights.count))
        out[layer.first] += copies * static_cast<double>(program.storage(id).bytes);
    for (std::size_t i = 0; i < out.size(); ++i)
      for (const program::ValueId id : program.ids(program.calls[i].saved))
        if (!program.value(id).parameter) out[i] += static_cast<double>(program.value(id).bytes());
    for (const program::TokenCache& cache : program.caches)
      out[cache.call] += static_cast<double>(cache.context_bytes);
    return out;
  }

  Result<Way> pipeline(Parallelism how, std::int64_t tensor_parts) {
    Way way{.how = how, .tensor = tensor_parts};
    const Program part = program::tensor_part(whole_, division_, tensor_parts);
    const std::vector<double> cost = costs(part);
    const auto layers = std::min<std::int64_t>(static_cast<std::int64_t>(part.layers.size()), kMostStages);
    const double all = static_cast<double>(estimate::model_state(part, setting_).all().count());
    auto p = std::max<std::int64_t>(
        2, static_cast<std::int64_t>(
               std::ceil(all / static_cast<double>(std::max<std::int64_t>(capacity_.count(), 1)))));
    for (; p <= layers; ++p) {
      const std::vector<std::uint32_t> starts = program::balanced_stages(part, cost, p);
      if (starts.size() < 2) break;
      const Result<std::optional<MemoryEstimate>> most = largest_stage(part, starts, cost);
      PLIMSOLL_TRY(most);
      if (!*most) continue;
      way.pipeline = static_cast<std::int64_t>(starts.size());
      way.devices = way.pipeline * tensor_parts;
      note(way, **most);
      note(way, in_stages(part, starts, tensor_parts), batch_);
      return way;
    }
    way.reason = layers < 2 ? "it has no layers to divide"
                            : fmt::format("{} stages of its layers are not enough", layers);
    return way;
  }

  /// What the stage needs that needs most; nothing where one does not fit. The dearest is tried first.
  Result<std::optional<MemoryEstimate>> largest_stage(const Program& part,
                                                      const std::vector<std::uint32_t>& starts,
                                                      const std::vector<double>& cost) const {
    std::vector<std::size_t> order(starts.size());
    std::vector<double> sums(starts.size(), 0);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      order[i] = i;
      for (std::size_t call = starts[i]; call < end_of(part, starts, i); ++call) sums[i] += cost[call];
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return sums[i]; });
    std::optional<MemoryEstimate> most;
    for (const std::size_t i : order) {
      const Program stage = program::stage(part, starts[i], end_of(part, starts, i));
      auto memory = fitting(stage, setting_);
      PLIMSOLL_TRY(memory);
      if (!*memory) return std::optional<MemoryEstimate>();
      if (!most || upper_of(**memory) > upper_of(*most)) most = **std::move(memory);
    }
    return most;
  }

  static std::uint32_t end_of(const Program& part, const std::vector<std::uint32_t>& starts, std::size_t i) {
    return i + 1 < starts.size() ? starts[i + 1] : static_cast<std::uint32_t>(part.calls.size());
  }

  /// One batch, or one training step, through stages of which each is `parts` devices that share its layers.
  /// GPipe: in training a micro-batch for each sample.
  [[nodiscard]] Result<TimeEstimate> in_stages(const Program& part, const std::vector<std::uint32_t>& starts,
                                               std::int64_t parts) {
    const auto p = static_cast<std::int64_t>(starts.size());
    const Result<estimate::KnownLink> link =
        estimate::link_between(*target_.device, setting_.interconnect, p * parts);
    if (!link) return std::unexpected(link.error());
    TimeEstimate all;
    Seconds slowest, update;
    double low = 0, high = 0, sum = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const Result<TimeEstimate> time = estimate::estimate_time(
          program::stage(part, starts[i], end_of(part, starts, i)), setting_, target_);
      PLIMSOLL_TRY(time);
      const Seconds work = time->seconds - time->optimizer;
      slowest = std::max(slowest, work);
      update = std::max(update, time->optimizer);
      all.seconds += work;
      low += time->low.value();
      high += time->high.value();
      sum += time->seconds.value();
      all.passes = time->passes;
    }
    // Sums over the devices that share layers: in every pass, never hidden.
    const double passes = all.passes;
    const int width = setting_.precision == network::Precision::fp32 ||
                              setting_.precision == network::Precision::fp32_strict ||
                              setting_.precision == network::Precision::tf32
                          ? 4
                          : 2;
    const auto summed = [&](std::int64_t elements) {
      const double messages = static_cast<double>(std::max<std::int64_t>(division_.sums, 1));
      const Bytes each = Bytes::rounded(static_cast<double>(network::product(elements, width)) / messages);
      return estimate::all_reduce(estimate::Communication::ring, each, parts, link->link) * messages;
    };
    Seconds sums = parts > 1 ? summed(division_.forward_elements) * passes : Seconds();
    if (parts > 1 && training()) sums += summed(division_.backward_elements) * passes;
    if (parts > 1 && !training())
      sums +=
          estimate::all_gather(Bytes(network::product(division_.output_elements, width)), parts, link->link);
    Seconds sent;
    const double micro = training() ? static_cast<double>(std::max<std::int64_t>(batch_, 1)) * passes : 1;
    for (std::size_t i = 1; i < starts.size(); ++i) {
      const program::Crossing there = program::crossing(part, starts[i]);
      const double pieces = training() ? micro / passes : 1;
      sent += Bytes(there.bytes) / link->link.bandwidth / pieces + link->link.latency;
      if (training())
        sent += Bytes(there.gradient_bytes) / link->link.bandwidth / pieces + link->link.latency;
    }
    const auto count = static_cast<double>(p);
    const double spread_low = sum > 0 ? low / sum : 1, spread_high = sum > 0 ? high / sum : 1;
    TimeEstimate out;
    out.passes = all.passes;
    // Of micro + p - 1 slots micro are work; the slowest stage sets the pace.
    const Seconds computed = training() ? slowest * ((micro + count - 1) / micro) + update : all.seconds;
    const Seconds waiting = (training() ? sums / count * ((micro + count - 1) / micro) : sums) + sent;
    out.seconds = computed + waiting;
    out.low = computed * spread_low + waiting;
    out.high = computed * spread_high + waiting;
    // In inference stages work on different batches at once, where each need not keep a cache of its own.
    slowest_ = training() || !part.caches.empty() ? out.seconds : slowest + sums / count;
    return out;
  }

  // ---- What is said

  void note(Way& way, const MemoryEstimate& memory) const {
    way.minimum_device = memory.minimum_device();
    way.upper_device = upper_of(memory);
  }
  void note(Way& way, const Result<TimeEstimate>& time, std::int64_t batch) {
    if (!time) {
      way.no_time = time.error().text();
      return;
    }
    way.seconds = time->seconds;
    way.low = time->low;
    way.high = time->high;
    const Seconds per_batch = slowest_.value_or(time->seconds);
    slowest_.reset();
    if (per_batch > Seconds()) way.samples_per_second = time->samples(batch) / per_batch.value();
  }

  void choose(SeveralDevices& out) const {
    const auto fewer = [&](const Way& a, const Way& b) {
      if (*a.devices != *b.devices) return *a.devices < *b.devices;
      if (a.seconds.has_value() != b.seconds.has_value()) return a.seconds.has_value();
      if (!a.seconds) return false;
      return training() ? a.samples_per_second > b.samples_per_second : *a.seconds < *b.seconds;
    };
    const auto per_device = [](const Way& way) {
      return *way.samples_per_second / static_cast<double>(*way.devices);
    };
    std::size_t ways = 0, timed = 0;
    for (std::size_t i = 0; i < out.ways.size(); ++i) {
      const Way& way = out.ways[i];
      if (!way.devices) continue;
      ++ways;
      if (way.samples_per_second) ++timed;
      if (!out.fewest || fewer(way, out.ways[*out.fewest])) out.fewest = i;
    }
    out.best = out.fewest;
    if (!out.best) {
      out.why = "no way that is known here carries it";
      return;
    }
    out.why = "the fewest GPUs";
    const auto as_many = std::ranges::count(out.ways, out.ways[*out.best].devices, &Way::devices);
    if (as_many > 1 && out.ways[*out.best].seconds)
      out.why += fmt::format(", and of {} ways with as many the quickest", as_many);
    if (!training() || timed < ways) return;
    for (std::size_t i = 0; i < out.ways.size(); ++i)
      if (out.ways[i].devices && per_device(out.ways[i]) > per_device(out.ways[*out.best])) out.best = i;
    if (out.best != out.fewest) out.why = "the most samples a second of each GPU";
  }

  const network::Network& network_;
  const estimate::ShapesForBatch& shapes_;
  std::int64_t batch_;
  Setting setting_;
  estimate::Target target_;
  SeveralLimits limits_;
  Bytes capacity_;
  Program whole_;
  program::LayerDivision division_;
  std::optional<Seconds> slowest_;  ///< of a pipeline: what a batch takes where others follow it
};

}  // namespace

std::string_view name(Parallelism how) {
  return kNames[static_cast<std::size_t>(how)];
}

Result<SeveralDevices> several_devices(const network::Network& network,
                                       const estimate::ShapesForBatch& shapes, std::int64_t batch,
                                       const Setting& setting, const estimate::Target& target,
                                       const SeveralLimits& limits) {
  return Planner(network, shapes, batch, setting, target, limits).run();
}

}  // namespace plimsoll::plan
