// How the power of a GPU grows with what kernels reach of its ceilings: the exponent of the energy estimate.
//
// Three trainings were run alone on an H200, eagerly, so that the GPU waits part of the time
// (docs/collocation.md has their steps per second and mean power; raw points in docs/figures). For each
// exponent this prints the power that the estimate's formula gives for as many steps per second. The networks
// are of the zoo.
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "estimate/profile/roofline.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/ceilings.hpp"
#include "hardware/operator_curve.hpp"
#include "network/binding.hpp"
#include "network/inference.hpp"
#include "network/zoo/zoo.hpp"
#include "program/lowering.hpp"

namespace {

using namespace plimsoll;

struct Training {
  std::string_view network;
  std::int64_t batch;
  double steps_per_second, watts;
};
constexpr Training kTrainings[] = {{"resnet18:input=32x32", 128, 120.5, 164},
                                   {"resnet50:input=64x64", 128, 50.6, 252},
                                   {"resnet152", 32, 18.1, 421}};
constexpr std::array kExponents = {0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 1.0};

struct Power {
  double idle, memory, product, bandwidth, tf32, fp32;
};

Power power_of(const hardware::Calibration& calibration, double limit) {
  const auto value = [&](std::string_view name) {
    return hardware::ceiling_named(calibration.ceilings, name)->figure.value;
  };
  const double idle = value("idle-power");
  const double triad = value("energy-memory-triad") * value("memory-triad");
  const double product = std::min(value("energy-product-bf16") * value("product-bf16"), limit);
  return {idle,
          triad - idle,
          product - idle,
          value("memory-triad"),
          value("product-tf32"),
          value("product-fp32")};
}

double watts(const program::Program& program, const Power& p, const hardware::OperatorCurves& curves,
             double gap, double steps_per_second, double exponent) {
  double joules = 0;
  for (const hardware::OperatorCase& c : program.kernels) {
    const auto predicted = curves.predict(c);
    if (!predicted || predicted->seconds <= gap) continue;
    const double busy = predicted->seconds - gap;
    const hardware::OperatorWork work = hardware::work_of(c);
    const double rate = c.arithmetic == hardware::Arithmetic::tf32 ? p.tf32 : p.fp32;
    joules += busy *
              std::min(p.product,
                       p.memory * std::pow(std::min(work.bytes() / busy / p.bandwidth, 1.0), exponent) +
                           p.product * std::pow(std::min(work.flops_at_peak() / busy / rate, 1.0), exponent));
  }
  return p.idle + steps_per_second * joules;
}

}  // namespace

int main() {
  const hardware::Device device = **hardware::built_in_catalogue()->find("h200");
  const auto calibration = hardware::calibration_of(device);
  const hardware::OperatorCurves curves((*calibration)->points);
  const Power power = power_of(**calibration, device.power->value);
  const double gap = estimate::kernel_gap(device).value();
  fmt::print("{:24s} {:>8s}", "W", "measured");
  for (const double exponent : kExponents) fmt::print(" {:>6.2f}", exponent);
  fmt::print("\n");
  for (const Training& t : kTrainings) {
    const auto network = network::zoo::build(t.network, network::Mode::train);
    network::BindingRequest request;
    request.batch = t.batch;
    const auto shapes = network::infer(*network, *network::bind(*network, request));
    const auto program = program::lower(*network, *shapes, {.mode = network::Mode::train}, {});
    fmt::print("{:24s} {:8.0f}", t.network, t.watts);
    for (const double exponent : kExponents)
      fmt::print(" {:6.0f}", watts(*program, power, curves, gap, t.steps_per_second, exponent));
    fmt::print("\n");
  }
}
