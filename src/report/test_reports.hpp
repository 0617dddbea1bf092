#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/test_runs.hpp"
#include "report/run_report.hpp"

namespace plimsoll::report {

inline RunReport reported(diagnose::TestRecording made) {
  return report_of(made.take(), {});
}

/// Four of a workload, each on a GPU of its own and with another trouble.
inline std::vector<RunReport> workload() {
  std::vector<RunReport> out;
  const auto add = [&](const diagnose::MadeUp& m, const std::string& name, const std::string& id,
                       const std::string& outcome) {
    diagnose::TestRecording made = diagnose::made_up_run(m, name);
    made.id(id + "00000000000000000000000000")
        .tag("plimsoll.workload", "sweep")
        .tag("plimsoll.device.0.uuid", "GPU-" + id)
        .tag("plimsoll.outcome", outcome);
    if (outcome == "cuda-out-of-memory")
      made.tag("plimsoll.reason",
               "  File \"train.py\", line 41, in <module>\ntorch.OutOfMemoryError: CUDA out of memory. Tried "
               "to allocate 2.00 GiB.");
    out.push_back(reported(std::move(made)));
  };
  add({.seconds = 120, .sm = 0.35, .kernels = 0.45, .cpu = 15.4}, "resnet50 batch 64", "a10000", "finished");
  add({.seconds = 150, .sm = 0.2, .kernels = 0.95, .cpu = 1.1, .watts = 250}, "resnet50 batch 8", "b20000",
      "finished");
  add({.seconds = 90, .sm = 0.85, .kernels = 0.98, .memory = 70e9, .watts = 650, .throttle = 4},
      "resnet50 batch 512", "c30000", "finished");
  add({.seconds = 60, .sm = 0.9, .kernels = 0.98, .memory = 84.5e9, .watts = 690}, "resnet50 batch 1024",
      "d40000", "cuda-out-of-memory");
  return out;
}

/// Three hours on two GPUs with a pause for evaluation every half hour, and half an hour that was not
/// sampled.
inline diagnose::TestRecording for_hours() {
  diagnose::TestRecording made(3 * 3600, "gpt2 on two GPUs");
  std::uint32_t noise = 1;
  const auto random = [&noise] {
    noise = noise * 1664525 + 1013904223;
    return static_cast<double>(noise >> 8) / 0x1p24;
  };
  const auto pauses = [](double t) { return std::fmod(t, 1800) > 1650; };
  const auto missing = [](double t) { return t > 6000 && t < 7800; };
  made.tag("plimsoll.devices", "0,1")
      .tag("plimsoll.host.cores", "64")
      .tag("plimsoll.command", "torchrun --nproc-per-node 2 train.py");
  for (const unsigned gpu : {0U, 1U}) {
    const std::string tagged = "plimsoll.device." + std::to_string(gpu);
    made.tag(tagged + ".name", "NVIDIA A100-SXM4-80GB").tag(tagged + ".memory_bytes", "85899345920");
    const auto sampled = [&](std::string_view what, double value, double idle, double swing) {
      made.sampled(
          diagnose::gpu_series({{}, gpu}, what),
          [&](double t) {
            return missing(t) ? std::nan("") : (pauses(t) ? idle : value * (1 + swing * (random() - 0.5)));
          },
          2);
    };
    sampled("sm_activity", 0.62 - 0.1 * gpu, 0.02, 0.5);
    sampled("utilization", 0.97, 0.3, 0.05);
    sampled("graphics_activity", 0.95, 0.1, 0.05);
    sampled("memory_used", 61e9, 61e9, 0);
    sampled("power", 340 - 30 * gpu, 90, 0.2);
    made.sampled(diagnose::gpu_series({{}, gpu}, "energy"), [&](double t) { return 300 * t; }, 2);
  }
  made.sampled("system/run/cpu", [&](double t) { return missing(t) ? std::nan("") : 4 + 3 * random(); }, 2);
  std::vector<std::pair<double, double>> loss;
  for (int i = 1; i <= 20000; ++i)
    loss.emplace_back(60 + i * 0.53, 3 + 7 * std::exp(-i / 3000.0) + 0.4 * random());
  return std::move(made.own("train/loss", loss));
}

}  // namespace plimsoll::report
