#include "diagnose/verdict_findings.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

using Figure = std::optional<double>;

std::string bytes(double count) {
  return value_text(count, Shown::bytes);
}

std::string gpu_name(const RunFigures& figures, const GpuFigures& gpu) {
  return figures.gpus.size() == 1 ? "the GPU" : gpu_text(gpu.gpu);
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// A figure of all GPUs together; unknown where one does not know its own.
template <class Of>
Figure sum_over(const RunFigures& figures, Of of) {
  if (figures.gpus.empty()) return std::nullopt;
  double sum = 0;
  for (const GpuFigures& gpu : figures.gpus) {
    const Figure value = of(gpu);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

void add_gaps(const Recording& recording, const RunFigures& figures, std::vector<Finding>& out) {
  double missing = 0;
  constexpr double kWorthTelling = 1;  // seconds: shorter ones are frames that came late
  for (const Span& gap : recording.gaps)
    if (gap.seconds() >= kWorthTelling)
      missing += Span{std::max(gap.from, figures.span.from), std::min(gap.to, figures.span.to)}.seconds();
  if (missing < 0.01 * figures.span.seconds() || missing <= 0) return;
  out.push_back({"gaps",
                 "Not all of it was sampled",
                 fmt::format("Nothing was sampled for {} of {}; means are over the rest.",
                             text(Seconds(missing)), text(Seconds(figures.span.seconds()))),
                 {{"time without samples", missing, Shown::seconds}}});
}

void add_memory(const RunFigures& figures, std::vector<Finding>& out) {
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.memory_peak || !gpu.memory_bytes || *gpu.memory_peak < kMemoryFull.value * *gpu.memory_bytes)
      continue;
    out.push_back(
        {"memory-near-limit",
         "GPU memory near its limit",
         fmt::format("{} held up to {} of {}: {}.", capitalized(gpu_name(figures, gpu)),
                     bytes(*gpu.memory_peak), bytes(*gpu.memory_bytes),
                     share_text(*gpu.memory_peak / *gpu.memory_bytes)),
         {{"GPU memory, highest share", *gpu.memory_peak / *gpu.memory_bytes, Shown::share, &kMemoryFull}},
         {"PyTorch's allocator keeps what it once had: the need may be lower. `plimsoll estimate MODEL "
          "--max-batch` says what fits."}});
  }
  const HostFigures& host = figures.host;
  if (host.memory_limit_use && *host.memory_limit_use >= kMemoryFull.value)
    out.push_back(
        {"host-memory-near-limit",
         "Host memory near its limit",
         fmt::format("The cgroup used {} of its memory limit; beyond it the system kills processes.",
                     share_text(*host.memory_limit_use)),
         {{"share of the cgroup's limit", *host.memory_limit_use, Shown::share, &kMemoryFull}},
         {"Fewer loader workers, or a higher limit."}});
  if (!figures.gpus.empty() && host.memory_pressure && *host.memory_pressure >= kMemoryWaits.value)
    out.push_back(
        {"memory-pressure",
         "Host memory was short",
         fmt::format("Processes waited for memory for {} of the time.", share_text(*host.memory_pressure)),
         {{"waiting for memory", *host.memory_pressure, Shown::share, &kMemoryWaits}},
         {"Fewer loader workers, or memory-mapped data."}});
}

std::string clock_text(const GpuFigures& gpu) {
  if (!gpu.sm_clock || !gpu.highest_sm_clock) return "";
  return fmt::format(" The SM clock was {} in the mean, {} at its highest.", si_text(*gpu.sm_clock, "Hz"),
                     si_text(*gpu.highest_sm_clock, "Hz"));
}

void add_clocks(const RunFigures& figures, std::vector<Finding>& out) {
  for (const GpuFigures& gpu : figures.gpus) {
    if (gpu.too_hot && *gpu.too_hot >= kClocksHeld.value)
      out.push_back(
          {"throttled-heat",
           "Clocks held down by heat",
           fmt::format("{} lowered its clocks for {} of the working time because it was too hot.{}",
                       capitalized(gpu_name(figures, gpu)), share_text(*gpu.too_hot), clock_text(gpu)),
           {{"time with clocks held down by heat", *gpu.too_hot, Shown::share, &kClocksHeld}},
           {"Look at the cooling: the same work takes longer here than it need."}});
    if (gpu.power_capped && *gpu.power_capped >= kClocksHeld.value)
      out.push_back(
          {"throttled-power",
           "Clocks held down by the power limit",
           fmt::format("{} was at its power limit for {} of the working time.{}",
                       capitalized(gpu_name(figures, gpu)), share_text(*gpu.power_capped), clock_text(gpu)),
           {{"time at the power limit", *gpu.power_capped, Shown::share, &kClocksHeld}},
           {"Usual at full load. A higher limit (nvidia-smi -pl) is faster, a lower one often saves more "
            "energy "
            "than time."}});
  }
}

void add_sharing(const Recording& recording, const RunFigures& figures, std::vector<Finding>& out) {
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.sm_share || *gpu.sm_share >= kShared.value) continue;
    const std::string mode = printable(recording.tag("plimsoll.mode").value_or(""), 20);
    out.push_back(
        {"shared",
         "It shared its GPU",
         fmt::format(
             "Of what {} did while it worked, {} was this run's{}: the GPU's own figures are of all that "
             "ran on it.",
             gpu_name(figures, gpu), share_text(*gpu.sm_share),
             mode.empty() || mode == "alone" ? "" : fmt::format(" (mode {})", mode)),
         {{"this run's share of the GPU", *gpu.sm_share, Shown::share, &kShared}}});
  }
}

