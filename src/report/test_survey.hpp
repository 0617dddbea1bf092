#pragma once
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "probe/ceilings.hpp"
#include "probe/survey.hpp"

namespace plimsoll::report {

// A made-up survey: figures such as a server with a large GPU would give, none of them measured.

/// Five samples around a value, which is their median.
inline std::vector<double> around(double value) {
  return {value * 0.99, value * 1.02, value, value * 0.98, value * 1.01};
}

inline probe::VectorAdd made_up_add(probe::Place place, probe::Workers workers, double elements,
                                    std::vector<std::pair<std::string, double>> parts) {
  probe::VectorAdd out{.place = place,
                       .workers = workers,
                       .elements = static_cast<std::int64_t>(elements),
                       .parts = {},
                       .right = true,
                       .device = "made up"};
  double total = 0;
  for (const auto& [name, seconds] : parts) {
    out.parts.push_back({name, around(seconds)});
    total += seconds;
  }
  out.parts.push_back({"total", around(total)});
  return out;
}

inline void made_up_sums(probe::Findings& cpu, probe::Findings& gpu) {
  using probe::Place;
  using probe::Workers;
  for (const double n : {1e6, 5e6, 1e7, 5e7, 1e8}) {
    const double bytes = 12 * n;
    cpu.vector_adds.push_back(made_up_add(Place::cpu, Workers::one_thread, n,
                                          {{"allocate", bytes / 3e9}, {"kernel", bytes / 15e9}}));
    cpu.vector_adds.push_back(made_up_add(Place::cpu, Workers::all_threads, n,
                                          {{"allocate", bytes / 9e9}, {"kernel", bytes / 190e9}}));
    cpu.rates.push_back({"stream-triad", "B/s", bytes, bytes, around(bytes / 200e9), {}});
    for (const auto& [workers, rate] : {std::pair{Workers::one_thread, 0.08e9},
                                        {Workers::one_block, 9e9},
                                        {Workers::many_blocks, 4100e9}}) {
      const double kernel = 4e-6 + bytes / rate;
      gpu.vector_adds.push_back(made_up_add(
          Place::gpu_copies, workers, n,
          {{"allocate", 3e-4}, {"copy in", bytes / 80e9}, {"kernel", kernel}, {"copy out", bytes / 160e9}}));
      gpu.vector_adds.push_back(made_up_add(Place::gpu_managed, workers, n,
                                            {{"allocate", 1e-4}, {"kernel", kernel + bytes / 6e9}}));
      gpu.vector_adds.push_back(made_up_add(
          Place::gpu_managed_prefetch, workers, n,
          {{"allocate", 1e-4}, {"copy in", bytes / 40e9}, {"kernel", kernel}, {"copy out", bytes / 50e9}}));
    }
  }
}

inline void made_up_products(probe::Findings& findings, bool gpu, std::array<double, 3> rates) {
  using probe::Method;
  for (const double n : {256., 512., 1024., 2048., 4096., 8192.})
    for (const Method method : {Method::naive, Method::blocked, Method::library}) {
      if (!gpu && method == Method::naive && n > 1024) continue;
      const double rate = rates[static_cast<std::size_t>(method)] * n / (n + (gpu ? 1500 : 200));
      const double moved = method == Method::naive     ? 8 * n * n * n
                           : method == Method::blocked ? 8 * n * n * n / 64
                                                       : 12 * n * n;
      findings.products.push_back({.gpu = gpu,
                                   .method = method,
                                   .size = static_cast<std::int64_t>(n),
                                   .samples = around(2 * n * n * n / rate),
                                   .moved_bytes = moved,
                                   .largest_error = 0,
                                   .right = true,
                                   .library = method == Method::library ? "madeBLAS 1.2" : ""});
    }
}

inline void made_up_rates(probe::Findings& cpu, probe::Findings& gpu) {
  const auto add = [](probe::Findings& to, std::string name, std::string unit, double value,
                      std::optional<double> at) {
    const double amount = unit == "s" ? 1 : at.value_or(1e12);
    to.rates.push_back({std::move(name), unit, amount, at, around(unit == "s" ? value : amount / value), {}});
  };
  for (double at = 0x1p15; at <= 0x1p30; at *= 2)
    for (const auto& [name, share] :
         {std::pair{"read", 1.0}, {"write", 0.6}, {"copy", 0.8}, {"triad", 0.85}}) {
      const double cache = at < 0x1p20 ? 3e12 : at < 0x1p25 ? 9e11 : 220e9;
      add(cpu, fmt::format("memory-{}", name), "B/s", share * cache, at);
      add(cpu, fmt::format("memory-{}-one-thread", name), "B/s",
          share * std::min(cache / 16, at < 0x1p25 ? 1e11 : 16e9), at);
    }
  for (double at = 0x1p16; at <= 0x1p32; at *= 2)
    for (const auto& [name, share] :
         {std::pair{"read", 1.0}, {"write", 0.95}, {"copy", 0.92}, {"triad", 0.94}})
      add(gpu, fmt::format("memory-{}", name), "B/s",
          share * (at < 0x1p25 ? 7e12 : 4.4e12) * at / (at + 0x1p23), at);
  add(gpu, "memory-device-copy", "B/s", 4.2e12, 0x1p32);
  for (double at = 0x1p12; at <= 0x1p30; at *= 4)
    for (const auto& [name, rate] : {std::pair{"to-device-pinned", 55e9},
                                     {"to-device-pageable", 11e9},
                                     {"to-host-pinned", 54e9},
                                     {"to-host-pageable", 9e9}})
      add(gpu, fmt::format("copy-{}", name), "B/s", rate * at / (at + 0x1p18), at);
  add(cpu, "product-fp32", "FLOP/s", 2.4e12, 805306368);
  add(cpu, "product-fp64", "FLOP/s", 1.2e12, 1610612736);
  for (const auto& [name, rate] : {std::pair{"fp64", 59e12},
                                   {"fp32", 51e12},
                                   {"tf32", 420e12},
                                   {"fp16", 780e12},
                                   {"bf16", 790e12},
                                   {"fp8", 1450e12},
                                   {"int8", 1500e12}})
    add(gpu, fmt::format("product-{}", name), "FLOP/s", rate, 805306368);
  add(gpu, "launch-kernel", "s", 2.2e-6, {});
  add(gpu, "launch-graph", "s", 1.3e-6, {});
  gpu.rates.push_back({"idle-power", "W", 1, {}, {5}, 375});
  gpu.rates.push_back({"load-power", "W", 1, {}, {5}, 3450});
  gpu.rates.push_back({"energy-product-bf16", "J/FLOP", 3.9e15, {}, {5}, 3450});
}

inline hardware::Device made_up_gpu() {
  using hardware::Arithmetic;
  const auto figure = [](double value) {
    return hardware::DeviceFigure{value, Provenance::datasheet, "made up"};
  };
  hardware::Device d;
  d.id = "made-up";
  d.name = "Made Up GPU";
  d.memory_bandwidth = figure(4.8e12);
  d.l2_cache = figure(60e6);
  d.power = figure(700);
  for (const auto& [arithmetic, peak] : {std::pair{Arithmetic::fp64, 67e12},
                                         {Arithmetic::fp32, 67e12},
                                         {Arithmetic::tf32, 494e12},
                                         {Arithmetic::fp16, 989e12},
                                         {Arithmetic::bf16, 989e12},
                                         {Arithmetic::fp8, 1979e12},
                                         {Arithmetic::int8, 1979e12}})
    d.peak[static_cast<std::size_t>(arithmetic)] = figure(peak);
  return d;
}

inline probe::Survey made_up_survey() {
  probe::Survey out{.date = "2026-01-02"};
  hardware::Device cpu;
  cpu.id = "cpu";
  cpu.name = "Made Up CPU";
  cpu.kind = hardware::DeviceKind::cpu;
  cpu.peak[static_cast<std::size_t>(hardware::Arithmetic::fp32)] =
      hardware::DeviceFigure{3.4e12, Provenance::assumed, "16 cores x 3.3 GHz x 64"};
  out.cpu = probe::SurveyedDevice{.device = cpu, .setup = "16 threads"};
  out.gpu = probe::SurveyedDevice{.device = made_up_gpu(), .setup = "CUDA 13.0, madeBLAS 13, driver 580.1"};
  made_up_rates(out.cpu->findings, out.gpu->findings);
  made_up_sums(out.cpu->findings, out.gpu->findings);
  made_up_products(out.cpu->findings, false, {1e9, 1.8e12, 2.5e12});
  made_up_products(out.gpu->findings, true, {6e12, 22e12, 52e12});
  out.gpu->findings.remarks.emplace_back("product-fp4 was left out: the chip has none");
  out.gpu->doubts.emplace_back("python (process 71) was on the GPU, too, 2.00 GiB of its memory");
  for (probe::SurveyedDevice* device : {&*out.cpu, &*out.gpu}) complete_ceilings(*device, out.date);
  return out;
}

}  // namespace plimsoll::report
