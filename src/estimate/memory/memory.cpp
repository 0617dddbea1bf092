#include "estimate/memory/memory.hpp"

#include <algorithm>
#include <array>

#include "network/operators.hpp"
#include "network/saturating.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

using program::Storage;
using program::StorageId;
using program::ValueId;

bool is_gpu(const hardware::Device& device) {
  return device.kind == hardware::DeviceKind::gpu;
}

bool uses(const network::Network& network, std::initializer_list<std::string_view> types) {
  for (const std::string_view type : types) {
    const auto kind = network::find_operator("", type);
    if (std::ranges::any_of(network.main().operators, [&](const auto& op) { return op.kind == kind; }))
      return true;
  }
  return false;
}

/// CUDA's own memory beside the allocator's. A device that nobody has measured is taken to be like the H200.
double context_of(const network::Network& network, const hardware::Device& device) {
  constexpr double kContext = 648'871'936, kMatrixKernels = 138'412'032, kConvolutionKernels = 23'068'672;
  const auto figure = [](const std::optional<hardware::DeviceFigure>& known, double otherwise) {
    return known ? known->value : otherwise;
  };
  double bytes = figure(device.context_memory, kContext);
  if (uses(network, {"MatMul", "Gemm", "Attention"})) bytes += figure(device.matrix_kernels, kMatrixKernels);
  if (uses(network, {"Conv", "ConvTranspose"}))
    bytes += figure(device.convolution_kernels, kConvolutionKernels);
  return bytes;
}

/// cuBLAS's default workspace per handle and stream: 32 MiB from compute capability 9.0 on, else 8320 KiB.
std::int64_t library_bytes(const hardware::Device& device) {
  if (!is_gpu(device)) return 0;
  const auto& capability = device.compute_capability;
  return capability && capability->major < 9 ? 8'519'680 : 33'562'624;
}

struct Simulation {
  Program program;
  Allocations allocations;
};

Result<Simulation> simulate(const network::Network& network, const network::Shapes& shapes,
                            const network::Setting& setting, const Target& target) {
  Result<Program> program = program::lower(network, shapes, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  Allocations allocations = allocations_of(*program, setting, library_bytes(*target.device));
  return Simulation{std::move(*program), std::move(allocations)};
}

std::string operator_name(const network::Network& network, const Program& program, std::uint32_t call) {
  if (call >= program.calls.size()) return {};
  const std::uint32_t op = program.calls[call].op;
  const auto& operators = network.main().operators;
  return op < operators.size() ? network::describe(network, operators[op]) : std::string("the loss");
}

std::string tensor_name(const network::Network& network, const Program& program, const Buffer& buffer) {
  const std::string name =
      buffer.tensor == network::kNoTensor ? std::string() : std::string(network.name_of(buffer.tensor));
  switch (buffer.purpose) {
    case Purpose::gradient: return name.empty() ? "a gradient" : "gradient of " + name;
    case Purpose::bucket: return name.empty() ? "gradient buckets" : "whole gradient of " + name;
    case Purpose::gathered: return "weights of the layer of " + operator_name(network, program, buffer.call);
    case Purpose::optimizer: return "optimizer state of " + name;
    case Purpose::temporary: return "step's temporary for " + name;
    case Purpose::library: return "cuBLAS workspace";
    case Purpose::cache: return name.empty() ? "keys and values of earlier tokens" : name;
    case Purpose::workspace: return "workspace of " + operator_name(network, program, buffer.call);
    default: return !name.empty() ? name : "saved by " + operator_name(network, program, buffer.call);
  }
}

/// What is in memory after the event, by buffer.
std::vector<std::uint32_t> live_after(const Allocations& allocations, std::size_t event) {
  std::vector<bool> live(allocations.buffers.size(), false);
  for (std::size_t i = 0; i <= event && i < allocations.events.size(); ++i)
    live[allocations.events[i].buffer] = allocations.events[i].kind != Event::Kind::free;
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < live.size(); ++i)
    if (live[i]) out.push_back(i);
  std::ranges::stable_sort(
      out, [&](auto a, auto b) { return allocations.buffers[a].bytes > allocations.buffers[b].bytes; });
  return out;
}

