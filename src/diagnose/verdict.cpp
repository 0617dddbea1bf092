#include "diagnose/verdict.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/verdict_findings.hpp"

namespace plimsoll::diagnose {
namespace {

using Figure = std::optional<double>;

struct Words {
  std::string_view name;
  std::string_view title;
};
constexpr std::array<Words, 14> kWords = {{
    {"unknown", "Not known"},
    {"gpu-unused", "The GPU was not used"},
    {"input-processor", "Bound by its input: the processor"},
    {"input-storage", "Bound by its input: storage"},
    {"one-thread", "Bound by one thread of the host"},
    {"waits", "The GPU waits"},
    {"launches", "Bound by launching kernels"},
    {"small-kernels", "Kernels too small for the GPU"},
    {"gpu-bandwidth", "Bound by the GPU's memory bandwidth"},
    {"gpu-compute", "Near the limit: bound by the GPU's arithmetic"},
    {"mixed", "Nothing stands out"},
    {"processor", "Bound by the processor"},
    {"storage", "Bound by storage"},
    {"host-memory", "Short of memory"},
}};

constexpr std::array<Threshold, 18> kThresholds = {
    kNearIdle,     kWaits,       kCoresFull,  kOneCoreLow,    kOneCoreHigh, kHeldBack,
    kStorageWaits, kMemoryWaits, kSparse,     kBandwidthFull, kSmFull,      kTensorUnused,
    kFp32Busy,     kMemoryFull,  kClocksHeld, kShared,        kIdleEnds,    kCarries};

std::string cores(double count) {
  return value_text(count, Shown::cores);
}

/// The mean over the GPUs that worked; unknown where one of them does not say.
Figure over_gpus(const RunFigures& figures, Figure GpuFigures::* what) {
  double sum = 0, count = 0;
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.work) continue;
    if (!(gpu.*what)) return std::nullopt;
    sum += *(gpu.*what);
    ++count;
  }
  return count > 0 ? Figure(sum / count) : std::nullopt;
}

/// What a limiter is decided by: means of the run's working GPUs, and its host while they waited.
struct Situation {
  Figure sm, kernels, dram, tensor, fp32;
  HostFigures host;

  [[nodiscard]] Figure cpu() const { return host.cpu_while_waiting; }
  [[nodiscard]] Figure cores_used() const {
    return cpu() && host.cores ? Figure(*cpu() / *host.cores) : std::nullopt;
  }
  [[nodiscard]] bool one_core() const { return is_one_core(cpu()); }
  [[nodiscard]] bool launching() const { return is_one_core(host.cpu_while_working); }
  /// Every core of the machine is busy, whoever keeps it so.
  [[nodiscard]] bool machine_full() const {
    return host.machine_cpu && host.cores && *host.machine_cpu >= kCoresFull.value * *host.cores;
  }
  [[nodiscard]] bool held_back() const { return host.held_back && *host.held_back >= kHeldBack.value; }
  /// The run has no more cores to be had. `others`: also where it is others who have them.
  [[nodiscard]] bool cores_full(bool others) const {
    return held_back() || (others && machine_full()) || (cores_used() && *cores_used() >= kCoresFull.value);
  }
  /// At least one of its threads works without a rest: then cores that others have are missing to it.
  [[nodiscard]] bool works() const { return cpu() && *cpu() >= kOneCoreLow.value; }
  [[nodiscard]] bool storage_waits() const {
    return host.io_pressure && *host.io_pressure >= kStorageWaits.value;
  }

 private:
  static bool is_one_core(const Figure& cores) {
    return cores && *cores >= kOneCoreLow.value && *cores <= kOneCoreHigh.value;
  }
};

Situation situation_of(const RunFigures& f) {
  return {over_gpus(f, &GpuFigures::sm_activity), over_gpus(f, &GpuFigures::kernel_activity),
          over_gpus(f, &GpuFigures::dram),        over_gpus(f, &GpuFigures::tensor),
          over_gpus(f, &GpuFigures::fp32),        f.host};
}

