#include "plan/several.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"
#include "network/batch.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::plan {
namespace {

using network::Mode;
using network::Optimizer;
using network::Precision;
using testing::HasSubstr;

const hardware::Device& listed(std::string_view id) {
  for (const hardware::Device& device : hardware::built_in_catalogue()->devices())
    if (device.id == id) return device;
  ADD_FAILURE() << id;
  return hardware::built_in_catalogue()->devices().front();
}

network::Setting training() {
  return {.mode = Mode::train, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
}

SeveralDevices asked(std::string_view spec, const network::Setting& setting, const hardware::Device& device,
                     std::int64_t batch = 1) {
  const network::Network network = network::zoo::build(spec, setting.mode).value();
  const auto shapes = [&](std::int64_t n) -> Result<network::Shapes> {
    auto binding = network::bind(network, {.batch = n, .sequence = 128});
    if (!binding) binding = network::bind(network, {.batch = n});  // of images
    if (!binding) return std::unexpected(binding.error());
    return network::infer(network, *binding);
  };
  const auto several = several_devices(network, shapes, batch, setting, {&device, nullptr});
  EXPECT_TRUE(several) << several.error().text();
  return several.value_or(SeveralDevices());
}

const Way& way(const SeveralDevices& several, Parallelism how) {
  const auto found = std::ranges::find(several.ways, how, &Way::how);
  EXPECT_NE(found, several.ways.end()) << name(how);
  return found == several.ways.end() ? several.ways.front() : *found;
}

TEST(Several, EveryNumberOfStagesIsTried) {
  network::Setting setting = training();
  setting.optimizer = Optimizer::momentum;
  for (const std::string_view spec : {"gpt3:layers=60", "gpt3:layers=17"})
    EXPECT_TRUE(way(asked(spec, setting, listed("l40s")), Parallelism::pipeline).devices) << spec;
}

TEST(Several, NeverProposesWhatMayNotFit) {
  for (const std::string_view spec : {"llama3_70b:layers=20", "gpt3:layers=24", "bert_large"})
    for (const std::string_view id : {"h200", "t4", "l4"})
      for (const bool trains : {true, false}) {
        const hardware::Device& device = listed(id);
        network::Setting setting = training();
        if (!trains) setting = {.precision = Precision::bf16};
        const SeveralDevices several = asked(spec, setting, device);
        const std::string where = fmt::format("{} on {}, {}", spec, id, network::name(setting.mode));
        for (const Way& one : several.ways) {
          if (!one.devices) {
            EXPECT_FALSE(one.reason.empty()) << where;
            continue;
          }
          EXPECT_LE(one.upper_device, *hardware::capacity(device)) << where << ' ' << name(one.how);
          EXPECT_LE(one.minimum_device, one.upper_device) << where;
          EXPECT_EQ(one.seconds.has_value(), one.no_time.empty()) << where;
          EXPECT_LE(*one.devices, 4096);
          EXPECT_LE(one.tensor, 8);
          EXPECT_TRUE(*one.devices <= 8 || !one.seconds) << where << ": nothing is known between machines";
        }
        if (!several.best) continue;
        const std::int64_t fewest = *several.ways[*several.fewest].devices;
        for (const Way& one : several.ways) EXPECT_GE(one.devices.value_or(fewest), fewest) << where;
      }
}

TEST(Several, ZeroThreeOfLlamaDividesWhatZeroTwoCannot) {
  const SeveralDevices several = asked("llama3_70b", training(), listed("h200"));
  EXPECT_EQ(way(several, Parallelism::zero3).devices, 16);
  EXPECT_FALSE(way(several, Parallelism::zero1).devices);
  EXPECT_FALSE(way(several, Parallelism::zero2).devices) << "each keeps all weights in fp32";
  // 16 bytes per parameter, four more for the step's temporaries, over 140 GiB: ten at least.
  EXPECT_GE(*way(several, Parallelism::pipeline).devices, 10);
  EXPECT_LE(*way(several, Parallelism::pipeline).devices, 13);
}

TEST(Several, TensorPartsDivideTheHeadsAndTheTime) {
  const network::Setting setting{.precision = Precision::bf16};
  const SeveralDevices several = asked("gpt3", setting, listed("h200"));
  const Way& tensor = way(several, Parallelism::tensor);
  EXPECT_EQ(tensor.devices, 3) << "96 heads; 350 GB of weights over 141 GB";
  const Way& pipeline = way(several, Parallelism::pipeline);
  ASSERT_TRUE(tensor.seconds && pipeline.seconds);
  EXPECT_LT(*tensor.seconds, *pipeline.seconds) << "stages wait for each other";
  EXPECT_NEAR(*pipeline.samples_per_second * pipeline.seconds->value(), 1, 1e-9) << "of one cache";
  EXPECT_THAT(several.why, HasSubstr("fewest"));
}

TEST(Several, StagesWorkOnOtherBatchesWhereNoneKeepsACache) {
  const network::Setting setting{.precision = Precision::bf16, .key_value_cache = false};
  const Way pipeline = way(asked("gpt3", setting, listed("h200")), Parallelism::pipeline);
  ASSERT_TRUE(pipeline.seconds);
  EXPECT_GT(*pipeline.samples_per_second, 1.9 / pipeline.seconds->value());
}

TEST(Several, ALinkThatIsGivenTellsTheTime) {
  network::Setting setting = training();
  EXPECT_FALSE(way(asked("llama3_70b", setting, listed("t4")), Parallelism::tensor_pipeline).seconds);
  setting.interconnect.bandwidth = 10e9;
  const SeveralDevices several = asked("llama3_70b", setting, listed("t4"));
  const Way& both = way(several, Parallelism::tensor_pipeline);
  ASSERT_TRUE(both.seconds);
  EXPECT_LT(*both.low, *both.seconds);
  EXPECT_GT(*both.high, *both.seconds);
  EXPECT_EQ(*both.devices, both.tensor * both.pipeline);
}

TEST(Several, ABatchIsDividedAmongThoseThatTrainParts) {
  network::Setting setting{.mode = Mode::train};
  const SeveralDevices several = asked("resnet50", setting, listed("t4"), 2048);
  const Way& data = way(several, Parallelism::data);
  EXPECT_EQ(data.devices, 16);
  EXPECT_EQ(data.local_batch, 128);
  EXPECT_THAT(way(several, Parallelism::tensor).reason, HasSubstr("no attention"));
}

TEST(Several, BestInTrainingIsWhatEachGpuDoesMostWith) {
  network::Setting setting = training();
  setting.interconnect.bandwidth = 400e9;
  const SeveralDevices several = asked("llama3_70b", setting, listed("h200"));
  ASSERT_TRUE(several.best && several.fewest);
  EXPECT_EQ(several.ways[*several.fewest].how, Parallelism::pipeline);
  EXPECT_EQ(several.ways[*several.best].how, Parallelism::zero3)
      << "one sequence at a time leaves all stages but one idle";
  EXPECT_THAT(several.why, HasSubstr("samples a second"));
}

}  // namespace
}  // namespace plimsoll::plan
