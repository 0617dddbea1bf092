// What the engine holds while it runs: as long as the framework's own code would, not only as the graph
// needs.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "engine/counting_allocator.hpp"
#include "engine/executor.hpp"
#include "network/builder.hpp"

namespace plimsoll::engine {
namespace {

using network::TensorId;

constexpr std::int64_t kChannels = 4096;
constexpr std::int64_t kBytes = kChannels * 4;

/// A layer of DenseNet, with cheap operators in place of its own, between two features and their joining.
network::Network dense_layer() {
  network::Builder b("dense layer");
  b.opset("", 17);
  const TensorId x =
      b.input("x", network::DataType::float32, {network::Dim::of(1), network::Dim::of(kChannels)});
  const TensorId first = b.add("Tanh", "first", {x}), second = b.add("Sin", "second", {first});
  const TensorId whole = b.add("Concat", "layer.concat", {first, second}, {{"axis", 1}});
  const TensorId norm = b.add("Sin", "layer.norm1", {whole});
  const TensorId relu = b.add("Cos", "layer.relu1", {norm});
  const TensorId made = b.add("Tanh", "layer.conv1", {relu});
  b.output(b.add("Concat", "joined", {first, second, made}, {{"axis", 1}}));
  return std::move(b).finish();
}

TEST(Lifetimes, ALayersConcatenationStaysWhileTheLayerWorksOnIt) {
  const at::AutoGradMode no_gradients(false);
  CpuBytes& bytes = count_cpu_bytes();
  const network::Network n = dense_layer();
  const auto shapes = network::infer(n, *network::bind(n, {}));
  ASSERT_TRUE(shapes) << shapes.error().text();
  std::vector<Unexecutable> missing;
  auto routine = make_routine(n, *shapes, {}, missing);
  ASSERT_TRUE(routine && missing.empty());
  Executor executor(std::move(*routine), at::kCPU);
  executor.settle_numbers();
  const std::vector<std::pair<TensorId, at::Tensor>> inputs = {
      {n.main().inputs[0], at::ones({1, kChannels})}};
  std::vector<std::int64_t> held;  // after each step, in features
  const std::int64_t before = bytes.allocated;
  executor.after_instruction = [&](std::size_t) { held.push_back((bytes.allocated - before) / kBytes); };
  EXPECT_EQ(executor.run(inputs).size(), 1u);
  // Two features; joined; norm1 and relu1 beside them, one for the other; then conv1 alone; all joined.
  EXPECT_EQ(held, (std::vector<std::int64_t>{1, 2, 4, 6, 6, 4, 4}));
}

}  // namespace
}  // namespace plimsoll::engine