Limiter gpu_limiter(const Situation& s) {
  if (!s.sm && !s.kernels) return Limiter::unknown;
  if (s.kernels && 1 - *s.kernels >= kWaits.value) {
    if (s.storage_waits()) return Limiter::input_storage;
    // One core in all, and that one busy: more workers are not to be had, but it is the same limit.
    if (s.cores_full(true)) return Limiter::input_processor;
    if (s.one_core()) return Limiter::one_thread;
    return Limiter::waits;
  }
  if (s.dram && *s.dram >= kBandwidthFull.value) return Limiter::gpu_bandwidth;
  if (s.sm && *s.sm >= kSmFull.value) return Limiter::gpu_compute;
  if (s.sm && s.kernels && *s.sm < kSparse.value)
    return s.launching() ? Limiter::launches : Limiter::small_kernels;
  // "Some kernel ran" alone says nothing about how full the device was.
  return s.sm ? Limiter::mixed : Limiter::unknown;
}

Limiter host_limiter(const Situation& s) {
  if (s.host.memory_pressure && *s.host.memory_pressure >= kMemoryWaits.value) return Limiter::host_memory;
  if (s.storage_waits()) return Limiter::storage;
  // Without a GPU that waits nothing says that a run which rests would work if it could.
  if (s.cores_full(s.works())) return Limiter::processor;
  if (s.one_core()) return Limiter::one_thread;
  return s.cpu() && s.host.cores ? Limiter::mixed : Limiter::unknown;
}

void add(std::vector<Evidence>& evidence, std::string label, const Figure& value, Shown shown,
         const Threshold* threshold = nullptr) {
  if (value) evidence.push_back({std::move(label), *value, shown, threshold});
}

std::vector<Evidence> evidence_of(const Situation& s, bool on_gpu) {
  std::vector<Evidence> out;
  if (on_gpu) {
    add(out, "any kernel running", s.kernels, Shown::share);
    if (s.kernels) add(out, "no kernel running", 1 - *s.kernels, Shown::share, &kWaits);
    add(out, "SM activity", s.sm, Shown::share, s.sm && *s.sm < kSparse.value ? &kSparse : &kSmFull);
    add(out, "GPU memory bandwidth", s.dram, Shown::share, &kBandwidthFull);
    add(out, "tensor cores", s.tensor, Shown::share);
    add(out, "FP32 pipe", s.fp32, Shown::share);
  }
  add(out, on_gpu ? "cores of the run while the GPU waits" : "cores of the run", s.cpu(), Shown::cores);
  if (on_gpu)
    add(out, "cores of the run while kernels run", s.host.cpu_while_working, Shown::cores, &kOneCoreLow);
  add(out, "share of the cores it may use", s.cores_used(), Shown::share, &kCoresFull);
  if (s.host.machine_cpu && s.host.cores)
    add(out, "share of the machine's cores, everybody's", *s.host.machine_cpu / *s.host.cores, Shown::share,
        &kCoresFull);
  add(out, "held back by the cgroup's limit", s.host.held_back, Shown::cores, &kHeldBack);
  add(out, "waiting for storage", s.host.io_pressure, Shown::share, &kStorageWaits);
  if (!on_gpu) add(out, "waiting for memory", s.host.memory_pressure, Shown::share, &kMemoryWaits);
  return out;
}

std::string of_cores(const Situation& s) {
  if (!s.cpu()) return "an unknown number of cores";
  if (s.held_back()) return fmt::format("{}, held back by its cgroup's limit", cores(*s.cpu()));
  if (!s.host.cores) return cores(*s.cpu());
  const bool alone = s.cores_used() >= kCoresFull.value;
  if (s.machine_full() && !alone)
    return fmt::format("{}, and others the rest of the machine's {:.4g}", cores(*s.cpu()), *s.host.cores);
  return fmt::format("{} of {:.4g}", cores(*s.cpu()), *s.host.cores);
}

std::string waiting_text(const Situation& s) {
  const double without = 1 - *s.kernels;
  return fmt::format("No kernel ran for {} of the working time", share_text(without));
}

std::string tensor_text(const Situation& s) {
  return s.tensor ? fmt::format(", tensor cores for {}", share_text(*s.tensor)) : "";
}

