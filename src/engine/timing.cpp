#include "engine/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "base/statistics.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// A sample is at least this long: the device's clock ticks in half microseconds, and what a synchronisation
/// costs is spread over the passes between two.
constexpr double kLeastDeviceSample = 0.02, kLeastHostSample = 0.0005;
constexpr std::int64_t kMostPassesPerSample = 1000;
constexpr double kBetweenProgress = 0.5;
constexpr int kLayerPasses = 30;

/// Tells progress, but not at every sample.
class Telling {
 public:
  Telling(const Emit& emit, std::string phase) : emit_(emit), phase_(std::move(phase)) {}
  void at(double done, std::optional<double> left) {
    if (told_ && seconds_since(*told_) < kBetweenProgress) return;
    told_ = Clock::now();
    emit_(job::Progress{.phase = phase_, .done = std::clamp(done, 0.0, 1.0), .seconds_left = left});
  }

 private:
  const Emit& emit_;
  std::string phase_;
  std::optional<Clock::time_point> told_;
};

double time_passes(Device& device, const Pass& pass, Marker& begin, Marker& end, std::int64_t passes) {
  begin.record();
  for (std::int64_t i = 0; i < passes; ++i) pass();
  end.record();
  device.synchronize();
  return end.seconds_since(begin) / static_cast<double>(passes);
}

std::int64_t passes_per_sample(const Device& device, double seconds) {
  const double least = device.clock() == "host" ? kLeastHostSample : kLeastDeviceSample;
  if (seconds <= 0) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(least / seconds)), 1,
                                  kMostPassesPerSample);
}

/// One sample per line that comes, told at once.
void time_paced(Device& device, const Pass& pass, Marker& begin, Marker& end, const Emit& emit,
                job::Measured& measured) {
  for (std::string line; std::getline(std::cin, line);) {
    measured.samples.push_back(time_passes(device, pass, begin, end, measured.passes_per_sample));
    emit(job::Sample{measured.samples.back()});
  }
  measured.stopped = "samples";
}

}  // namespace

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double time_cold(Device& device, const Pass& pass) {
  device.synchronize();
  const auto begin = Clock::now();
  pass();
  device.synchronize();
  return seconds_since(begin);
}

void time_hot(Device& device, const Pass& pass, const job::Protocol& protocol, const Emit& emit,
              job::Measured& measured) {
  const auto begin_marker = device.marker(), end_marker = device.marker();
  measured.clock = device.clock();
  measured.passes_per_sample =
      passes_per_sample(device, time_passes(device, pass, *begin_marker, *end_marker, 1));
  if (protocol.paced) {
    emit(job::Progress{.phase = "paced", .done = 0, .seconds_left = {}});
    return time_paced(device, pass, *begin_marker, *end_marker, emit, measured);
  }
  const StoppingRule rule{.least_samples = static_cast<std::size_t>(protocol.least_samples),
                          .most_samples = static_cast<std::size_t>(protocol.most_samples),
                          .relative_width = protocol.relative_width,
                          .confidence = protocol.confidence,
                          .seconds = protocol.seconds};
  Telling telling(emit, "timing");
  std::vector<double> all;
  std::size_t look = rule.least_samples;
  const auto begin = Clock::now();
  while (true) {
    all.push_back(time_passes(device, pass, *begin_marker, *end_marker, measured.passes_per_sample));
    const double elapsed = seconds_since(begin);
    telling.at(elapsed / protocol.seconds, std::max(0.0, protocol.seconds - elapsed));
    if (all.size() < look && elapsed < protocol.seconds && all.size() < rule.most_samples) continue;
    look = next_look(all.size());
    const std::size_t cut = warm_up(all).value_or(all.size() / 2);
    const std::span<const double> steady = std::span(all).subspan(cut);
    const std::optional<Stopped> reason = stop(steady, elapsed, rule);
    if (!reason) continue;
    measured.stopped = name(*reason);
    measured.warm_up.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
    measured.samples.assign(steady.begin(), steady.end());
    return;
  }
}

void run_window(Device& device, const Pass& pass, double seconds, const Emit& emit) {
  Telling telling(emit, "energy");
  device.synchronize();
  emit(job::Window{.begin = true, .passes = 0, .seconds = 0});
  const auto begin = Clock::now();
  std::int64_t passes = 0, between = 1;
  double last = 0;
  while (true) {
    for (std::int64_t i = 0; i < between; ++i) pass();
    passes += between;
    device.synchronize();
    const double elapsed = seconds_since(begin);
    if (elapsed >= seconds) break;
    if (elapsed - last < 0.05) between *= 2;  // few waits, so that the device stays busy
    last = elapsed;
    telling.at(elapsed / seconds, seconds - elapsed);
  }
  emit(job::Window{.begin = false, .passes = passes, .seconds = seconds_since(begin)});
}

job::Layers time_layers(Device& device, const Pass& pass, Executor& executor, const Emit& emit) {
  const std::size_t instructions = executor.instructions().size();
  std::vector<std::unique_ptr<Marker>> markers(instructions + 1);
  for (auto& marker : markers) marker = device.marker();
  const auto begin = device.marker(), end = device.marker();
  std::vector<std::vector<double>> by_instruction(instructions);
  std::vector<double> plain, instrumented;
  Telling telling(emit, "layers");
  for (int i = 0; i < kLayerPasses; ++i) {
    plain.push_back(time_passes(device, pass, *begin, *end, 1));
    executor.after_instruction = [&](std::size_t instruction) { markers[instruction + 1]->record(); };
    begin->record();
    markers[0]->record();
    pass();
    end->record();
    device.synchronize();
    executor.after_instruction = {};
    instrumented.push_back(end->seconds_since(*begin));
    for (std::size_t s = 0; s < instructions; ++s)
      by_instruction[s].push_back(markers[s + 1]->seconds_since(*markers[s]));
    telling.at(static_cast<double>(i) / kLayerPasses, {});
  }
  const network::Network& network = *executor.routine().network;
  job::Layers layers;
  for (std::size_t s = 0; s < instructions; ++s) {
    const network::Operator& op = network.main().operators[executor.instructions()[s].op];
    layers.layers.push_back({.name = std::string(network.name_of(op)),
                             .op = executor.instructions()[s].label.empty()
                                       ? std::string(network.type_of(op))
                                       : executor.instructions()[s].label,
                             .seconds = median(by_instruction[s])});
  }
  layers.pass_seconds = median(plain);
  layers.instrumented_seconds = median(instrumented);
  layers.marker_seconds = std::max(0.0, layers.instrumented_seconds - layers.pass_seconds) /
                          static_cast<double>(instructions + 1);
  layers.passes = kLayerPasses;
  return layers;
}

}  // namespace plimsoll::engine