/// What was asked for and changes nothing, in words: a mistyped prefix must not look like an answer.
void note_idle_options(const network::Network& network, const Program& program,
                       const network::Setting& setting, std::vector<std::string>& notes) {
  const bool training = setting.mode == network::Mode::train;
  if (setting.sharding != network::Sharding::none && (setting.devices <= 1 || !training))
    notes.emplace_back("sharding changes nothing here: it divides training over several GPUs (--gpus)");
  if (setting.devices > 1 && !training)
    notes.emplace_back(
        "several GPUs change nothing here: they train together; `plimsoll weigh` says how many a network "
        "needs");
  if (training && setting.devices > 1 && setting.sharding == network::Sharding::none)
    notes.emplace_back("each of the GPUs holds everything, as with --sharding data-parallel");
  if (setting.context > 0 && !training && !setting.key_value_cache)
    notes.emplace_back("a context changes nothing here: without a cache nothing is kept of earlier tokens");
  else if (setting.context > 0 && (training || program.caches.empty()))
    notes.emplace_back("a context changes nothing here: it is for inference with causal attention");
  if (setting.logits == network::Logits::last && !program.last_position_only)
    notes.emplace_back(
        "--logits last changes nothing here: it is for inference of a decoder that ends in a product");
  if (setting.layout == network::Layout::channels_last && !uses(network, {"Conv", "ConvTranspose"}))
    notes.emplace_back("--channels-last changes nothing here: there is no convolution");
  if ((setting.interconnect.bandwidth || setting.interconnect.latency) && (!training || setting.devices <= 1))
    notes.emplace_back("a link changes nothing here: it is between GPUs that train together (--gpus)");
  if (!training && (setting.checkpoint || setting.accumulate > 1 || !setting.frozen.empty()))
    notes.emplace_back("checkpointing, accumulation and frozen parameters change nothing in inference");
  if (training && !setting.frozen.empty() &&
      std::ranges::all_of(program.parameters, [&](ValueId id) { return program.value(id).needs_gradient; }))
    notes.emplace_back("no parameter's name begins with what --freeze names; all are trained");
}

/// The smallest capacity with which the allocations succeed, to 1/1000: segments fit or do not fit in steps.
std::int64_t smallest_capacity(const Allocations& allocations, AllocatorSettings settings,
                               const Replay& natural, const PeakBounds& bounds) {
  // Libraries can do without workspaces; nothing else can be left out.
  std::int64_t low = bounds.low / 10 * 9, high = natural.peak_reserved;
  const auto runs = [&](std::int64_t capacity) {
    settings.capacity = capacity;
    return !replay(allocations, settings).failed;
  };
  while (high - low > std::max<std::int64_t>(natural.peak_reserved / 1000, 2 * kMiB)) {
    const std::int64_t middle = low + (high - low) / 2;
    (runs(middle) ? high : low) = middle;
  }
  return high;
}

/// Between a run whose libraries take no workspace and one whose libraries copy all operands, with what the
/// rounding of sizes and the order of frees may add or take: a hundredth, and a little. Operators without a
/// rule, and a cache that may not be there, widen it; so does, in inference, that a model's code may hold a
/// tensor longer than the graph shows. Against measured runs: docs/memory.md.
void set_interval(MemoryEstimate& estimate, const Program& program, const PeakBounds& bounds,
                  Bytes activations, bool training) {
  const auto peak = static_cast<double>(estimate.peak_allocated.count());
  const double held = training ? 0 : 0.25 * static_cast<double>(activations.count());
  const double slack = 0.01 * peak + 2.0 * kMiB + held;
  const auto unruled = static_cast<double>(program.unruled_bytes);
  const double low = std::min(peak, static_cast<double>(bounds.low)),
               high = std::max(peak, static_cast<double>(bounds.high));
  estimate.low =
      Bytes::rounded(std::max(0.0, low - slack - unruled - static_cast<double>(program.cache_copies)));
  estimate.high = Bytes::rounded(high + slack + unruled);
}

Result<MemoryEstimate> estimated(const network::Network& network, const Program& program,
                                 const network::Setting& setting, const hardware::Device& device,
                                 bool with_minimum);

}  // namespace

