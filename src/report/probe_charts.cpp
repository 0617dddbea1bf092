#include "report/probe_charts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "cuda/study_sizes.hpp"
#include "probe/ceilings.hpp"
#include "report/probe_words.hpp"

namespace plimsoll::report {
namespace {

using probe::MatrixProduct;
using probe::Place;
using probe::Survey;
using probe::SurveyedDevice;
using probe::VectorAdd;
using probe::Workers;

constexpr std::string_view kOneThread = "-one-thread";

/// The CPU's threads and the GPU's, each in a color of its own on all charts.
std::size_t color_of(Place place, Workers workers) {
  if (place == Place::cpu) return workers == Workers::one_thread ? 6 : 1;
  switch (workers) {
    case Workers::one_thread: return 3;
    case Workers::one_block: return 2;
    default: return 0;
  }
}

std::string_view side(const SurveyedDevice& device) {
  return device.device.kind == hardware::DeviceKind::gpu ? "GPU" : "CPU";
}

template <class Each>
void for_each_device(const Survey& survey, const Each& each) {
  if (survey.cpu) each(*survey.cpu);
  if (survey.gpu) each(*survey.gpu);
}

/// One line of times against elements; nothing where it has no points.
void add_times(const Survey& survey, Place place, Workers workers, std::string_view part, LogMark mark,
               const std::string& label, LogChart& chart) {
  LogSeries series{.label = label, .points = {}, .color = color_of(place, workers), .mark = mark};
  for_each_device(survey, [&](const SurveyedDevice& device) {
    for (const VectorAdd& add : device.findings.vector_adds)
      if (add.place == place && add.workers == workers)
        if (const probe::Part* found = probe::part_of(add, part))
          series.points.push_back({static_cast<double>(add.elements), probe::time_of(found->samples).value});
  });
  std::ranges::sort(series.points, {}, &LogPoint::x);
  if (!series.points.empty()) chart.series.push_back(std::move(series));
}

void add_cpu_times(const Survey& survey, LogChart& chart) {
  for (const Workers workers : {Workers::one_thread, Workers::all_threads}) {
    add_times(survey, Place::cpu, workers, "total", LogMark::line, fmt::format("CPU, {}", words(workers)),
              chart);
    add_times(survey, Place::cpu, workers, "kernel", LogMark::dashed,
              fmt::format("CPU, {}: sum alone", words(workers)), chart);
  }
}

constexpr Workers kGpuWorkers[] = {Workers::one_thread, Workers::one_block, Workers::many_blocks};

LogChart vector_chart(std::string name, std::string title, std::string note) {
  return {.name = std::move(name),
          .title = std::move(title),
          .x = {.title = "elements of each array (floats)", .unit = "", .binary = false},
          .y = {.title = "time (s)", .unit = "s", .binary = false},
          .series = {},
          .note = std::move(note)};
}

LogChart copies_chart(const Survey& survey) {
  LogChart chart = vector_chart("vecadd-copies", "Sum of two arrays: explicit copies",
                                "Solid: allocation, copies and kernel together. Dashed: the kernel alone.");
  for (const Workers workers : kGpuWorkers) {
    add_times(survey, Place::gpu_copies, workers, "total", LogMark::line,
              fmt::format("GPU, {}", words(workers)), chart);
    add_times(survey, Place::gpu_copies, workers, "kernel", LogMark::dashed,
              fmt::format("GPU, {}: kernel alone", words(workers)), chart);
  }
  add_cpu_times(survey, chart);
  return chart;
}

LogChart unified_chart(const Survey& survey) {
  LogChart chart =
      vector_chart("vecadd-unified", "Sum of two arrays: unified memory",
                   "Allocation, kernel and reading the result together; pages move when they are touched, "
                   "or before, where prefetched.");
  for (const Workers workers : kGpuWorkers) {
    add_times(survey, Place::gpu_managed, workers, "total", LogMark::line,
              fmt::format("GPU, {}", words(workers)), chart);
    add_times(survey, Place::gpu_managed_prefetch, workers, "total", LogMark::dashed,
              fmt::format("GPU, {}, prefetched", words(workers)), chart);
  }
  add_cpu_times(survey, chart);
  return chart;
}

/// A horizontal line over what the others span.
void add_limit(LogChart& chart, std::string label, double value, std::size_t color) {
  double low = INFINITY, high = 0;
  for (const LogSeries& series : chart.series)
    for (const LogPoint& point : series.points) low = std::min(low, point.x), high = std::max(high, point.x);
  if (low < high)
    chart.series.push_back({.label = std::move(label),
                            .points = {{low, value}, {high, value}},
                            .color = color,
                            .mark = LogMark::limit});
}

LogChart product_chart(const Survey& survey) {
  LogChart chart{.name = "matmul",
                 .title = "Product of two square matrices of floats",
                 .x = {.title = "rows and columns", .unit = "", .binary = true},
                 .y = {.title = "rate (FLOP/s)", .unit = "FLOP/s", .binary = false},
                 .series = {},
                 .note = {}};
  for_each_device(survey, [&](const SurveyedDevice& device) {
    const bool gpu = device.device.kind == hardware::DeviceKind::gpu;
    for (const probe::Method method :
         {probe::Method::naive, probe::Method::blocked, probe::Method::library}) {
      LogSeries series{.label = fmt::format("{}, {}", side(device), words(method, gpu)),
                       .points = {},
                       .color = static_cast<std::size_t>(method) + (gpu ? 0U : 3U),
                       .mark = LogMark::line};
      for (const MatrixProduct& p : device.findings.products)
        if (const auto rate = probe::flops_of(p); rate && p.method == method)
          series.points.push_back({static_cast<double>(p.size), rate->value});
      std::ranges::sort(series.points, {}, &LogPoint::x);
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
  });
  for_each_device(survey, [&](const SurveyedDevice& device) {
    const std::size_t color = device.device.kind == hardware::DeviceKind::gpu ? 0 : 3;
    if (const hardware::Ceiling* c = probe::ceiling_named(device.ceilings, "product-fp32"))
      add_limit(chart, fmt::format("{}'s ceiling, {}", side(device), figure_text(c->figure.value, "FLOP/s")),
                c->figure.value, color);
    if (const auto peak = probe::peak_of(device.device, "product-fp32", {}))
      add_limit(chart, fmt::format("{}'s peak, {}", side(device), figure_text(*peak, "FLOP/s")), *peak, 7);
  });
  return chart;
}

/// Rates against the size they were measured at.
LogChart curve_chart(const SurveyedDevice& device, std::string_view prefix, std::string title,
                     std::string across) {
  LogChart chart{.name = fmt::format("{}-{}", side(device) == "GPU" ? "gpu" : "cpu",
                                     prefix == "copy-" ? "copies" : "memory"),
                 .title = std::move(title),
                 .x = {.title = std::move(across), .unit = "B", .binary = true},
                 .y = {.title = "rate (B/s)", .unit = "B/s", .binary = false},
                 .series = {},
                 .note = {}};
  std::vector<std::string> kinds;
  for (const hardware::Ceiling& c : device.ceilings) {
    if (!c.name.starts_with(prefix) || !probe::on_curve(c)) continue;
    const bool one = c.name.ends_with(kOneThread);
    std::string kind =
        c.name.substr(prefix.size(), c.name.size() - prefix.size() - (one ? kOneThread.size() : 0));
    std::ranges::replace(kind, '-', ' ');
    std::string label = printable(kind + (one ? ", one thread" : ""), 40);
    auto color = static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
    if (color == kinds.size()) kinds.push_back(kind);
    auto series = std::ranges::find(chart.series, label, &LogSeries::label);
    if (series == chart.series.end())
      series = chart.series.insert(chart.series.end(), {.label = std::move(label),
                                                        .points = {},
                                                        .color = color,
                                                        .mark = one ? LogMark::dashed : LogMark::line});
    series->points.push_back({*c.at, c.figure.value});
  }
  std::erase_if(chart.series, [](const LogSeries& s) { return s.points.size() < 2; });
  for (LogSeries& s : chart.series) std::ranges::sort(s.points, {}, &LogPoint::x);
  std::ranges::stable_sort(chart.series, {}, &LogSeries::mark);
  if (prefix == "memory-" && device.device.memory_bandwidth)
    add_limit(chart, fmt::format("datasheet, {}", figure_text(device.device.memory_bandwidth->value, "B/s")),
              device.device.memory_bandwidth->value, 7);
  return chart;
}

/// What is attainable at an intensity: the bandwidth's slope, up to the ceiling of a precision (Williams,
/// Waterman and Patterson, Roofline, 2009).
void add_roofs(LogChart& chart, const SurveyedDevice& device, const hardware::Ceiling& memory) {
  constexpr double kLow = 0.01, kHigh = 1e4;
  const double bandwidth = memory.figure.value;
  LogSeries slope{.label = fmt::format("memory, {}", figure_text(bandwidth, "B/s")),
                  .points = {{kLow, kLow * bandwidth}},
                  .color = 7,
                  .mark = LogMark::limit};
  std::vector<LogSeries> roofs;
  for (const char* precision : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"}) {
    const hardware::Ceiling* const c =
        probe::ceiling_named(device.ceilings, fmt::format("product-{}", precision));
    if (c == nullptr || !(c->figure.value > 0)) continue;
    const LogPoint ridge{std::clamp(c->figure.value / bandwidth, kLow, kHigh), c->figure.value};
    if (slope.points.size() < 2) slope.points.push_back(ridge);
    if (ridge.x > slope.points.back().x) slope.points.back() = ridge;
    roofs.push_back({.label = fmt::format("{}, {}", precision, figure_text(c->figure.value, "FLOP/s")),
                     .points = {ridge, {kHigh, c->figure.value}},
                     .color = roofs.size(),
                     .mark = LogMark::limit});
  }
  if (roofs.empty()) return;
  chart.series.push_back(std::move(slope));
  chart.series.insert(chart.series.end(), roofs.begin(), roofs.end());
}

LogChart roofline(const SurveyedDevice& device) {
  LogChart chart{.name = side(device) == "GPU" ? "gpu-roofline" : "cpu-roofline",
                 .title = fmt::format("{}: roofline of what was measured", side(device)),
                 .x = {.title = "arithmetic intensity (FLOP per byte moved)", .unit = "", .binary = false},
                 .y = {.title = "rate (FLOP/s)", .unit = "FLOP/s", .binary = false},
                 .series = {},
                 .note = "Intensity by what each method asks of memory; caches let some pass the slope."};
  const hardware::Ceiling* const memory = probe::ceiling_named(device.ceilings, "memory-triad");
  if (memory == nullptr) return chart;
  add_roofs(chart, device, *memory);
  if (chart.series.empty()) return chart;
  LogSeries sums{.label = "sums of arrays", .points = {}, .color = 6, .mark = LogMark::points};
  for (const VectorAdd& add : device.findings.vector_adds)
    if (const auto bandwidth = probe::bandwidth_of(add))
      sums.points.push_back(
          {1.0 / 12, bandwidth->value / 12});  // one FLOP for two floats read and one written
  if (!sums.points.empty()) chart.series.push_back(std::move(sums));
  for (const probe::Method method : {probe::Method::naive, probe::Method::blocked, probe::Method::library}) {
    LogSeries series{.label = fmt::format("product, {}", words(method, side(device) == "GPU")),
                     .points = {},
                     .color = static_cast<std::size_t>(method) + 3,
                     .mark = LogMark::points};
    for (const MatrixProduct& p : device.findings.products)
      if (const auto rate = probe::flops_of(p); rate && p.method == method && p.moved_bytes > 0)
        series.points.push_back({cuda::square_product_flops(p.size) / p.moved_bytes, rate->value});
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

bool on_gpu(const Survey& survey, std::initializer_list<Place> places) {
  return survey.gpu && std::ranges::any_of(survey.gpu->findings.vector_adds, [&](const VectorAdd& add) {
           return std::ranges::find(places, add.place) != places.end();
         });
}

}  // namespace

std::vector<LogChart> survey_charts(const Survey& survey) {
  std::vector<LogChart> out = {copies_chart(survey)};
  if (!on_gpu(survey, {Place::gpu_copies})) out.front().title = "Sum of two arrays on the CPU";
  if (on_gpu(survey, {Place::gpu_managed, Place::gpu_managed_prefetch})) out.push_back(unified_chart(survey));
  out.push_back(product_chart(survey));
  for_each_device(survey, [&](const SurveyedDevice& device) {
    out.push_back(curve_chart(device, "memory-", fmt::format("{}: memory by working set", side(device)),
                              "working set (bytes)"));
    out.push_back(curve_chart(device, "copy-", fmt::format("{}: copies from and to the host", side(device)),
                              "size of a copy (bytes)"));
    out.push_back(roofline(device));
  });
  std::erase_if(out, [](const LogChart& chart) {
    return std::ranges::all_of(chart.series, [](const LogSeries& s) { return s.mark == LogMark::limit; });
  });
  return out;
}

}  // namespace plimsoll::report