void add_unused(const RunFigures& figures, std::vector<Finding>& out) {
  if (figures.gpus.size() < 2) return;
  const auto used = [](const GpuFigures& gpu) { return gpu.work.has_value(); };
  if (std::ranges::none_of(figures.gpus, used)) return;
  for (const GpuFigures& gpu : figures.gpus)
    if (!gpu.busy_by.empty() && !gpu.work)
      out.push_back({"gpu-unused",
                     fmt::format("{} was not used", gpu_text(gpu.gpu)),
                     fmt::format("The run had {} GPUs; {} of {} never rose above {}.", figures.gpus.size(),
                                 gpu.busy_by, gpu_text(gpu.gpu), share_text(kNearIdle.value)),
                     {{"time of that GPU", gpu.known_seconds, Shown::seconds, &kNearIdle}},
                     {"Ask for fewer GPUs, or check that the program was started with a process for each "
                      "(torchrun)."}});
}

void add_idle_ends(const RunFigures& figures, std::vector<Finding>& out) {
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.work || gpu.known_seconds <= 0) continue;
    const auto add = [&](const Idle& idle, std::string_view id, std::string_view title, std::string_view when,
                         std::string_view advice) {
      const double share = idle.seconds / gpu.known_seconds;
      if (share < kIdleEnds.value) return;
      out.push_back(
          {std::string(id),
           std::string(title),
           fmt::format("{} did nothing for {} {}: {} of the run{}.", capitalized(gpu_name(figures, gpu)),
                       text(Seconds(idle.seconds)), when, share_text(share),
                       idle.joules ? fmt::format(", {}", text(Joules(*idle.joules))) : ""),
           {{"share of the run", share, Shown::share, &kIdleEnds}},
           {std::string(advice)}});
    };
    add(gpu.before, "idle-start", "Idle at the start", "before its first work",
        "Importing, loading data and compiling: cache the prepared data, load before asking for the GPU.");
    add(gpu.after, "idle-end", "Idle at the end", "after its last work",
        "Saving or evaluating on the processor: do it in another process, so that the GPU is free.");
  }
}

void add_tensor_cores(const RunFigures& figures, std::vector<Finding>& out) {
  for (const GpuFigures& gpu : figures.gpus) {
    if (!gpu.tensor || !gpu.fp32 || *gpu.tensor >= kTensorUnused.value || *gpu.fp32 < kFp32Busy.value)
      continue;
    out.push_back({"tensor-cores-unused",
                   "Tensor cores are not in use",
                   fmt::format("The FP32 pipe was busy for {} of the time, the tensor cores for {}.",
                               share_text(*gpu.fp32), share_text(*gpu.tensor)),
                   {{"FP32 pipe", *gpu.fp32, Shown::share, &kFp32Busy},
                    {"tensor cores", *gpu.tensor, Shown::share, &kTensorUnused}},
                   {"torch.autocast(\"cuda\", torch.bfloat16), or "
                    "torch.set_float32_matmul_precision(\"high\") for TF32."}});
    return;  // it is the program's setting, the same on every GPU
  }
}

struct Limit {
  double runs;
  std::string_view by;
};

