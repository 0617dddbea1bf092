#include "telemetry/sampler.hpp"

#include <algorithm>
#include <utility>

#include "telemetry/host_sampler.hpp"
#include "telemetry/recorder.hpp"
#include "telemetry/run_sampler.hpp"

namespace plimsoll::telemetry {

struct Sampler::State {
  explicit State(const SamplerOptions& options)
      : slack(0.5 / std::clamp(options.rate, kLowestRate, kHighestRate)), runs(options.proc) {
    if (options.host) host.emplace(options.proc, options.sys);
  }

  double slack;
  ReadBuffer buffer{};
  Recorder recorder;
  std::optional<HostSampler> host;
  RunSampler runs;
  std::vector<int> ending;  ///< to be forgotten after the next sample
};

Sampler::Sampler(SamplerOptions options) : state_(std::make_unique<State>(options)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

void Sampler::watch(const Watched& watched) {
  state_->runs.watch(watched.run, watched.root);
}

void Sampler::adopt(int run, pid_t orphan) {
  state_->runs.adopt(run, orphan);
}

void Sampler::forget(int run) {
  state_->ending.push_back(run);
  state_->runs.all_due();
}

void Sampler::all_due() {
  state_->runs.all_due();
}

Frame Sampler::sample(std::int64_t time, double elapsed) {
  State& s = *state_;
  const Moment moment{elapsed, s.slack};
  s.recorder.begin(time);
  s.runs.sample(moment, s.buffer, s.recorder);
  if (s.host) s.host->sample(moment, s.buffer, s.recorder);
  for (const int run : std::exchange(s.ending, {})) s.runs.forget(run);
  return s.recorder.end();
}

const std::vector<Series>& Sampler::series() const {
  return state_->recorder.series();
}

}  // namespace plimsoll::telemetry