std::string gpu_text(Limiter limiter, const Situation& s) {
  switch (limiter) {
    case Limiter::input_processor:
      return fmt::format("{}, while the run used {}: the processor cannot prepare the input fast enough.",
                         waiting_text(s), of_cores(s));
    case Limiter::input_storage:
      return fmt::format(
          "{}, while processes waited for storage for {} of it: the data does not come fast enough.",
          waiting_text(s), share_text(*s.host.io_pressure));
    case Limiter::one_thread:
      return fmt::format(
          "{}, while the run kept {} busy: one thread prepares the input or launches the kernels, and "
          "the GPU waits for it.",
          waiting_text(s), of_cores(s));
    case Limiter::waits:
      return fmt::format(
          "{}. {}: what it waited for (network, locks, other processes, saving) was not sampled.",
          waiting_text(s),
          s.cpu() ? fmt::format("The run used {} meanwhile, and storage was not the reason", of_cores(s))
                  : "The processor was not sampled");
    case Limiter::launches:
      return fmt::format(
          "Kernels ran for {} of the time, but the SMs were busy for only {}, while one core was busy "
          "({}): many small kernels, launched one after the other.",
          share_text(*s.kernels), share_text(*s.sm), cores(*s.host.cpu_while_working));
    case Limiter::small_kernels:
      return fmt::format(
          "Kernels ran for {} of the time, but the SMs were busy for only {}: each kernel fills a part "
          "of the device.",
          share_text(*s.kernels), share_text(*s.sm));
    case Limiter::gpu_bandwidth:
      return fmt::format(
          "The GPU's memory was busy for {} of the time{}: moving data is the limit, not arithmetic{}.",
          share_text(*s.dram), s.sm ? fmt::format(", the SMs for {}", share_text(*s.sm)) : "",
          tensor_text(s));
    case Limiter::gpu_compute:
      return fmt::format("The SMs were busy for {} of the time{}: the GPU itself is the limit.",
                         share_text(*s.sm), tensor_text(s));
    case Limiter::mixed:
      return fmt::format(
          "SM activity {}{}{}: neither input, nor launches, nor one part of the GPU limits alone.",
          share_text(*s.sm),
          s.kernels ? fmt::format(", a kernel running for {}", share_text(*s.kernels)) : "",
          s.dram ? fmt::format(", memory bandwidth {}", share_text(*s.dram)) : "");
    default: break;
  }
  return s.kernels
             ? fmt::format(
                   "A kernel ran for {} of the time; how full the SMs were was not sampled, so that the "
                   "bottleneck is not known. NVML gives SM activity on Hopper and later.",
                   share_text(*s.kernels))
             : "The GPU's activity was not sampled.";
}

std::string host_text(Limiter limiter, const Situation& s) {
  switch (limiter) {
    case Limiter::processor:
      return fmt::format("The run used {}: there were no more to be had.", of_cores(s));
    case Limiter::one_thread:
      return fmt::format("The run kept {} busy: one thread did the work, the other cores rested.",
                         of_cores(s));
    case Limiter::storage:
      return fmt::format("Processes waited for storage for {} of the time.", share_text(*s.host.io_pressure));
    case Limiter::host_memory:
      return fmt::format("Processes waited for memory for {} of the time: it was reclaimed or swapped.",
                         share_text(*s.host.memory_pressure));
    case Limiter::mixed:
      return fmt::format("The run used {}; it neither filled them nor waited for storage or memory for long.",
                         of_cores(s));
    default: break;
  }
  return s.cpu() ? fmt::format("The run used {}; how many it may use is not known.", of_cores(s))
                 : "Neither a GPU nor the processor was sampled: there is nothing to judge by.";
}