/// How many runs like this one GPU would carry; nothing where something that decides it is unknown.
std::optional<Limit> carries(const GpuFigures& gpu, const HostFigures& host) {
  const Figure memory = gpu.run_memory_peak ? gpu.run_memory_peak : gpu.memory_peak;
  if (!gpu.sm_activity || !(*gpu.sm_activity > 0) || !memory || !(*memory > 0) || !gpu.memory_bytes)
    return std::nullopt;
  Limit out{std::floor(kCarries.value / *gpu.sm_activity), "SM activity"};
  const auto lower = [&](double runs, std::string_view by) {
    if (runs < out.runs) out = {runs, by};
  };
  lower(std::floor(kMemoryFull.value * *gpu.memory_bytes / *memory), "GPU memory");
  if (host.cpu && host.cores && *host.cpu > 0) lower(std::floor(*host.cores / *host.cpu), "processor cores");
  return out;
}

void add_room(const RunFigures& figures, std::vector<Finding>& out) {
  if (figures.gpus.size() != 1) return;
  const GpuFigures& gpu = figures.gpus.front();
  if (gpu.sm_share && *gpu.sm_share < kShared.value) return;  // shared already
  if (!gpu.work) return;
  const std::optional<Limit> limit = carries(gpu, figures.host);
  if (!limit || limit->runs < 2) return;
  constexpr double kMostSaid = 48;  // as many clients as MPS takes
  const double runs = std::min(limit->runs, kMostSaid);
  const double memory = gpu.run_memory_peak.value_or(gpu.memory_peak.value_or(0));
  out.push_back(
      {"room-to-share",
       "Room for others",
       fmt::format(
           "At an SM activity of {} and {} of {}, this GPU would carry about {:.0f} such runs at once; {} "
           "is what limits.",
           share_text(*gpu.sm_activity), bytes(memory), bytes(*gpu.memory_bytes), runs, limit->by),
       {{"SM activity", *gpu.sm_activity, Shown::share, &kCarries}, {"such runs", runs, Shown::count}},
       {"Run several at once under MPS; each is then slower than alone, all together are sooner done."}});
}

void add_diverged(const Recording& recording, std::vector<Finding>& out) {
  for (const auto& [metric, series] : recording.series) {
    if (!store::is_own_metric(metric) || series.samples.empty() || !lower_case(metric).contains("loss"))
      continue;
    if (std::isfinite(series.samples.back().value)) continue;
    const auto first =
        std::ranges::find_if(series.samples, [](const Sample& s) { return !std::isfinite(s.value); });
    out.push_back(
        {"diverged",
         "The loss is not a number",
         fmt::format(
             "{} is not finite from step {}, {} after the start: what was computed since then is lost.",
             quote(metric), first->step, text(Seconds(first->span.to))),
         {},
         {"A lower learning rate, gradient clipping, or bfloat16 instead of float16; stop at the first "
          "NaN."}});
    return;
  }
}

Figure idle_seconds(const GpuFigures& gpu) {
  return gpu.busy_by.empty() ? Figure() : gpu.before.seconds + gpu.between.seconds + gpu.after.seconds;
}

Figure idle_joules(const GpuFigures& gpu) {
  if (gpu.busy_by.empty() || !gpu.before.joules || !gpu.between.joules || !gpu.after.joules)
    return std::nullopt;
  return *gpu.before.joules + *gpu.between.joules + *gpu.after.joules;
}

}  // namespace

std::optional<Finding> outcome_finding(const Recording& recording, const RunFigures& figures) {
  const std::string outcome = outcome_of(recording);
  if (outcome == "cuda-out-of-memory") {
    Finding finding{"out-of-memory", "The GPU's memory was not enough",
                    "The run ended with CUDA's out-of-memory error."};
    for (const GpuFigures& gpu : figures.gpus)
      if (const Figure peak = gpu.run_memory_peak ? gpu.run_memory_peak : gpu.memory_peak) {
        finding.text +=
            fmt::format(" The most that was seen on {}: {}{}.", gpu_name(figures, gpu), bytes(*peak),
                        gpu.memory_bytes ? fmt::format(" of {}", bytes(*gpu.memory_bytes)) : "");
        finding.evidence.push_back({"GPU memory, highest", *peak, Shown::bytes});
      }
    finding.advice = {"`plimsoll oom` on the log says what filled it, and what would help."};
    return finding;
  }
  if (outcome == "killed-for-memory")
    return Finding{"killed-for-memory",
                   "The system ended it: host memory",
                   figures.host.memory_peak
                       ? fmt::format("Its processes held {} at most when they were killed.",
                                     bytes(*figures.host.memory_peak))
                       : "Its processes were killed because host memory ran out.",
                   {},
                   {"Fewer loader workers, memory-mapped data, smaller batches, or a higher memory limit."}};
  if (outcome == "lost")
    return Finding{"lost", "Its end was not seen",
                   "What follows the last sample is not known: the machine or Plimsoll itself stopped before "
                   "the run did."};
  return std::nullopt;
}

