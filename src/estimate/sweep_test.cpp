#include "estimate/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/test_estimates.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/operator_curve.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Device;
using network::Mode;
using ::testing::HasSubstr;

Device listed(std::string_view name) {
  const auto found = hardware::built_in_catalogue().value().find(name);
  EXPECT_TRUE(found) << found.error().text();
  return found ? **found : Device{};
}

struct Model {
  network::Network network;

  explicit Model(Mode mode) : network(network::zoo::build("resnet18", mode).value()) {}
  [[nodiscard]] ShapesForBatch shapes() const {
    return [this](std::int64_t batch) -> Result<network::Shapes> {
      network::BindingRequest request;
      request.batch = batch;
      const Result<network::Binding> binding = network::bind(network, request);
      PLIMSOLL_TRY(binding);
      return network::infer(network, *binding);
    };
  }
};

/// The few convolutions that say how the rest goes.
hardware::OperatorCurves some_curves() {
  std::vector<hardware::OperatorPoint> points;
  for (const std::int64_t batch : {1, 8, 64})
    for (const std::int64_t channels : {64, 256})
      points.push_back({.what = {hardware::OperatorClass::convolution,
                                 hardware::Direction::forward,
                                 hardware::Arithmetic::tf32,
                                 {batch, channels, 28, 28, channels, 3, 3, 1, 1}},
                        .seconds = 1e-5 + 1e-7 * static_cast<double>(batch * channels),
                        .workspace = 1e6});
  return hardware::OperatorCurves(points);
}

class SweepAgainstSingles : public ::testing::TestWithParam<Mode> {};

/// What devices share must not show: each point is what the estimates of that batch and device alone say.
TEST_P(SweepAgainstSingles, GivesTheSameFigures) {
  const Model model(GetParam());
  const hardware::OperatorCurves curves = some_curves();
  Device processor{.id = "cpu", .name = "A CPU", .kind = hardware::DeviceKind::cpu};
  processor.memory = hardware::DeviceFigure{0.3e9};
  const std::vector<Device> devices = {listed("h200"), listed("t4"), listed("a100-40-sxm"), processor};
  const std::vector<Target> targets = {{&devices[0], &curves}, {&devices[1]}, {&devices[2]}, {&devices[3]}};
  network::Setting setting;
  setting.mode = GetParam();
  setting.optimizer = network::Optimizer::adam;
  const std::vector<std::int64_t> batches = {1, 7, 256};
  const auto swept = sweep(model.network, model.shapes(), batches, setting, targets, 2);
  ASSERT_TRUE(swept) << swept.error().text();
  ASSERT_EQ(swept->size(), targets.size());
  for (std::size_t d = 0; d < targets.size(); ++d)
    for (std::size_t b = 0; b < batches.size(); ++b) {
      SCOPED_TRACE(devices[d].id + " " + std::to_string(batches[b]));
      const SweepPoint& point = (*swept)[d].points.at(b);
      const network::Shapes shapes = model.shapes()(batches[b]).value();
      const MemoryEstimate memory = memory_of(model.network, shapes, setting, targets[d]).value();
      EXPECT_EQ(point.batch, batches[b]);
      EXPECT_EQ(point.peak_allocated, memory.peak_allocated);
      EXPECT_EQ(point.device_used, memory.device_used());
      EXPECT_EQ(point.fits, memory.fits);
      const auto time = time_of(model.network, shapes, setting, targets[d]);
      ASSERT_EQ(point.time.has_value(), time.has_value());
      EXPECT_EQ((*swept)[d].no_time, time ? "" : time.error().text());
      if (!time) continue;
      EXPECT_EQ(point.time->seconds, time->seconds);
      EXPECT_EQ(point.time->high, time->high);
      EXPECT_EQ(point.time->joules, time->joules);
      EXPECT_EQ(point.time->provenance, time->provenance);
      EXPECT_TRUE(point.time->layers.empty());
    }
  EXPECT_THAT((*swept)[3].no_time, HasSubstr("A CPU has no figures"));
}
INSTANTIATE_TEST_SUITE_P(Modes, SweepAgainstSingles, ::testing::Values(Mode::infer, Mode::train));

TEST(Sweep, IsTheSameOnOneThreadAndOnMany) {
  const Model model(Mode::infer);
  const Device device = listed("t4");
  const std::vector<Target> targets = {{&device}};
  const std::vector<std::int64_t> batches = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto alone = sweep(model.network, model.shapes(), batches, {}, targets, 1);
  const auto many = sweep(model.network, model.shapes(), batches, {}, targets, 16);
  ASSERT_TRUE(alone && many);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ((*many)[0].points[i].batch, batches[i]);
    EXPECT_EQ((*many)[0].points[i].time->seconds, (*alone)[0].points[i].time->seconds);
  }
}

TEST(Sweep, FailsAsTheSmallestBatchThatFails) {
  const Model model(Mode::infer);
  const Device device = listed("t4");
  const std::vector<Target> targets = {{&device}};
  const auto shapes = [&](std::int64_t batch) -> Result<network::Shapes> {
    if (batch > 2) return fail("no shape of {}", batch);
    return model.shapes()(batch);
  };
  const auto swept = sweep(model.network, shapes, std::vector<std::int64_t>{1, 2, 3, 4, 5}, {}, targets, 4);
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().message, "no shape of 3");
}

SweepPoint point(std::int64_t batch, double seconds, std::optional<bool> fits = true) {
  SweepPoint out{.batch = batch, .peak_allocated = {}, .device_used = {}, .fits = fits, .time = {}};
  if (seconds > 0) {
    out.time.emplace();
    out.time->seconds = Seconds(seconds);
  }
  return out;
}

TEST(SweptDevice, FindsBestKneeAndLimit) {
  // 1, 1.9, 3.2, 3.5 (of 4 s), then more that does not fit.
  const SweptDevice device{
      {point(1, 1), point(2, 2 / 1.9), point(4, 4 / 3.2), point(8, 8 / 3.5), point(16, 2, false)}, ""};
  EXPECT_EQ(device.best()->batch, 8);
  EXPECT_EQ(device.knee()->batch, 4);  // 3.2 of 3.5 are 91 %
  EXPECT_EQ(device.last_that_fits()->batch, 8);
  EXPECT_EQ(device.first_too_large()->batch, 16);
}

TEST(SweptDevice, EqualThroughputIsReachedFirst) {
  const SweptDevice device{{point(1, 1), point(2, 2 * (1 - 1e-12)), point(4, 4)}, ""};
  EXPECT_EQ(device.best()->batch, 1);
  EXPECT_EQ(device.knee()->batch, 1);
}

TEST(SweptDevice, UnknownStaysUnknown) {
  const SweptDevice without_memory{{point(1, 1, {}), point(2, 1, {})}, ""};
  EXPECT_EQ(without_memory.last_that_fits(), nullptr);
  EXPECT_EQ(without_memory.first_too_large(), nullptr);
  EXPECT_EQ(without_memory.best()->batch, 2);
  const SweptDevice without_time{{point(1, 0), point(2, 0, false)}, "why"};
  EXPECT_EQ(without_time.best(), nullptr);
  EXPECT_EQ(without_time.knee(), nullptr);
  EXPECT_EQ(without_time.last_that_fits()->batch, 1);
  const SweptDevice nothing_fits{{point(4, 1, false)}, ""};
  EXPECT_EQ(nothing_fits.best(), nullptr);
  EXPECT_EQ(nothing_fits.last_that_fits(), nullptr);
}

}  // namespace
}  // namespace plimsoll::estimate
