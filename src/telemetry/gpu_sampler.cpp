#include "telemetry/gpu_sampler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace plimsoll::telemetry {
namespace {

/// Windows of GPM below this say little; one that would be shorter, before the last frame, is left out.
constexpr double kShortestWindow = 0.05;

Channel of_gpu(unsigned device, std::string_view name, std::string_view unit, std::string source) {
  return {{.name = fmt::format("system/gpu/{}/{}", device, name),
           .unit = std::string(unit),
           .source = std::move(source),
           .gpu = device}};
}

std::array<Channel, nvml::kActivityMetrics.size()> activity_channels(unsigned device,
                                                                     const std::string& prefix) {
  std::array<Channel, nvml::kActivityMetrics.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = of_gpu(device, prefix + std::string(nvml::kActivityMetrics[i].name),
                    nvml::kActivityMetrics[i].unit, "NVML GPM");
  return out;
}

}  // namespace

GpuSampler::GpuSampler(nvml::Library& library, unsigned device)
    : library_(&library),
      device_(device),
      activity_channels_(activity_channels(device, "")),
      power_instant_(of_gpu(device, "power", "W", "NVML, of the moment")),
      power_average_(of_gpu(device, "power", "W", "NVML, the driver's average")),
      energy_counted_(of_gpu(device, "energy", "J",
                             fmt::format("NVML energy counter every {:g} s, its power in between",
                                         period_of(Source::gpu_energy)))),
      energy_summed_(of_gpu(device, "energy", "J", "NVML power, summed over time")),
      memory_(of_gpu(device, "memory_used", "B", "NVML")),
      utilization_(of_gpu(device, "utilization", "1", "NVML, time in which some kernel ran")),
      memory_utilization_(of_gpu(device, "memory_utilization", "1", "NVML, time in which memory was used")),
      sm_clock_(of_gpu(device, "sm_clock", "Hz", "NVML")),
      memory_clock_(of_gpu(device, "memory_clock", "Hz", "NVML")),
      temperature_(of_gpu(device, "temperature", "°C", "NVML")),
      throttle_(of_gpu(device, "throttle", "bits", "NVML clocks event reasons")) {}

void GpuSampler::all_due() {
  for (Due* due : {&activity_due_, &costly_due_, &power_due_, &energy_due_, &memory_due_, &clocks_due_,
                   &throttle_due_, &utilization_due_, &temperature_due_})
    due->at_once();
}

void GpuSampler::sample(const Moment& moment, FrameCollector& collector) {
  if (moment.reads(slices_due_)) sample_slices(moment, collector);
  if (moment.reads(activity_due_)) sample_activity(moment, collector);
  if (moment.reads(power_due_)) sample_power(moment, collector);
  if (moment.reads(energy_due_)) sample_energy(moment, collector);
  if (moment.reads(memory_due_)) {
    if (const auto memory = library_->memory(device_))
      collector.put(memory_, static_cast<double>(memory->used.count()));
    else
      memory_due_.later(moment.elapsed, kRetry);
  }
  sample_clocks(moment, collector);
  if (moment.reads(utilization_due_)) {
    if (const auto rates = library_->utilization(device_)) {
      collector.put(utilization_, rates->gpu);
      interval_utilization_ = std::max(interval_utilization_.value_or(0), rates->gpu);
      collector.put(memory_utilization_, rates->memory);
    } else {
      utilization_due_.later(moment.elapsed, kRetry);
    }
  }
  if (moment.reads(temperature_due_)) {
    if (const auto degrees = library_->temperature(device_))
      collector.put(temperature_, *degrees);
    else
      temperature_due_.later(moment.elapsed, kRetry);
  }
}

void GpuSampler::sample_clocks(const Moment& moment, FrameCollector& collector) {
  if (moment.reads(clocks_due_)) {
    const auto sm = library_->sm_clock(device_);
    const auto memory = library_->memory_clock(device_);
    if (sm) collector.put(sm_clock_, *sm);
    if (memory) collector.put(memory_clock_, *memory);
    if (!sm && !memory) clocks_due_.later(moment.elapsed, kRetry);
  }
  if (moment.reads(throttle_due_)) {
    if (const auto reasons = library_->throttle(device_))
      collector.put(throttle_, static_cast<double>(*reasons));
    else
      throttle_due_.later(moment.elapsed, kRetry);
  }
}