MemoryRoom memory_room(const network::Network& network, const hardware::Device& device) {
  MemoryRoom room{.caching = is_gpu(device),
                  .library_bytes = library_bytes(device),
                  .context = std::nullopt,
                  .capacity = hardware::capacity(device)};
  if (room.caching) room.context = Bytes::rounded(context_of(network, device));
  return room;
}

std::optional<bool> fits(const Allocations& allocations, const Replay& natural, const MemoryRoom& room,
                         const network::AllocatorOptions& allocator) {
  if (!room.capacity) return std::nullopt;
  const Bytes left = *room.capacity - room.context.value_or(Bytes());
  if (Bytes(room.caching ? natural.peak_reserved : natural.peak_allocated) <= left) return true;
  if (!room.caching || left <= Bytes()) return false;
  return !replay(allocations, {.options = allocator, .capacity = left.count()}).failed;
}

Result<MemoryEstimate> estimate_memory(const network::Network& network, const Program& program,
                                       const network::Setting& setting, const hardware::Device& device) {
  return estimated(network, program, setting, device, true);
}

Result<MemoryEstimate> estimate_peak(const network::Network& network, const Program& program,
                                     const network::Setting& setting, const hardware::Device& device) {
  return estimated(network, program, setting, device, false);
}

namespace {

Result<MemoryEstimate> estimated(const network::Network& network, const Program& program,
                                 const network::Setting& setting, const hardware::Device& device,
                                 bool with_minimum) {
  const Allocations allocations = allocations_of(program, setting, library_bytes(device));
  AllocatorSettings allocator{.options = setting.allocator, .caching = is_gpu(device)};
  const Replay natural = replay(allocations, allocator);
  if (natural.failed) return fail("this needs more memory than can be counted: 2^63 bytes or more at once");

  MemoryEstimate out;
  for (const StorageId id : program.resident)
    if (const Storage& s = program.storage(id); s.purpose == Purpose::weight) out.weights += Bytes(s.bytes);
  out.peak_allocated = Bytes(natural.peak_allocated);
  out.peak_reserved = Bytes(natural.peak_reserved);
  const PeakBounds bounds = peak_bounds(allocations);
  out.minimum_reserved = Bytes(!is_gpu(device) ? natural.peak_allocated
                               : with_minimum  ? smallest_capacity(allocations, allocator, natural, bounds)
                                               : natural.peak_reserved);

  if (!allocations.events.empty()) {
    const Event& peak = allocations.events[natural.peak_event];
    out.peak_phase = peak.phase;
    // While loading and in the optimizer's step no operator of the network runs.
    if (peak.phase == Phase::forward || peak.phase == Phase::backward)
      out.peak_operator = operator_name(network, program, peak.call);
  }
  std::array<Bytes, program::kPurposes> shares{};
  for (const std::uint32_t id : live_after(allocations, natural.peak_event)) {
    const Buffer& buffer = allocations.buffers[id];
    shares[static_cast<std::size_t>(buffer.purpose)] += Bytes(buffer.bytes);
    out.at_peak.push_back({tensor_name(network, program, buffer), buffer.purpose, Bytes(buffer.bytes)});
  }
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > Bytes()) out.by_purpose.push_back({static_cast<Purpose>(i), shares[i]});
  std::ranges::stable_sort(out.by_purpose, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  set_interval(out, program, bounds, shares[static_cast<std::size_t>(Purpose::activation)],
               setting.mode == network::Mode::train);
  out.state = model_state(program, setting);
  out.unruled = program.unruled;
  note_idle_options(network, program, setting, out.notes);

  if (is_gpu(device)) {
    out.context = Bytes::rounded(context_of(network, device));
    out.context_assumed = !device.context_memory;
  } else {
    out.notes.emplace_back(
        "the memory of the framework's own code on this device is not known; it comes on top");
  }
  out.capacity = hardware::capacity(device);
  if (!out.capacity) {
    out.notes.emplace_back("the memory of this device is not known");
    return out;
  }
  // The search for the minimum stops a little above it, so the run itself decides.
  const Bytes room = *out.capacity - out.context.value_or(Bytes());
  out.fits = out.minimum_reserved <= room;
  if (!*out.fits && is_gpu(device) && room > Bytes()) {
    allocator.capacity = room.count();
    out.fits = !replay(allocations, allocator).failed;
    if (*out.fits) out.minimum_reserved = room;
  }
  return out;
}

}  // namespace

