#include "quantize/rewrite.hpp"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>

#include "network/builder.hpp"
#include "network/inference.hpp"
#include "network/quantized.hpp"

namespace plimsoll::quantize {
namespace {

using network::Builder;
using network::DataType;
using network::Dim;
using network::kNoTensor;
using network::Network;
using network::QuantizedLayer;
using network::TensorId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> types_of(const Network& n) {
  std::vector<std::string> out;
  for (const network::Operator& op : n.main().operators) out.emplace_back(n.type_of(op));
  return out;
}

/// What each stored tensor holds: all of one number, by name.
ReadFloats filled(const Network& n, std::map<std::string, float> numbers) {
  return [&n, numbers](TensorId id) -> Result<std::vector<float>> {
    std::size_t count = 1;
    for (const Dim d : n.dims_of(n.tensor(id))) count *= static_cast<std::size_t>(d.value());
    const auto found = numbers.find(std::string(n.name_of(id)));
    return std::vector<float>(count, found == numbers.end() ? 0.5F : found->second);
  };
}

/// Convolution, normalisation, ReLU; max pooling; a second convolution that is added to what it reads; head.
Network small_network(int opset = 13) {
  Builder b("small");
  b.opset("", opset);
  TensorId x = b.input("x", DataType::float32, {Dim::of(1), Dim::of(3), Dim::of(8), Dim::of(8)});
  x = b.add("Conv", "conv1", {x, b.parameter("w1", {4, 3, 3, 3})}, {{"pads", {1, 1, 1, 1}}});
  x = b.add("BatchNormalization", "bn",
            {x, b.parameter("scale", {4}), b.parameter("shift", {4}), b.buffer("mean", {4}),
             b.buffer("variance", {4})},
            {{"epsilon", 0.0}});
  x = b.add("Relu", "relu", {x});
  x = b.add("MaxPool", "pool", {x}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
  TensorId y = b.add("Conv", "conv2", {x, b.parameter("w2", {4, 4, 1, 1}), b.parameter("b2", {4})});
  y = b.add("Add", "sum", {y, x});
  y = b.add("Relu", "relu2", {y});
  y = b.add("Conv", "conv3", {y, b.parameter("w3", {2, 4, 4, 4})});
  y = b.add("Flatten", "flat", {y});
  b.output(b.add("Gemm", "head", {y, b.parameter("w4", {5, 2}), b.parameter("b4", {5})}, {{"transB", 1}}));
  return std::move(b).finish();
}

std::map<TensorId, Range> ranges_of(const std::vector<Layer>& layers, Range range = {-1, 3}) {
  std::map<TensorId, Range> out;
  for (const TensorId id : tensors_of(layers)) out[id] = range;
  return out;
}

TEST(ForInference, NormalisationGoesIntoItsConvolution) {
  const Network n = small_network();
  const ReadFloats read = filled(n, {{"w1", 2}, {"scale", 3}, {"shift", 7}, {"mean", 1}, {"variance", 4}});
  const Result<Model> model = for_inference(n, read);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_THAT(types_of(model->network),
              ElementsAre("Conv", "Relu", "MaxPool", "Conv", "Add", "Relu", "Conv", "Flatten", "Gemm"));
  ASSERT_EQ(model->contents.size(), 2U);
  const network::Operator& conv = model->network.main().operators[0];
  const auto inputs = model->network.inputs(conv);
  ASSERT_EQ(inputs.size(), 3U);
  const ReadFloats now = floats_of(*model, read);
  EXPECT_FLOAT_EQ(now(inputs[1])->at(0), 2 * 3 / 2.0F);        // scale / sqrt(variance)
  EXPECT_FLOAT_EQ(now(inputs[2])->at(3), (0 - 1) * 1.5F + 7);  // (0 - mean) x that + shift
}

TEST(ForInference, WhatCannotBeQuantisedIsSaid) {
  const Network old = small_network(12);
  const auto refused = for_inference(old, filled(old, {}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text() + refused.error().hint, HasSubstr("opset_version=13"));
  Builder b("quantised");
  b.opset("", 13);
  const TensorId x = b.input("x", DataType::float32, {Dim::of(2)});
  b.output(b.add("QuantizeLinear", "q", {x, b.buffer("s", {})}));
  const Network q = std::move(b).finish();
  const auto again = for_inference(q, filled(q, {}));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().text(), HasSubstr("quantised already"));
}

TEST(Layers, EndAfterTheirActivation) {
  const Network n = small_network();
  const ReadFloats read = filled(n, {});
  const Result<Model> model = for_inference(n, read);
  const std::vector<Layer> layers = find_layers(model->network);
  ASSERT_EQ(layers.size(), 4U);
  EXPECT_EQ(model->network.name_of(layers[0].output), "relu");
  EXPECT_EQ(model->network.name_of(layers[1].output), "conv2");
  EXPECT_EQ(layers[3].parameters, 10);
}

TEST(Quantize, EveryLayerRunsOnLevelsAndSoDoSumsAndPooling) {
  const Network n = small_network();
  const ReadFloats read = filled(n, {});
  const Result<Model> model = for_inference(n, read);
  const ReadFloats now = floats_of(*model, read);
  const std::vector<Layer> layers = find_layers(model->network);
  const Result<Model> made = quantize(*model, now, layers, ranges_of(layers));
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_TRUE(network::infer(made->network, {})) << "shapes";
  int convolutions = 0, sums = 0, pools = 0, linears = 0;
  for (const QuantizedLayer& layer : network::find_quantized_layers(made->network)) {
    convolutions += layer.kind == QuantizedLayer::Kind::convolution ? 1 : 0;
    sums += layer.kind == QuantizedLayer::Kind::sum ? 1 : 0;
    pools += layer.kind == QuantizedLayer::Kind::max_pool ? 1 : 0;
    linears += layer.kind == QuantizedLayer::Kind::linear ? 1 : 0;
  }
  EXPECT_EQ(convolutions, 3);
  EXPECT_EQ(sums, 1);
  EXPECT_EQ(pools, 1);
  EXPECT_EQ(linears, 1);
  // Nothing of the float32 weights is left.
  std::int64_t bytes = 0;
  for (const auto& [id, contents] : made->contents) {
    EXPECT_TRUE(made->network.tensor(id).type != DataType::float32 || contents.size() <= 5 * 4)
        << made->network.name_of(id);
    bytes += std::ssize(contents);
  }
  EXPECT_LT(bytes, 4 * (4 * 27 + 16 + 2 * 64 + 10));
}

TEST(Quantize, OnlyTheLayersThatAreAsked) {
  const Network n = small_network();
  const ReadFloats read = filled(n, {});
  const Result<Model> model = for_inference(n, read);
  const ReadFloats now = floats_of(*model, read);
  const std::vector<Layer> layers = find_layers(model->network);
  const std::vector<Layer> one = {layers[2]};
  const Result<Model> made = quantize(*model, now, one, ranges_of(one));
  ASSERT_TRUE(made);
  int levels = 0;
  for (const auto& [id, contents] : made->contents)
    levels += made->network.tensor(id).type == DataType::int8 &&
                      made->network.dims_of(made->network.tensor(id)).size() == 4
                  ? 1
                  : 0;
  EXPECT_EQ(levels, 1);
  const auto missing = quantize(*model, now, layers, ranges_of(one));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text(), HasSubstr("range of"));
}

TEST(Quantize, TheGraphsOutputKeepsItsName) {
  const Network n = small_network();
  const ReadFloats read = filled(n, {});
  const Result<Model> model = for_inference(n, read);
  const ReadFloats now = floats_of(*model, read);
  const std::vector<Layer> layers = find_layers(model->network);
  const Result<Model> made = quantize(*model, now, layers, ranges_of(layers));
  EXPECT_EQ(made->network.main().outputs, n.main().outputs);
  EXPECT_EQ(made->network.name_of(made->network.main().outputs[0]), "head");
}

}  // namespace
}  // namespace plimsoll::quantize