std::vector<Finding> findings_of(const Recording& recording, const RunFigures& figures) {
  std::vector<Finding> out;
  add_diverged(recording, out);
  add_memory(figures, out);
  add_clocks(figures, out);
  add_sharing(recording, figures, out);
  add_unused(figures, out);
  add_idle_ends(figures, out);
  add_tensor_cores(figures, out);
  add_room(figures, out);
  add_gaps(recording, figures, out);
  return out;
}

Waste waste_of(const RunFigures& figures) {
  Waste out;
  const auto seconds_of = [&](Idle GpuFigures::* part) {
    return sum_over(figures,
                    [part](const GpuFigures& g) { return g.busy_by.empty() ? Figure() : (g.*part).seconds; });
  };
  out.gpu_seconds =
      sum_over(figures, [](const GpuFigures& g) { return g.busy_by.empty() ? Figure() : g.known_seconds; });
  out.idle_seconds = sum_over(figures, idle_seconds);
  out.idle_before = seconds_of(&GpuFigures::before);
  out.idle_between = seconds_of(&GpuFigures::between);
  out.idle_after = seconds_of(&GpuFigures::after);
  out.joules = sum_over(figures, [](const GpuFigures& g) { return g.joules; });
  out.idle_joules = sum_over(figures, idle_joules);
  if (figures.gpus.empty()) {
    out.text = "No GPU was sampled.";
  } else if (!out.gpu_seconds || !out.idle_seconds || *out.gpu_seconds <= 0) {
    out.text = "Not known: the GPU's activity was not sampled.";
  } else if (*out.idle_seconds <= 0) {
    out.text = fmt::format("None of the {} of GPU time was near-idle.", text(Seconds(*out.gpu_seconds)));
  } else {
    out.text = fmt::format(
        "{} of {} GPU time were near-idle ({}): {} before the first work, {} within it, {} after the last.",
        text(Seconds(*out.idle_seconds)), text(Seconds(*out.gpu_seconds)),
        share_text(*out.idle_seconds / *out.gpu_seconds), text(Seconds(*out.idle_before)),
        text(Seconds(*out.idle_between)), text(Seconds(*out.idle_after)));
    if (out.joules && out.idle_joules && *out.joules > 0)
      out.text += fmt::format(" They took {} of {} ({}).", text(Joules(*out.idle_joules)),
                              text(Joules(*out.joules)), share_text(*out.idle_joules / *out.joules));
    else
      out.text += " What energy they took is not known.";
    const bool shared = std::ranges::any_of(
        figures.gpus, [](const GpuFigures& g) { return g.sm_share && *g.sm_share < kShared.value; });
    if (shared) out.text += " The GPU was shared: these are the GPU's figures, not the run's part.";
  }
  return out;
}

std::optional<Finding> utilization_finding(const RunFigures& figures) {
  const auto count = static_cast<double>(figures.gpus.size());
  const Figure utilization = sum_over(figures, [](const GpuFigures& g) { return g.mean_utilization; });
  const Figure activity = sum_over(figures, [](const GpuFigures& g) { return g.mean_sm_activity; });
  if (!utilization || !activity) return std::nullopt;
  const double said = *utilization / count, was = *activity / count;
  constexpr double kNearlyTheSame = 0.85;
  const std::string meaning =
      was < kNearlyTheSame * said
          ? fmt::format(
                "Utilization only says that some kernel ran; SM activity says how much of the GPU worked. By "
                "utilization the GPU looks {:.1f} times as busy as it was.",
                said / std::max(was, 0.001))
          : "Here both say nearly the same: when a kernel ran, it filled the GPU.";
  return Finding{
      "utilization",
      "Utilization against SM activity",
      fmt::format("Utilization {}, SM activity {}. {}", share_text(said), share_text(was), meaning),
      {{"utilization, mean", said, Shown::share}, {"SM activity, mean", was, Shown::share}}};
}

}  // namespace plimsoll::diagnose
