#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/test_recording.hpp"

namespace plimsoll::diagnose {

/// The steady values of a made-up training on one GPU of 80 GiB and 16 cores.
struct MadeUp {
  double seconds = 120;
  double load = 10;  ///< seconds before the GPU works
  double save = 5;   ///< seconds after it
  double sm = 0.5;
  double kernels = 0.9;
  double dram = 0.3;
  double tensor = 0.2;
  double fp32 = 0.1;
  double memory = 20e9;
  double cpu = 2;
  double io_pressure = 0;
  double sm_share = 1;
  double watts = 400;
  double throttle = 0;
  int epochs = 5;
};

/// A training like that, with a little noise that is the same every time.
inline TestRecording made_up_run(const MadeUp& m, const std::string& name = "made up") {
  const auto works = [m](double t) { return t > m.load && t <= m.seconds - m.save; };
  const auto while_working = [works](double value, double otherwise, double swing) {
    return [=](double t) {
      if (!works(t)) return otherwise;
      return std::max(0.0, value * (1 + swing * (0.6 * std::sin(7.3 * t) + 0.4 * std::sin(31.7 * t + 1))));
    };
  };
  constexpr double kIdleWatts = 100;
  const auto joules = [m](double t) {
    const double work = std::clamp(t - m.load, 0.0, m.seconds - m.save - m.load);
    return kIdleWatts * (t - work) + m.watts * work;
  };
  TestRecording made(m.seconds, name);
  made.tag("plimsoll.devices", "0").tag("plimsoll.host.cores", "16").tag("plimsoll.mode", "alone");
  made.tag("plimsoll.device.0.name", "NVIDIA H100 80GB HBM3")
      .tag("plimsoll.device.0.memory_bytes", "85899345920");
  made.tag("plimsoll.command", "python train.py --epochs 5").tag("plimsoll.host", "node7");
  made.sampled("system/gpu/0/sm_activity", while_working(m.sm, 0, 0.1))
      .sampled("system/gpu/0/graphics_activity", while_working(m.kernels, 0, 0.02))
      .sampled("system/gpu/0/utilization", while_working(std::min(1.0, m.kernels * 1.02), 0, 0), 2)
      .sampled("system/gpu/0/dram_activity", while_working(m.dram, 0, 0.1))
      .sampled("system/gpu/0/tensor_activity", while_working(m.tensor, 0, 0.1))
      .sampled("system/gpu/0/fp32_activity", while_working(m.fp32, 0, 0.1))
      .sampled("system/gpu/0/memory_used", while_working(m.memory, 5e8, 0))
      .sampled("system/gpu/0/power", while_working(m.watts, kIdleWatts, 0.05))
      .sampled("system/gpu/0/energy", joules)
      .sampled("system/gpu/0/sm_clock", 1.755e9, 1)
      .sampled(
          "system/gpu/0/temperature", [](double t) { return 60 - 25 * std::exp(-t / 30); }, 1)
      .sampled("system/gpu/0/throttle", while_working(m.throttle, 1, 0), 1)
      .sampled("system/run/gpu/0/sm_share", while_working(m.sm_share, m.sm_share, 0))
      .sampled("system/run/gpu/0/memory", while_working(m.memory - 5e8, 0, 0))
      .sampled("system/run/cpu", while_working(m.cpu, 1, 0.1))
      .sampled("system/run/memory", while_working(6e9, 2e9, 0))
      .sampled("system/run/read", while_working(80e6, 300e6, 0.5), 1)
      .sampled("system/host/cpu", while_working(m.cpu + 0.5, 1.5, 0.1), 1)
      .sampled("system/host/io_pressure", m.io_pressure, 1);
  std::vector<std::pair<double, double>> loss, epoch;
  const double work = m.seconds - m.save - m.load;
  for (int i = 1; i <= 200; ++i)
    loss.emplace_back(m.load + work * i / 200, 2.5 * std::exp(-i / 60.0) + 0.1 * std::sin(1.7 * i) + 0.3);
  for (int i = 1; i <= m.epochs; ++i) epoch.emplace_back(m.load + work * i / m.epochs, i);
  return std::move(made.own("loss", loss).own("epoch", epoch));
}

}  // namespace plimsoll::diagnose
