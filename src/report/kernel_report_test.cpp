#include "report/kernel_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "network/test_network.hpp"
#include "program/lowering.hpp"
#include "report/kernel_page.hpp"

namespace plimsoll::report {
namespace {

using hardware::Arithmetic;
using network::Builder;
using network::TensorId;
using network::test_network::Built;
using network::test_network::built;
using network::test_network::input;
using testing::HasSubstr;
using testing::Not;

hardware::Device some_gpu(bool known_multiprocessors = true) {
  const auto figure = [](double value) {
    return hardware::DeviceFigure{value, Provenance::datasheet, "a test"};
  };
  hardware::Device device{.id = "gpu", .name = "A GPU", .kind = hardware::DeviceKind::gpu};
  device.memory_bandwidth = figure(1e12);
  if (known_multiprocessors) device.multiprocessors = figure(100);
  device.peak[static_cast<std::size_t>(Arithmetic::fp32)] = figure(1e13);
  device.peak[static_cast<std::size_t>(Arithmetic::tf32)] = figure(1e14);
  return device;
}

/// A convolution with an unfriendly name, and what follows it.
TensorId hostile(Builder& b) {
  const TensorId x = b.add("Conv", "<script>alert(1)</script>",
                           {input(b, "x", {2, 3, 9, 7}), b.parameter("weight", {4, 3, 3, 3})},
                           {{"strides", {2, 1}}, {"pads", {0, 1, 0, 1}}});
  return b.add("Relu", "relu", {x});
}

/// What a report looks at.
struct Profiled {
  Built net;
  program::Program program;
  estimate::Profile profile;
  std::optional<estimate::ProfileDemand> demand;

  explicit Profiled(network::Mode mode, const hardware::Device& device = some_gpu()) : net(built(hostile)) {
    const network::Setting setting{.mode = mode, .loss = network::Loss::mean_square};
    const estimate::Target target{&device};
    program = program::lower(net.network, net.shapes, setting, target.platform(setting)).value();
    profile = estimate::profile(program, setting, target).value();
    demand = estimate::demand_of(profile, program, device);
  }
  [[nodiscard]] KernelReport report() const {
    return {&net.network, &program, &profile, demand ? &*demand : nullptr};
  }
};

TEST(KernelReport, HasEveryKernelInTheOrderOfItsPhase) {
  const Profiled step(network::Mode::train);
  const nlohmann::ordered_json kernels = kernels_json(step.report());
  ASSERT_EQ(kernels.size(), step.profile.kernels.size());
  EXPECT_EQ(kernels.front().at("phase"), "forward");
  EXPECT_EQ(kernels.back().at("phase"), "step");
  EXPECT_EQ(kernels.back().at("layer"), "optimizer");
  double end = 0;
  for (const auto& kernel : kernels) {
    EXPECT_NEAR(kernel.at("begin_seconds").get<double>(), end, 1e-12);
    end += kernel.at("seconds").get<double>();
    EXPECT_LE(kernel.at("low_seconds"), kernel.at("seconds"));
    EXPECT_GE(kernel.at("high_seconds"), kernel.at("seconds"));
    EXPECT_GE(kernel.at("demand").at("blocks"), 1);
  }
  EXPECT_NEAR(end, step.profile.seconds.value(), 1e-12);
}

TEST(KernelReport, NamesTheExtentsOfAWindow) {
  const nlohmann::ordered_json kernels = kernels_json(Profiled(network::Mode::infer).report());
  const auto& extents = kernels.front().at("extents");
  EXPECT_EQ(extents.at("out_height"), 4) << "9 rows, windows of 3, every second, no padding";
  EXPECT_EQ(extents.at("out_width"), 7);
  EXPECT_EQ(extents.at("stride"), 2);
  EXPECT_EQ(extents.at("stride_width"), 1);
  EXPECT_EQ(kernels.front().at("flops"), 2.0 * 2 * 4 * 4 * 7 * 27);
}

TEST(KernelReport, SaysNothingOfAGpuWhoseMultiprocessorsAreUnknown) {
  const Profiled pass(network::Mode::infer, some_gpu(false));
  EXPECT_TRUE(activity_json(pass.report()).is_null());
  EXPECT_TRUE(kernels_json(pass.report()).front().at("demand").is_null());
  EXPECT_THAT(kernels_text(pass.report(), {.width = 200}), Not(HasSubstr("SMs")));
}

TEST(KernelPage, ShowsNamesAsText) {
  const std::string page = kernel_page(Profiled(network::Mode::train).report(), "<b>a model</b>");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>a model")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("bound by"));
}

/// Every kernel is as long in the drawing as it takes, also where it reaches over the end of a line.
TEST(KernelPage, DrawsAllOfTheTime) {
  const Profiled step(network::Mode::train);
  const std::string page = kernel_page(step.report(), "model");
  double width = 0;
  std::size_t bars = 0;
  for (std::size_t at = page.find("<rect "); at != page.npos; at = page.find("<rect ", at + 1)) {
    width += std::strtod(page.c_str() + page.find("width=\"", at) + 7, nullptr);
    ++bars;
  }
  EXPECT_GE(bars, step.profile.kernels.size());
  const double lines = std::max(1.0, std::floor(static_cast<double>(step.profile.kernels.size()) / 12));
  EXPECT_NEAR(width / (lines * (1000 - 86)), 1, 0.02);
}

}  // namespace
}  // namespace plimsoll::report
