#include "telemetry/sampler.hpp"

#include <algorithm>
#include <utility>

#include "telemetry/frame_collector.hpp"
#include "telemetry/gpu_sampler.hpp"
#include "telemetry/gpu_sharing.hpp"
#include "telemetry/host_sampler.hpp"
#include "telemetry/kept_file.hpp"
#include "telemetry/run_sampler.hpp"

namespace plimsoll::telemetry {

namespace {

/// As uname tells it, of the machine or the container.
std::string hostname_of(const SamplerOptions& options) {
  if (!options.hostname.empty()) return options.hostname;
  ReadBuffer buffer{};
  const std::string_view text = KeptFile(options.proc / "sys/kernel/hostname").read(buffer);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

struct Sampler::State {
  explicit State(const SamplerOptions& options)
      : slack(0.5 / std::clamp(options.rate, kLowestRate, kHighestRate)),
        collector(hostname_of(options)),
        runs(options.proc) {
    if (options.host) host.emplace(options.proc, options.sys);
    if (options.nvml == nullptr) return;
    for (const unsigned device : options.devices)
      gpus.push_back({GpuSampler(*options.nvml, device), GpuSharing(*options.nvml, device)});
  }

  struct Gpu {
    GpuSampler sampler;
    GpuSharing sharing;
  };

  void sample_gpus(const Moment& moment) {
    for (Gpu& gpu : gpus) gpu.sampler.sample(moment, collector);
    if (!moment.reads(sharing_due)) return;
    for (Gpu& gpu : gpus)
      gpu.sharing.sample(moment, runs.forest(), gpu.sampler.take_interval(), buffer, collector);
    runs.forest().forget_ended();
  }

  void all_due() {
    runs.all_due();
    for (Gpu& gpu : gpus) gpu.sampler.all_due();
    sharing_due.at_once();
  }

  double slack;
  ReadBuffer buffer{};
  FrameCollector collector;
  std::optional<HostSampler> host;
  RunSampler runs;
  std::vector<Gpu> gpus;
  Due sharing_due{Source::gpu_sharing};
  std::vector<int> ending;  ///< to be forgotten after the next sample
};

Sampler::Sampler(const SamplerOptions& options) : state_(std::make_unique<State>(options)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

void Sampler::watch(const Watched& watched) {
  state_->runs.watch(watched.run, watched.root);
  state_->sharing_due.at_once();  // what was before is not the run's
  for (State::Gpu& gpu : state_->gpus) gpu.sampler.count_energy();
}

void Sampler::adopt(int run, pid_t orphan) {
  state_->runs.adopt(run, orphan);
}

void Sampler::forget(int run) {
  state_->ending.push_back(run);
  state_->all_due();
}

void Sampler::weigh(int run, unsigned gpu, std::optional<double> weight) {
  for (State::Gpu& known : state_->gpus)
    if (known.sampler.device() == gpu) known.sharing.weigh(run, weight);
}

void Sampler::ignore(pid_t server) {
  for (State::Gpu& gpu : state_->gpus) gpu.sharing.ignore(server);
}

void Sampler::all_due() {
  state_->all_due();
}

Frame Sampler::sample(std::int64_t time, double elapsed) {
  State& s = *state_;
  const Moment moment{elapsed, s.slack};
  s.collector.begin(time);
  s.runs.sample(moment, s.buffer, s.collector);
  if (s.host) s.host->sample(moment, s.buffer, s.collector);
  s.sample_gpus(moment);
  for (const int run : std::exchange(s.ending, {})) {
    s.runs.forget(run);
    for (State::Gpu& gpu : s.gpus) gpu.sharing.forget(run);
  }
  return s.collector.end();
}

const std::vector<Series>& Sampler::series() const {
  return state_->collector.series();
}

}  // namespace plimsoll::telemetry