Timeline memory_timeline(const network::Network& network, const Program& program,
                         const network::Setting& setting, const hardware::Device& device) {
  const Allocations allocations = allocations_of(program, setting, library_bytes(device));
  const auto last = allocations.events.empty() ? 0 : allocations.events.back().iteration;
  Timeline out;
  std::array<std::int64_t, program::kPurposes> now{};
  std::vector<std::size_t> span_of(allocations.buffers.size(), static_cast<std::size_t>(-1));
  for (const Event& event : allocations.events) {
    const Buffer& buffer = allocations.buffers[event.buffer];
    const bool freed = event.kind == Event::Kind::free;
    now[static_cast<std::size_t>(buffer.purpose)] += freed ? -buffer.bytes : buffer.bytes;
    const bool shown = event.iteration == last;
    if (!freed) {
      span_of[event.buffer] = out.spans.size();
      out.spans.push_back({tensor_name(network, program, buffer), operator_name(network, program, event.call),
                           buffer.purpose, buffer.bytes, shown ? out.events : 0,
                           static_cast<std::size_t>(-1)});
    } else if (span_of[event.buffer] != static_cast<std::size_t>(-1)) {
      out.spans[span_of[event.buffer]].end = shown ? out.events : 0;
    }
    if (shown) out.points.push_back({out.events++, event.phase, now});
  }
  for (auto& span : out.spans) span.end = std::min(span.end, out.events);
  std::erase_if(out.spans, [](const auto& span) { return span.end <= span.begin; });
  return out;
}

