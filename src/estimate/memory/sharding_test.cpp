#include "estimate/memory/sharding.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimate/memory/allocations.hpp"
#include "network/zoo/zoo.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {
namespace {

using network::Mode;
using network::Optimizer;
using network::Precision;
using network::Sharding;

Program lowered(std::string_view spec, const network::Setting& setting) {
  const auto network = network::zoo::build(spec, setting.mode).value();
  const auto binding = network::bind(network, {.batch = 2}).value();
  return program::lower(network, network::infer(network, binding).value(), setting, {}).value();
}

network::Setting adam(Sharding sharding, int devices, Precision precision = Precision::amp_bf16) {
  return {.mode = Mode::train,
          .precision = precision,
          .optimizer = Optimizer::adam,
          .devices = devices,
          .sharding = sharding};
}

/// Bytes by purpose, the most that there are at once of each, and those at the end.
struct Followed {
  std::array<std::int64_t, program::kPurposes> most{}, end{};
  [[nodiscard]] std::int64_t at_end(Purpose p) const { return end[static_cast<std::size_t>(p)]; }
  [[nodiscard]] std::int64_t at_most(Purpose p) const { return most[static_cast<std::size_t>(p)]; }
};
Followed followed(const Program& program, const network::Setting& setting) {
  const Allocations made = allocations_of(program, setting, 0);
  Followed out;
  for (const Event& event : made.events) {
    const Buffer& buffer = made.buffers[event.buffer];
    const auto i = static_cast<std::size_t>(buffer.purpose);
    out.end[i] += event.kind == Event::Kind::free ? -buffer.bytes : buffer.bytes;
    out.most[i] = std::max(out.most[i], out.end[i]);
  }
  return out;
}

// ---- What stays

TEST(ModelState, NeverGrowsWithTheStageOrTheNumberOfGpus) {
  constexpr Sharding kStages[] = {Sharding::none, Sharding::data_parallel, Sharding::zero1, Sharding::zero2,
                                  Sharding::zero3};
  constexpr int kGpus[] = {1, 2, 3, 4, 7, 8, 16, 64, 100, 1024, 4096, 1 << 20};
  for (const auto& entry : network::zoo::entries())
    for (const Precision precision : {Precision::fp32, Precision::amp_bf16, Precision::bf16}) {
      const Program program = lowered(entry.name, {.mode = Mode::train, .precision = precision});
      for (const Optimizer optimizer :
           {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw}) {
        const auto state = [&](Sharding stage, int gpus) {
          network::Setting setting = adam(stage, gpus, precision);
          setting.optimizer = optimizer;
          return model_state(program, setting).all();
        };
        const Bytes alone = state(Sharding::none, 1);
        for (const Sharding stage : kStages) {
          Bytes before = alone;
          for (const int gpus : kGpus) {
            const Bytes now = state(stage, gpus);
            EXPECT_LE(now, before) << entry.name << ' ' << network::name(stage) << " on " << gpus;
            before = now;
          }
        }
        for (const int gpus : kGpus) {
          Bytes before = alone;
          for (const Sharding stage : kStages) {
            const Bytes now = state(stage, gpus);
            EXPECT_LE(now, before) << entry.name << ' ' << network::name(stage) << " on " << gpus;
            before = now;
          }
        }
      }
    }
}

TEST(ModelState, IsWhatTheSimulationKeeps) {
  for (const std::string_view spec : {"resnet18", "gpt2:layers=2", "vit_b_16"})
    for (const Precision precision : {Precision::fp32, Precision::amp_bf16})
      for (const Sharding stage :
           {Sharding::data_parallel, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, network::name(precision), network::name(stage)));
        const network::Setting setting = adam(stage, 8, precision);
        const Program program = lowered(spec, setting);
        const ModelState state = model_state(program, setting);
        const Followed kept = followed(program, setting);
        EXPECT_EQ(kept.at_end(Purpose::weight), state.weights.count());
        // A token's gradient may be a part of the positions'.
        EXPECT_LE(kept.at_end(Purpose::gradient), state.gradients.count());
        EXPECT_GE(kept.at_end(Purpose::gradient), state.gradients.count() * 99 / 100);
        EXPECT_EQ(kept.at_end(Purpose::optimizer), state.optimizer.count());
        EXPECT_EQ(kept.at_end(Purpose::gathered), 0);
      }
}

