#include "program/tensor_parallel.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "network/zoo/zoo.hpp"
#include "program/launches.hpp"
#include "program/lowering.hpp"
#include "program/stages.hpp"

namespace plimsoll::program {
namespace {

using network::Mode;

constexpr std::int64_t kBatch = 2, kTokens = 64;

struct Lowered {
  network::Network network;
  network::Shapes shapes;
  network::Setting setting;
  Program program;
};
Lowered lowered(std::string_view spec, Mode mode = Mode::train) {
  Lowered out;
  out.network = network::zoo::build(spec, mode).value();
  auto bound = network::bind(out.network, {.batch = kBatch, .sequence = kTokens});
  const auto binding = bound ? *bound : network::bind(out.network, {.batch = kBatch}).value();  // of images
  out.shapes = network::infer(out.network, binding).value();
  out.setting = {.mode = mode, .precision = network::Precision::bf16};
  out.program = lower(out.network, out.shapes, out.setting, {}).value();
  return out;
}

double flops(const Program& program, const network::Setting& setting) {
  double sum = 0;
  for (const Launch& launch : launches(program, setting))
    sum += hardware::work_of(program.kernels[launch.kernel]).macs;
  return sum;
}

std::int64_t weights(const Program& program) {
  std::int64_t sum = 0;
  for (const ValueId id : program.parameters) sum += program.value(id).bytes();
  return sum;
}

TEST(Layers, AreTheModulesOfAList) {
  const Lowered gpt = lowered("gpt2:layers=3");
  // Words, positions, three blocks, the last norm, and words again for the logits; what stands in one module
  // and follows each other is one.
  const auto& layers = gpt.program.layers;
  ASSERT_GE(layers.size(), 5U);
  ASSERT_LE(layers.size(), 8U);
  std::vector<bool> read(gpt.program.storages.size(), false);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_LE(layers[i].first, layers[i].last);
    if (i > 0) {
      EXPECT_LT(layers[i - 1].last, layers[i].first);
    }
    for (std::uint32_t w = 0; w < layers[i].weights.count; ++w)
      read[static_cast<std::size_t>(gpt.program.weights_of[layers[i].weights.begin + w])] = true;
  }
  for (const ValueId id : gpt.program.parameters)
    EXPECT_TRUE(read[static_cast<std::size_t>(gpt.program.value(id).storage)]);
}

TEST(TensorParallel, DividesProductsHeadsAndWhatIsBetween) {
  const Lowered gpt = lowered("gpt2:layers=3");
  const LayerDivision division = divide_layers(gpt.network, gpt.shapes);
  EXPECT_EQ(division.heads, 12);
  // Two sums of batch x tokens x width in a block, and the words'. Backward two in a block, and the logits'.
  EXPECT_EQ(division.forward_elements, (2 * 3 + 1) * kBatch * kTokens * 768);
  EXPECT_EQ(division.backward_elements, (2 * 3 + 1) * kBatch * kTokens * 768);
  EXPECT_EQ(division.sums, 2 * 3 + 1);
  EXPECT_EQ(division.output_elements, kBatch * kTokens * 50257) << "each has logits of some words";
  for (const std::int64_t parts : {2, 4}) {
    const Program part = tensor_part(gpt.program, division, parts);
    const double whole = flops(gpt.program, gpt.setting);
    EXPECT_NEAR(flops(part, gpt.setting), whole / static_cast<double>(parts), 0.01 * whole);
    // Positions, norms and biases stay whole: a hundredth of the words.
    EXPECT_NEAR(static_cast<double>(weights(part)),
                static_cast<double>(weights(gpt.program)) / static_cast<double>(parts),
                0.02 * static_cast<double>(weights(gpt.program)));
  }
  EXPECT_EQ(weights(tensor_part(gpt.program, division, 1)), weights(gpt.program));
}

TEST(TensorParallel, HeadsOfKeysBoundTheParts) {
  const Lowered llama = lowered("llama3_8b:layers=2,vocabulary=1000", Mode::infer);
  const LayerDivision division = divide_layers(llama.network, llama.shapes);
  EXPECT_EQ(division.heads, 8) << "of 32 queries' heads 4 share one of keys and values";
  EXPECT_EQ(division.forward_elements, (2 * 2 + 1) * kBatch * kTokens * 4096);
  const Program part = tensor_part(llama.program, division, 8);
  ASSERT_EQ(part.caches.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(part.caches[i].bytes_per_token, llama.program.caches[i].bytes_per_token / 8);
    EXPECT_EQ(part.caches[i].context_bytes, llama.program.caches[i].context_bytes / 8);
  }
}

TEST(TensorParallel, HeadsOfKeysAreDividedWithThoseOfQueries) {
  const Lowered llama = lowered("llama3_8b:layers=1,vocabulary=1000", Mode::infer);
  const Program part = tensor_part(llama.program, divide_layers(llama.network, llama.shapes), 8);
  int seen = 0;
  for (std::size_t i = 0; i < part.kernels.size(); ++i) {
    if (part.kernels[i].operator_class != hardware::OperatorClass::grouped_attention) continue;
    ++seen;
    const hardware::OperatorWork whole = hardware::work_of(llama.program.kernels[i]),
                                 of_part = hardware::work_of(part.kernels[i]);
    EXPECT_EQ(of_part.macs * 8, whole.macs);
    EXPECT_EQ(of_part.bytes() * 8, whole.bytes());
  }
  EXPECT_EQ(seen, 1);
}

TEST(TensorParallel, FindsNothingInConvolutions) {
  const Lowered resnet = lowered("resnet18");
  const LayerDivision division = divide_layers(resnet.network, resnet.shapes);
  EXPECT_EQ(division.heads, 0);
}

TEST(Stages, TogetherAreTheWhole) {
  for (const std::string_view spec : {"gpt2:layers=6", "resnet18", "bert_base"}) {
    SCOPED_TRACE(spec);
    const Lowered net = lowered(spec);
    const std::vector<double> costs(net.program.calls.size(), 1);
    const std::vector<std::uint32_t> starts = balanced_stages(net.program, costs, 4);
    ASSERT_EQ(starts.size(), 4U);
    EXPECT_EQ(starts.front(), 0U);
    double sum = 0;
    std::vector<ValueId> parameters;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto end = i + 1 < starts.size() ? starts[i + 1] : net.program.calls.size();
      const Program part = stage(net.program, starts[i], static_cast<std::uint32_t>(end));
      sum += flops(part, net.setting);
      parameters.insert(parameters.end(), part.parameters.begin(), part.parameters.end());
      EXPECT_LT(weights(part), weights(net.program));
    }
    EXPECT_DOUBLE_EQ(sum, flops(net.program, net.setting));
    std::ranges::sort(parameters);
    const auto twice = std::ranges::unique(parameters);
    parameters.erase(twice.begin(), twice.end());
    EXPECT_EQ(parameters.size(), net.program.parameters.size()) << "words may be in the first and the last";
  }
}

TEST(Stages, PassOnTheResidualStream) {
  const Lowered gpt = lowered("gpt2:layers=6");
  const std::uint32_t third = gpt.program.layers[gpt.program.layers.size() / 2].first;
  const Crossing crossing_there = crossing(gpt.program, third);
  // The stream, and what the code still has a name for: at most as much again.
  EXPECT_GE(crossing_there.gradient_bytes, kBatch * kTokens * 768 * 2);
  EXPECT_LE(crossing_there.gradient_bytes, 2 * kBatch * kTokens * 768 * 2);
  EXPECT_GE(crossing_there.bytes, crossing_there.gradient_bytes) << "a mask may go with it";
}

TEST(Stages, AreNoMoreThanLayersAllow) {
  const Lowered gpt = lowered("gpt2:layers=2");
  const std::vector<double> costs(gpt.program.calls.size(), 1);
  EXPECT_EQ(balanced_stages(gpt.program, costs, 1).size(), 1U);
  EXPECT_LE(balanced_stages(gpt.program, costs, 1000).size(), gpt.program.layers.size());
}

}  // namespace
}  // namespace plimsoll::program