Result<LargestBatch> largest_batch(const network::Network& network, const ShapesForBatch& shapes,
                                   const network::Setting& setting, const Target& target) {
  constexpr std::int64_t kMost = 1 << 20;
  const hardware::Device& device = *target.device;
  const std::optional<Bytes> capacity = hardware::capacity(device);
  if (!capacity) return fail("the memory of {} is not known", device.name);
  AllocatorSettings allocator{.options = setting.allocator, .caching = is_gpu(device)};
  allocator.capacity =
      capacity->count() - (is_gpu(device) ? Bytes::rounded(context_of(network, device)).count() : 0);
  if (allocator.capacity <= 0) return LargestBatch{0, Bytes(), *capacity, true};

  // Whether a batch runs, and the most that it allocates. A batch that cannot be counted is too large.
  struct Tried {
    bool runs = false;
    std::int64_t peak = 0;
  };
  const auto attempt = [&](std::int64_t batch) -> Result<Tried> {
    const Result<network::Shapes> inferred = shapes(batch);
    if (!inferred) return batch > 1 ? Result<Tried>(Tried()) : std::unexpected(inferred.error());
    const Result<Simulation> simulation = simulate(network, *inferred, setting, target);
    if (!simulation) return batch > 1 ? Result<Tried>(Tried()) : std::unexpected(simulation.error());
    const Replay result = replay(simulation->allocations, allocator);
    return Tried{!result.failed, result.peak_allocated};
  };
  const Result<Tried> one = attempt(1);
  if (!one) return std::unexpected(one.error());
  if (!one->runs) return LargestBatch{0, Bytes(), *capacity, true};
  // A graph whose batch is fixed says so at two already.
  if (const Result<network::Shapes> two = shapes(2); !two) return std::unexpected(two.error());
  const Result<Tried> four = attempt(4);
  if (!four) return std::unexpected(four.error());
  std::int64_t good = four->runs ? 4 : 1, bad = four->runs ? kMost + 1 : 4;
  // Memory grows nearly in proportion: look where the line through two batches meets the capacity first.
  const double slope = static_cast<double>(four->peak - one->peak) / 3;
  double guess = slope > 0 ? 1 + static_cast<double>(allocator.capacity - one->peak) / slope
                           : static_cast<double>(kMost);
  double step = 0.02;
  while (bad - good > 1) {
    std::int64_t next = good + (bad - good) / 2;
    if (guess > static_cast<double>(good) && guess < static_cast<double>(bad))
      next = std::max(good + 1, static_cast<std::int64_t>(guess));
    const Result<Tried> tried = attempt(next);
    if (!tried) return std::unexpected(tried.error());
    (tried->runs ? good : bad) = next;
    guess = static_cast<double>(next) * (tried->runs ? 1 + step : 1 - step);
    step /= 2;
    if (good >= kMost) break;
  }
  const Result<network::Shapes> inferred = shapes(good);
  if (!inferred) return std::unexpected(inferred.error());
  const Result<Program> program = program::lower(network, *inferred, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  const Result<MemoryEstimate> estimate = estimate_memory(network, *program, setting, device);
  if (!estimate) return std::unexpected(estimate.error());
  return LargestBatch{good, estimate->minimum_device(), *capacity, good < kMost};
}

Result<std::vector<Remedy>> remedies(const network::Network& network, const ShapesForBatch& shapes,
                                     std::int64_t batch, const network::Setting& setting,
                                     const Target& target) {
  const hardware::Device& device = *target.device;
  struct Try {
    std::string what;
    std::int64_t batch;
    network::Setting setting;
  };
  std::vector<Try> tries;
  const auto with = [&](std::string what, auto&& change) {
    Try t{std::move(what), batch, setting};
    change(t);
    if (t.batch != batch || !(t.setting == setting)) tries.push_back(std::move(t));
  };
  if (batch > 1) with("half the batch", [](Try& t) { t.batch /= 2; });
  const bool full = setting.precision == network::Precision::fp32 ||
                    setting.precision == network::Precision::tf32 ||
                    setting.precision == network::Precision::fp32_strict;
  const bool training = setting.mode == network::Mode::train;
  // Half precision in the format that the device is quick in.
  const bool brain = device.peak_of(hardware::Arithmetic::bf16).has_value() || !is_gpu(device);
  const auto half = [&](network::Precision bf16, network::Precision fp16) {
    const network::Precision chosen = brain ? bf16 : fp16;
    with("--precision " + std::string(network::name(chosen)), [&](Try& t) { t.setting.precision = chosen; });
  };
  if (full && training) half(network::Precision::amp_bf16, network::Precision::amp_fp16);
  if (full) half(network::Precision::bf16, network::Precision::fp16);
  if (training) {
    with("--checkpoint", [](Try& t) { t.setting.checkpoint = true; });
    const bool adam =
        setting.optimizer == network::Optimizer::adam || setting.optimizer == network::Optimizer::adamw;
    if (adam) with("--fused-optimizer", [](Try& t) { t.setting.fused_optimizer = true; });
    if (adam)
      with("--optimizer momentum", [](Try& t) { t.setting.optimizer = network::Optimizer::momentum; });
    with("--optimizer sgd", [](Try& t) { t.setting.optimizer = network::Optimizer::sgd; });
    if (batch > 1)
      with("half the batch, twice the passes (--accumulate)", [](Try& t) {
        t.batch /= 2;
        t.setting.accumulate *= 2;
      });
  }
  if (is_gpu(device))
    with("--expandable-segments", [](Try& t) { t.setting.allocator.expandable_segments = true; });
  std::vector<Remedy> out;
  for (const Try& t : tries) {
    const Result<network::Shapes> inferred = shapes(t.batch);
    if (!inferred) continue;  // the graph's batch cannot be changed
    const Result<Program> program = program::lower(network, *inferred, t.setting, target.platform(t.setting));
    PLIMSOLL_TRY(program);
    const Result<MemoryEstimate> estimate = estimate_memory(network, *program, t.setting, device);
    if (!estimate) return std::unexpected(estimate.error());
    out.push_back({t.what, estimate->minimum_device(), estimate->fits});
  }
  std::ranges::stable_sort(out,
                           [](const auto& a, const auto& b) { return a.minimum_device < b.minimum_device; });
  return out;
}

}  // namespace plimsoll::estimate