/// docs/parallel.md: 4 bytes of weights, 4 of gradients and 8 of Adam's state per parameter, divided.
TEST(ModelState, OfGpt3On1024GpusIsSixteenBytesPerParameterDivided) {
  const network::Setting setting = adam(Sharding::zero3, 1024);
  const Program program = lowered("gpt3", setting);
  double parameters = 0;
  for (const program::ValueId id : program.parameters)
    parameters += static_cast<double>(program.value(id).elements);
  EXPECT_NEAR(parameters, 174.6e9, 0.1e9);
  const double formula = 16 * parameters / 1024;
  EXPECT_NEAR(static_cast<double>(model_state(program, setting).all().count()), formula, 0.05 * formula);
  const Followed kept = followed(program, setting);
  const auto kept_bytes =
      kept.at_end(Purpose::weight) + kept.at_end(Purpose::gradient) + kept.at_end(Purpose::optimizer);
  EXPECT_NEAR(static_cast<double>(kept_bytes), formula, 0.05 * formula);
}

// ---- What comes and goes

TEST(Sharding, GathersALayerAndTheNextInHalfPrecision) {
  const network::Setting setting = adam(Sharding::zero3, 8);
  const Program program = lowered("gpt2:layers=4", setting);
  const ShardedProgram divided = shard(program, setting);
  ASSERT_EQ(divided.gathered.size(), program.layers.size());
  std::int64_t two = 0, all = 0;
  for (std::size_t i = 0; i + 1 < divided.gathered.size(); ++i)
    two = std::max(two, divided.gathered[i] + divided.gathered[i + 1]);
  for (const std::int64_t bytes : divided.gathered) all += bytes;
  const Followed kept = followed(program, setting);
  EXPECT_EQ(kept.at_most(Purpose::gathered), two);
  EXPECT_LT(two, all);
  const network::Setting full = adam(Sharding::zero3, 8, Precision::fp32);
  std::int64_t wide = 0;
  for (const std::int64_t bytes : shard(lowered("gpt2:layers=4", full), full).gathered) wide += bytes;
  EXPECT_GT(wide, all * 19 / 10) << "norms and positions alone are not halved";
}

TEST(Sharding, ReducesTheGradientsOfALayerAtOnce) {
  const network::Setting setting = adam(Sharding::zero2, 8, Precision::fp32);
  const Program program = lowered("gpt2:layers=4", setting);
  std::int64_t largest = 0;
  for (const program::Layer& layer : program.layers) {
    std::int64_t bytes = 0;
    for (std::uint32_t i = 0; i < layer.weights.count; ++i)
      bytes += program.storage(program.weights_of[layer.weights.begin + i]).bytes;
    largest = std::max(largest, bytes);
  }
  const Followed kept = followed(program, setting);
  EXPECT_GE(kept.at_most(Purpose::bucket), largest);
  EXPECT_LE(kept.at_most(Purpose::bucket), 3 * largest) << "its gradients, their bucket, and the one before";
  EXPECT_EQ(kept.at_end(Purpose::bucket), 0);
}

TEST(Sharding, SumsOfWholeGradientsKeepBuckets) {
  for (const Sharding stage : {Sharding::none, Sharding::data_parallel, Sharding::zero1}) {
    const network::Setting setting = adam(stage, 8, Precision::fp32);
    const Program program = lowered("resnet18", setting);
    const Followed kept = followed(program, setting);
    EXPECT_EQ(kept.at_end(Purpose::bucket), kept.at_end(Purpose::gradient));
  }
}

TEST(Sharding, RecomputedSegmentsGatherTheirWeightsToo) {
  network::Setting setting = adam(Sharding::zero3, 8);
  setting.checkpoint = true;
  const Program program = lowered("gpt2", setting);
  const Followed kept = followed(program, setting);
  EXPECT_EQ(kept.at_end(Purpose::gathered), 0);
  EXPECT_EQ(kept.at_end(Purpose::gradient), model_state(program, setting).gradients.count());
}

}  // namespace
}  // namespace plimsoll::estimate
