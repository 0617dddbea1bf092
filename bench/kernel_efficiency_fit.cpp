// Fits what each class of kernels reaches of a device's peaks to a calibration, and prints the table that
// src/estimate/profile/kernel_efficiency_table.cpp is.
//
// usage: kernel_efficiency_fit DEVICE.json > src/estimate/profile/kernel_efficiency_table.cpp
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "estimate/profile/roofline.hpp"
#include "hardware/device_file.hpp"

namespace {

using namespace plimsoll;
using estimate::KernelEfficiency;
using hardware::OperatorPoint;
using Group = std::tuple<hardware::OperatorClass, hardware::Direction, estimate::KernelFormat>;

constexpr std::array<std::string_view, 3> kFormats = {"vector", "tf32", "half"};

using Parameters = std::array<double, 4>;  // logarithms

KernelEfficiency efficiency_at(const Parameters& p) {
  return {std::exp(p[0]), std::exp(p[1]), std::exp(p[2]), std::exp(p[3])};
}

/// Mean distance of the logarithms: a few odd kernels must not decide.
double distance(const Parameters& p, const std::vector<OperatorPoint>& points,
                const hardware::Device& device) {
  const KernelEfficiency e = efficiency_at(p);
  double sum = 0;
  for (const OperatorPoint& point : points)
    sum += std::abs(std::log(roofline_seconds(point.what, e, device)->value() / point.seconds));
  return sum / static_cast<double>(points.size());
}

/// One parameter after the other, in ever smaller steps.
Parameters fitted(const std::vector<OperatorPoint>& points, const hardware::Device& device) {
  Parameters best = {std::log(0.5), std::log(0.5), std::log(1e6), std::log(1e4)};
  const Parameters low = {std::log(1e-3), std::log(1e-2), std::log(1e2), std::log(1e1)};
  const Parameters high = {std::log(1.0), std::log(1.0), std::log(1e9), std::log(1e7)};
  double least = distance(best, points, device);
  for (double step = 2; step > 0.005; step /= 2)
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < best.size(); ++i)
        for (const double by : {-step, step}) {
          Parameters tried = best;
          tried[i] = std::clamp(tried[i] + by, low[i], high[i]);
          const double found = distance(tried, points, device);
          if (found >= least - 1e-6) continue;
          least = found;
          best = tried;
          moved = true;
        }
    }
  return best;
}

double scatter(const Parameters& p, const std::vector<OperatorPoint>& points,
               const hardware::Device& device) {
  const KernelEfficiency e = efficiency_at(p);
  double sum = 0;
  for (const OperatorPoint& point : points)
    sum += std::pow(std::log(roofline_seconds(point.what, e, device)->value() / point.seconds), 2);
  return std::sqrt(sum / static_cast<double>(points.size()));
}

std::string identifier(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: kernel_efficiency_fit DEVICE.json\n");
    return 2;
  }
  const Result<hardware::Device> device = hardware::load_file(arguments[1]);
  if (!device || !device->calibration) {
    fmt::print(stderr, "{}\n", device ? "no calibration in it" : device.error().text());
    return 2;
  }
  std::map<Group, std::vector<OperatorPoint>> groups;
  for (const OperatorPoint& point : device->calibration->points)
    groups[{point.what.operator_class, point.what.direction, estimate::format_of(point.what.arithmetic)}]
        .push_back(point);
  fmt::print(
      R"(// Written by bench/kernel_efficiency_fit from data/calibrations/h200.json; not to be edited by hand.
#include "estimate/profile/kernel_efficiency.hpp"

namespace plimsoll::estimate {{
namespace {{

using enum hardware::OperatorClass;
using enum hardware::Direction;
using enum KernelFormat;

// clang-format off
constexpr KernelEfficiencyRow kRows[] = {{
)");
  double sum = 0, all = 0;
  for (const auto& [group, points] : groups) {
    const auto [operator_class, direction, format] = group;
    const Parameters p = fitted(points, *device);
    const KernelEfficiency e = efficiency_at(p);
    sum += distance(p, points, *device) * static_cast<double>(points.size());
    all += static_cast<double>(points.size());
    fmt::print("    {{{}, {}, {}, {{{:.3g}, {:.3g}, {:.3g}, {:.3g}, {:.3g}}}}},  // {} points\n",
               identifier(name(operator_class)), identifier(name(direction)),
               kFormats[static_cast<std::size_t>(format)], e.compute, e.memory, e.ramp_flops, e.ramp_bytes,
               scatter(p, points, *device), points.size());
  }
  fmt::print(R"(}};
// clang-format on

}}  // namespace

std::span<const KernelEfficiencyRow> kernel_efficiencies() {{
  return kRows;
}}

}}  // namespace plimsoll::estimate
)");
  fmt::print(stderr, "{:.0f} points, mean distance of the logarithms {:.3f}\n", all, sum / all);
}