void GpuSampler::sample_activity(const Moment& moment, FrameCollector& collector) {
  if (activity_at_ && moment.elapsed - *activity_at_ < kShortestWindow) return;
  if (!window_) {
    auto opened = library_->watch_activity(device_);
    if (opened) {
      window_ = *std::move(opened);
      activity_at_ = moment.elapsed;
    } else if (slices_.empty()) {
      activity_due_.later(moment.elapsed, kRetry);
    }
  } else if (const auto activity = window_->advance(moment.reads(costly_due_))) {
    const double seconds = moment.elapsed - std::exchange(activity_at_, moment.elapsed).value_or(0);
    for (std::size_t i = 0; i < activity->size(); ++i) collector.put(activity_channels_[i], (*activity)[i]);
    if (const auto sm = (*activity)[nvml::kSmActivity]) activity_.add(*sm, seconds);
  } else {
    window_.reset();  // a GPU that was reset, or whose counters another program took
    activity_due_.later(moment.elapsed, kRetry);
  }
  for (Slice& slice : slices_) {
    if (!slice.window) continue;
    if (const auto activity = slice.window->advance()) {
      for (std::size_t i = 0; i < activity->size(); ++i) collector.put(slice.channels[i], (*activity)[i]);
      const auto since = std::exchange(slice.read_at, moment.elapsed);
      if (const auto sm = (*activity)[nvml::kSmActivity]; sm && since)
        slice.activity.add(*sm, moment.elapsed - *since);
    } else {
      slice.window.reset();
    }
  }
}

void GpuSampler::add_energy(double joules) {
  energy_ += joules;
  interval_energy_ = interval_energy_.value_or(0) + joules;
}

void GpuSampler::sample_energy(const Moment& moment, FrameCollector& collector) {
  const auto counter = library_->energy(device_);
  if (!counter) {
    // Before Volta there is no counter: the power is summed up instead, until one answers.
    counts_energy_ = false;
    energy_due_.later(moment.elapsed, kRetry);
    return;
  }
  counts_energy_ = true;
  const double now = counter->value();
  const double summed = std::exchange(summed_, 0);
  // One that goes back was reset with the driver: what it counted in between is lost. Where the power came to
  // more than was counted, the sum, which never falls, waits for the counter.
  const double behind =
      (counter_ && now >= *counter_ ? now - *counter_ : summed) - summed - std::exchange(ahead_, 0);
  if (behind >= 0)
    add_energy(behind);
  else
    ahead_ = -behind;
  counter_ = now;
  collector.put(energy_counted_, energy_);
}

void GpuSampler::sample_power(const Moment& moment, FrameCollector& collector) {
  const auto power = library_->power(device_);
  if (!power) {
    power_at_.reset();
    power_due_.later(moment.elapsed, kRetry);
    return;
  }
  const double watts = power->value.value();
  collector.put(power->instant ? power_instant_ : power_average_, watts);
  if (power_at_) {
    const double joules = (moment.elapsed - power_at_->first) * (watts + power_at_->second) / 2;
    const double held_back = std::min(ahead_, joules);
    ahead_ -= held_back;
    summed_ += joules;
    add_energy(joules - held_back);
    collector.put(counts_energy_ ? energy_counted_ : energy_summed_, energy_);
  }
  power_at_ = {moment.elapsed, watts};
}

void GpuSampler::sample_slices(const Moment& moment, FrameCollector& collector) {
  const auto instances = library_->mig_instances(device_);
  if (!instances) {
    slices_due_.later(moment.elapsed, 6 * kRetry);
    return;
  }
  std::erase_if(slices_, [&](const Slice& slice) {
    return std::ranges::find(*instances, slice.gpu_instance, &nvml::MigInstance::gpu_instance) ==
           instances->end();
  });
  for (const nvml::MigInstance& instance : *instances) {
    auto slice = std::ranges::find(slices_, instance.gpu_instance, &Slice::gpu_instance);
    if (slice == slices_.end()) {
      const std::string prefix = fmt::format("mig/{}/", instance.gpu_instance);
      slices_.push_back({.gpu_instance = instance.gpu_instance,
                         .window = nullptr,
                         .channels = activity_channels(device_, prefix),
                         .memory = of_gpu(device_, prefix + "memory_used", "B", "NVML")});
      slice = std::prev(slices_.end());
    }
    slice->size = instance.slices.value_or(0);
    if (!slice->window) {
      if (auto opened = library_->watch_activity(device_, instance.gpu_instance)) {
        slice->window = *std::move(opened);
        slice->read_at = moment.elapsed;
      }
    }
    if (instance.memory) collector.put(slice->memory, static_cast<double>(instance.memory->used.count()));
  }
}

GpuInterval GpuSampler::take_interval() {
  GpuInterval out;
  out.energy = std::exchange(interval_energy_, std::nullopt);
  out.utilization = std::exchange(interval_utilization_, std::nullopt);
  out.sm_activity = activity_.take();
  for (Slice& slice : slices_) out.slices.push_back({slice.gpu_instance, slice.size, slice.activity.take()});
  return out;
}

}  // namespace plimsoll::telemetry