/// What usually helps, the most effective first.
std::vector<std::string> advice_of(Limiter limiter, const Situation& s, bool on_gpu) {
  switch (limiter) {
    case Limiter::gpu_unused:
      return {"Check that the program finds CUDA (torch.cuda.is_available()) and moves the model there."};
    case Limiter::input_processor:
      return {"Prepare the data once and keep it, or do it on the GPU (decoding, augmentation).",
              "Give the run more cores, or fewer runs to these cores.",
              "Use a faster decoder (Pillow-SIMD, TurboJPEG, DALI), smaller images, cached tensors."};
    case Limiter::input_storage:
      return {"Keep the data in memory or on a local disk.",
              "Pack many small files into few large ones (shards), and "
              "read them in order.",
              "More loader workers and prefetching hide waits for storage."};
    case Limiter::one_thread:
      if (!on_gpu) return {"More threads (OMP_NUM_THREADS, torch.set_num_threads) or more processes."};
      return {
          "DataLoader(num_workers=N, pin_memory=True, persistent_workers=True): the input then has threads "
          "of its "
          "own.",
          "If the input is ready already, the launches are the limit: torch.compile or CUDA graphs.",
          "A larger batch needs fewer steps of the host for the same work."};
    case Limiter::waits:
      return {
          "Look at what the program does between steps: saving, logging, .item() and other synchronisation, "
          "the "
          "network."};
    case Limiter::launches:
      return {"A larger batch makes each kernel larger.",
              "torch.compile or CUDA graphs launch many kernels at once.",
              "Fused optimizers and fused layers (fused=True, channels_last) make fewer kernels."};
    case Limiter::small_kernels:
      return {"A larger batch makes each kernel larger.", "torch.compile joins small kernels.",
              "Run several trainings on this GPU at once."};
    case Limiter::gpu_bandwidth:
      return {"Lower precision moves fewer bytes: autocast to bfloat16.",
              "torch.compile joins element-wise operations, so "
              "that tensors are read once.",
              "Channels-last layouts and fused optimizers move less."};
    case Limiter::gpu_compute:
      return {
          s.tensor && *s.tensor < kTensorUnused.value
              ? "The tensor cores are not in use: autocast to bfloat16, or allow TF32."
              : "Lower precision (bfloat16, FP8 where it is accurate enough) is what makes it faster here.",
          "More GPUs, or fewer operations: a smaller network, fewer epochs."};
    case Limiter::processor: return {"More cores, or a GPU.", "Vectorised libraries and lower precision."};
    case Limiter::storage:
      return {"Keep the data in memory or on a local disk.", "Read ahead in other threads."};
    case Limiter::host_memory:
      return {"Fewer workers or smaller batches; memory-mapped data.", "More memory."};
    case Limiter::mixed:
      if (!on_gpu) return {"A profile says where the time goes."};
      return {
          "A larger batch usually raises SM activity; a profile (torch.profiler) says where the time goes."};
    case Limiter::unknown: return {};
  }
  return {};
}

Finding unused_gpu(const RunFigures& figures) {
  double most = 0;
  for (const GpuFigures& gpu : figures.gpus)
    most = std::max(most, gpu.mean_sm_activity.value_or(gpu.mean_utilization.value_or(0)));
  Finding out{"gpu-unused",
              std::string(title(Limiter::gpu_unused)),
              fmt::format("{} never rose above {}.",
                          figures.gpus.size() == 1 ? "The GPU's activity" : "The activity of no GPU",
                          share_text(kNearIdle.value)),
              {{"activity, mean", most, Shown::share, &kNearIdle}}};
  return out;
}

}  // namespace

std::span<const Threshold> thresholds() {
  return kThresholds;
}

std::string_view name(Limiter limiter) {
  return kWords[static_cast<std::size_t>(limiter)].name;
}

std::string_view title(Limiter limiter) {
  return kWords[static_cast<std::size_t>(limiter)].title;
}

Verdict verdict_of(const Recording& recording, const RunFigures& figures) {
  Verdict out;
  const Situation s = situation_of(figures);
  const bool on_gpu =
      std::ranges::any_of(figures.gpus, [](const GpuFigures& g) { return !g.busy_by.empty(); });
  const bool used = std::ranges::any_of(figures.gpus, [](const GpuFigures& g) { return g.work.has_value(); });
  if (on_gpu && !used) {
    out.limiter = Limiter::gpu_unused;
    out.main = unused_gpu(figures);
  } else {
    out.limiter = on_gpu ? gpu_limiter(s) : host_limiter(s);
    out.main = {std::string(name(out.limiter)), std::string(title(out.limiter)),
                on_gpu ? gpu_text(out.limiter, s) : host_text(out.limiter, s), evidence_of(s, on_gpu)};
  }
  out.main.advice = advice_of(out.limiter, s, on_gpu);
  out.outcome = outcome_finding(recording, figures);
  out.findings = findings_of(recording, figures);
  out.waste = waste_of(figures);
  out.utilization = utilization_finding(figures);
  return out;
}

}  // namespace plimsoll::diagnose
