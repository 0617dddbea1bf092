// What watching costs: runs a SamplingThread for some seconds and prints, as one JSON document, the processor
// time of its thread and the memory of the whole process.
//   telemetry_bench RATE SECONDS PROCESSES
// or what each of NVML's answers costs, in microseconds on the clock and of the processor:
//   telemetry_bench calls
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "nvml/library.hpp"
#include "telemetry/proc_text.hpp"
#include "telemetry/sampling_thread.hpp"

namespace {

/// Children that do nothing, to be watched.
std::vector<pid_t> start_sleepers(int count) {
  std::vector<pid_t> out;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    out.push_back(child);
  }
  return out;
}

double clock_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int time_calls(const plimsoll::nvml::Library& library) {
  const auto window = library.watch_activity(0);
  const std::pair<const char*, std::function<bool()>> calls[] = {
      {"activity", [&] { return window && (*window)->advance().has_value(); }},
      {"power", [&] { return library.power(0).has_value(); }},
      {"energy", [&] { return library.energy(0).has_value(); }},
      {"memory", [&] { return library.memory(0).has_value(); }},
      {"utilization", [&] { return library.utilization(0).has_value(); }},
      {"SM clock", [&] { return library.sm_clock(0).has_value(); }},
      {"throttle", [&] { return library.throttle(0).has_value(); }},
      {"temperature", [&] { return library.temperature(0).has_value(); }},
      {"processes", [&] { return library.processes(0).has_value(); }},
      {"process utilization", [&] { return library.process_utilization(0, 0).has_value(); }},
      {"MIG slices", [&] { return library.mig_instances(0).has_value(); }}};
  fmt::print("{:<20}  {:>10}  {:>10}\n", "call", "clock µs", "CPU µs");
  for (const auto& [name, call] : calls) {
    constexpr int times = 50;
    bool answered = call();
    const double began = clock_seconds(CLOCK_MONOTONIC);
    const double used = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < times; ++i) answered &= call();
    fmt::print("{:<20}  {:>10.1f}  {:>10.1f}{}\n", name,
               (clock_seconds(CLOCK_MONOTONIC) - began) / times * 1e6,
               (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - used) / times * 1e6, answered ? "" : "  refused");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plimsoll;
  if (argc == 2 && std::string_view(argv[1]) == "calls") {
    const auto library = nvml::open();
    if (library) return time_calls(**library);
    fmt::print(stderr, "telemetry_bench: {}\n", library.error().text());
    return 3;
  }
  if (argc != 4) {
    fmt::print(stderr, "usage: telemetry_bench RATE SECONDS PROCESSES | calls\n");
    return 2;
  }
  const double rate = std::strtod(argv[1], nullptr);
  const double seconds = std::strtod(argv[2], nullptr);
  const std::vector<pid_t> sleepers = start_sleepers(std::atoi(argv[3]));
  const auto library = nvml::open();
  telemetry::SamplerOptions options{.rate = rate};
  if (library) {
    options.nvml = library->get();
    for (unsigned i = 0; i < (*library)->device_count().value_or(0); ++i) options.devices.push_back(i);
  }
  telemetry::SamplingThread thread{telemetry::Sampler(options), rate};
  thread.watch({.run = 1, .root = ::getpid(), .devices = options.devices});
  std::size_t values = 0;
  std::size_t gaps = 0;
  const auto drain = [&] {
    const auto taken = thread.take();
    for (const telemetry::Frame& frame : taken.frames) values += frame.values.size();
    gaps += taken.gaps.size();
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    drain();
  }
  thread.stop();
  drain();
  for (const pid_t child : sleepers) ::kill(child, SIGKILL);
  while (::wait(nullptr) > 0) {
  }
  // Not getrusage: its largest size is inherited from the process that started this one.
  const auto peak = telemetry::number_after(read_file("/proc/self/status", 1 << 16).value_or(""), "VmHWM:");
  const auto cost = thread.cost();
  fmt::print(
      R"({{"rate": {}, "seconds": {}, "gpus": {}, "frames": {}, "values": {}, "gaps": {}, "cpu_seconds": {:.6f}, "peak_memory_bytes": {}}})"
      "\n",
      rate, seconds, options.devices.size(), cost.frames, values, gaps, cost.cpu_seconds,
      peak.value_or(0) * 1024);
  return 0;
}
