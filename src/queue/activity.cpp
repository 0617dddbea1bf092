#include "queue/activity.hpp"

#include "plan/schedule/engine.hpp"

namespace plimsoll::queue {
namespace {

constexpr double kRate = 5;  // frames a second

}  // namespace

RecentActivity::RecentActivity(nvml::Library* nvml, const std::vector<unsigned>& devices)
    : thread_(telemetry::Sampler({.rate = kRate, .nvml = nvml, .devices = devices, .host = false}), kRate) {}

void RecentActivity::refresh() {
  telemetry::SamplingThread::Taken taken = thread_.take();
  series_.insert(series_.end(), taken.new_series.begin(), taken.new_series.end());
  for (const telemetry::Frame& frame : taken.frames) {
    std::map<unsigned, Sample> read;
    for (const telemetry::Reading& value : frame.values) {
      const telemetry::Series& series = series_.at(value.series);
      if (series.run || !series.gpu) continue;
      Sample& sample = read.try_emplace(*series.gpu, Sample{.time = frame.time}).first->second;
      if (series.name.ends_with("/sm_activity")) sample.activity.sms = value.value;
      if (series.name.ends_with("/sm_occupancy")) sample.activity.occupancy = value.value;
      if (series.name.ends_with("/dram_activity")) sample.activity.bandwidth = value.value;
    }
    for (auto& [gpu, sample] : read) {
      std::deque<Sample>& kept = samples_[gpu];
      kept.push_back(sample);
      const auto window = static_cast<std::int64_t>(plan::schedule::kActivityWindow * 1e6);
      while (kept.front().time < sample.time - window) kept.pop_front();
    }
  }
}

plan::schedule::View::Activity RecentActivity::of(unsigned device) const {
  plan::schedule::View::Activity out;
  const auto found = samples_.find(device);
  if (found == samples_.end() || found->second.empty()) return out;
  for (const Sample& sample : found->second) {
    out.sms += sample.activity.sms;
    out.occupancy += sample.activity.occupancy;
    out.bandwidth += sample.activity.bandwidth;
  }
  const auto count = static_cast<double>(found->second.size());
  out.sms /= count;
  out.occupancy /= count;
  out.bandwidth /= count;
  return out;
}

}  // namespace plimsoll::queue
