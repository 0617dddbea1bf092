#include "measure/conditions.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::measure {
namespace {

constexpr double kPeriod = 0.5;        // seconds; a driver takes about a millisecond for each question
constexpr double kOthersPeriod = 5;    // who else is there costs the driver more
constexpr double kClockChange = 0.05;  // a clock that moves by more makes a median of little meaning
constexpr double kOtherCores = 0.1;    // of all cores, kept busy by others
constexpr double kLeastWatched = 1;    // seconds; the kernel counts in ticks of 10 ms
constexpr double kActive = 0.005;      // of the SMs' time, by others

template <class T>
std::optional<T> known(Result<T> answer) {
  return answer ? std::optional<T>(std::move(*answer)) : std::nullopt;
}

void widen(std::optional<Extent>& extent, const std::optional<double>& value) {
  if (!value) return;
  if (!extent) extent = Extent{*value, *value};
  extent->low = std::min(extent->low, *value);
  extent->high = std::max(extent->high, *value);
}

std::optional<double> load_average(const std::filesystem::path& proc) {
  const auto text = read_file(proc / "loadavg", 256);
  double value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

std::optional<double> frequency(const std::filesystem::path& sys, int cores) {
  double sum = 0;
  int counted = 0;
  for (int core = 0; core < cores; ++core) {
    const auto text =
        read_file(sys / fmt::format("devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core), 64);
    const auto kilohertz = text ? telemetry::Words(*text).number() : std::nullopt;
    if (!kilohertz) continue;
    sum += static_cast<double>(*kilohertz) * 1e3;
    ++counted;
  }
  return counted > 0 ? std::optional(sum / counted) : std::nullopt;
}

}  // namespace

ConditionsWatch::ConditionsWatch(const nvml::Library* library, Roots roots)
    : library_(library), roots_(std::move(roots)) {
  host_.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  host_.load_average = load_average(roots_.proc);
  const auto count = library_ != nullptr ? library_->device_count() : Result<unsigned>(0);
  for (unsigned device = 0; count && device < *count; ++device) {
    if (auto processes = library_->processes(device)) before_[device] = std::move(*processes);
    if (const auto used = library_->process_utilization(device, 0))
      for (const nvml::ProcessUtilization& sample : *used)
        utilized_until_[device] = std::max(utilized_until_[device], sample.time);
  }
}

std::optional<unsigned> ConditionsWatch::gpu() const {
  return gpu_ ? std::optional(gpu_->index) : std::nullopt;
}

void ConditionsWatch::find_gpu(const job::Hello& hello) {
  const auto count = library_->device_count();
  if (!count) return;
  if (!hello.gpu_uuid && *count == 1)
    gpu_ = GpuConditions{.index = 0, .name = printable(known(library_->name(0)).value_or(""), 80)};
  if (!hello.gpu_uuid) return;
  for (unsigned device = 0; device < *count; ++device) {
    const auto slices = library_->mig_instances(device);
    const bool slice = slices && std::ranges::any_of(*slices, [&](const nvml::MigInstance& instance) {
                         return instance.uuid == *hello.gpu_uuid;
                       });
    if (!slice && known(library_->uuid(device)) != hello.gpu_uuid) continue;
    gpu_ = GpuConditions{.index = device,
                         .name = printable(known(library_->name(device)).value_or(""), 80),
                         .sliced = slices && !slices->empty()};
    return;
  }
}

void ConditionsWatch::greeted(const job::Hello& hello) {
  engine_ = hello.process;
  busy_begin_ = busy();
  if (library_ == nullptr || !hello.device.starts_with("cuda")) return;
  find_gpu(hello);
  if (!gpu_) return;
  gpu_->before = state();
  find_others();
}

GpuState ConditionsWatch::state() const {
  GpuState out;
  out.sm_clock = known(library_->sm_clock(gpu_->index));
  out.memory_clock = known(library_->memory_clock(gpu_->index));
  out.temperature = known(library_->temperature(gpu_->index));
  if (const auto power = library_->power(gpu_->index)) out.power = power->value;
  out.throttle = known(library_->throttle(gpu_->index));
  return out;
}

std::optional<std::int64_t> ConditionsWatch::engine_bytes() const {
  if (!gpu_) return std::nullopt;
  const auto now = library_->processes(gpu_->index);
  if (!now) return std::nullopt;
  const auto engine = std::ranges::find_if(
      *now, [this](const nvml::Process& p) { return static_cast<std::int64_t>(p.pid) == engine_; });
  if (engine == now->end() || !engine->used) return std::nullopt;
  return engine->used->count();
}

std::string ConditionsWatch::process_name(std::uint32_t pid) const {
  const auto name = read_file(roots_.proc / std::to_string(pid) / "comm", 256);
  return name ? printable(std::string_view(*name).substr(0, name->find('\n'))) : "";
}

/// Those that were there before the engine was started, and those that came since. In a container the driver
/// tells the host's numbers: where the engine's own is not among them, whoever is new may be the engine.
void ConditionsWatch::find_others() {
  const auto add = [this](const nvml::Process& process) {
    const auto same = std::ranges::find(gpu_->others, process.pid, &OtherProcess::pid);
    if (same == gpu_->others.end())
      gpu_->others.push_back({process.pid, process_name(process.pid), process.used});
    else if (process.used)
      same->bytes = process.used;
  };
  const std::vector<nvml::Process>& before = before_[gpu_->index];
  for (const nvml::Process& process : before) add(process);
  const auto now = library_->processes(gpu_->index);
  if (!now) return;
  const auto is_engine = [this](const nvml::Process& process) {
    return static_cast<std::int64_t>(process.pid) == engine_;
  };
  const bool engine_seen = std::ranges::any_of(*now, is_engine);
  for (const nvml::Process& process : *now) {
    const bool old = std::ranges::find(before, process.pid, &nvml::Process::pid) != before.end();
    if (old || (engine_seen && !is_engine(process))) add(process);
  }
}

std::optional<ConditionsWatch::Busy> ConditionsWatch::busy() const {
  const auto all = read_file(roots_.proc / "stat", 1 << 20);
  const auto ticks = all ? telemetry::parse_busy_ticks(*all) : std::nullopt;
  const auto own = read_file(roots_.proc / std::to_string(engine_) / "stat", 4096);
  const auto process = own ? telemetry::parse_process_stat(*own) : std::nullopt;
  if (!ticks || !process) return std::nullopt;
  const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return Busy{std::chrono::duration<double>(now).count(), static_cast<double>(*ticks) / per_second,
              static_cast<double>(process->own_ticks) / per_second};
}

void ConditionsWatch::sample(double elapsed_seconds, bool hot) {
  const bool turned = hot != was_hot_;
  if (engine_ == 0 || (elapsed_seconds < next_ && !turned)) return;
  was_hot_ = hot;
  next_ = elapsed_seconds + kPeriod;
  if (const auto now = busy()) busy_end_ = now;
  if (!gpu_) return;
  if (elapsed_seconds >= next_others_) {
    find_others();
    next_others_ = elapsed_seconds + kOthersPeriod;
  }
  if (!hot) return;
  const GpuState now = state();
  widen(gpu_->sm_clock, now.sm_clock);
  widen(gpu_->memory_clock, now.memory_clock);
  widen(gpu_->temperature, now.temperature);
  if (now.power) widen(gpu_->power, now.power->value());
  gpu_->throttle |= now.throttle.value_or(0);
}

Conditions ConditionsWatch::finish() {
  host_.frequency = frequency(roots_.sys, host_.cores);
  if (busy_begin_ && busy_end_ && busy_end_->seconds - busy_begin_->seconds >= kLeastWatched) {
    const double others = (busy_end_->all - busy_begin_->all) - (busy_end_->own - busy_begin_->own);
    host_.other_cores = std::max(0.0, others / (busy_end_->seconds - busy_begin_->seconds));
  }
  if (!gpu_) return {host_, {}};
  gpu_->after = state();
  const auto used = library_->process_utilization(gpu_->index, utilized_until_[gpu_->index]);
  for (OtherProcess& other : gpu_->others) {
    if (!used || used->empty()) break;  // none of anybody: the driver does not sample, or not so often
    double sum = 0;
    int samples = 0;
    for (const nvml::ProcessUtilization& sample : *used)
      if (sample.pid == other.pid) sum += sample.sm, ++samples;
    other.activity = samples > 0 ? sum / samples : 0;
  }
  return {host_, gpu_};
}

std::vector<std::string> doubts(const Conditions& conditions, bool on_gpu) {
  std::vector<std::string> out;
  const HostConditions& host = conditions.host;
  if (host.other_cores && *host.other_cores > kOtherCores * host.cores)
    out.push_back(fmt::format("other programs kept {:.1f} of {} cores busy", *host.other_cores, host.cores));
  if (on_gpu && !conditions.gpu)
    out.emplace_back("the GPU's clocks, temperature and other users are not known: its driver did not tell");
  if (!conditions.gpu) return out;
  const GpuConditions& gpu = *conditions.gpu;
  std::vector<std::string_view> reasons;
  for (const nvml::Throttle& throttle : nvml::kThrottles)
    if (throttle.slows && (gpu.throttle & throttle.bit) != 0) reasons.push_back(throttle.name);
  if (!reasons.empty())
    out.push_back(fmt::format("the GPU's clocks were held down: {}", fmt::join(reasons, ", ")));
  if (gpu.sm_clock && gpu.sm_clock->high > 0 && gpu.sm_clock->low < (1 - kClockChange) * gpu.sm_clock->high)
    out.push_back(fmt::format("the GPU's clock went from {} to {}", si_text(gpu.sm_clock->low, "Hz"),
                              si_text(gpu.sm_clock->high, "Hz")));
  for (const OtherProcess& other : gpu.others) {
    const std::string who = other.name.empty() ? fmt::format("process {}", other.pid)
                                               : fmt::format("{} (process {})", other.name, other.pid);
    const std::string held = other.bytes ? fmt::format(", {} of its memory", text(*other.bytes)) : "";
    if (other.activity && *other.activity <= kActive) continue;
    out.push_back(other.activity
                      ? fmt::format("{} used {:.0f} % of the GPU's time{}", who, 100 * *other.activity, held)
                      : fmt::format("{} was on the GPU, too{}", who, held));
  }
  return out;
}

}  // namespace plimsoll::measure
