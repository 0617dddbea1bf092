#include "network/initial_weights.hpp"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::network {
namespace {

using Kind = InitialWeight::Kind;

InitialWeight weight_named(const Network& network, std::string_view name) {
  const std::vector<InitialWeight> weights = initial_weights(network);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (network.name_of(static_cast<TensorId>(i)) == name) return weights[i];
  ADD_FAILURE() << name << " is not there";
  return {};
}

InitialWeight uniform(double fan_in) {
  return {.kind = Kind::uniform, .spread = 1 / std::sqrt(fan_in)};
}
InitialWeight constant(double value) {
  return {.kind = Kind::constant, .value = value};
}

TEST(InitialWeights, OfConvolutionsAndNormalisations) {
  const auto net = zoo::build("vgg11_bn:classes=10,input=1x32x32", Mode::train);
  ASSERT_TRUE(net) << net.error().text();
  EXPECT_EQ(weight_named(*net, "features.0.weight"), uniform(1 * 3 * 3));
  EXPECT_EQ(weight_named(*net, "features.0.bias"), uniform(9));
  EXPECT_EQ(weight_named(*net, "features.4.weight"), uniform(64 * 9));
  EXPECT_EQ(weight_named(*net, "features.1.weight"), constant(1));
  EXPECT_EQ(weight_named(*net, "features.1.bias"), constant(0));
  EXPECT_EQ(weight_named(*net, "classifier.6.weight"), uniform(4096));
  EXPECT_EQ(weight_named(*net, "classifier.6.bias"), uniform(4096));
}

// As exporters write linear layers: a product with the weight turned, and an addition.
TEST(InitialWeights, OfProductsAndWhatIsAddedToThem) {
  Builder b("products");
  const TensorId x = b.input("x", DataType::float32, {Dim::of(2), Dim::of(3), Dim::of(16)});
  const TensorId rows = b.parameter("rows", {4, 16}), columns = b.parameter("columns", {4, 8}),
                 bias = b.parameter("bias", {4}), other = b.parameter("other", {8}),
                 scale = b.parameter("scale", {8}), shift = b.parameter("shift", {8});
  const std::vector<std::int64_t> order = {1, 0};
  const TensorId turned = b.add("Transpose", "turn", {rows}, {{"perm", order}});
  const TensorId first = b.add("Add", "first", {bias, b.add("MatMul", "product", {x, turned})});
  const TensorId second = b.add("Add", "second", {b.add("MatMul", "product_1", {first, columns}), other});
  const TensorId scaled = b.add("Mul", "scaled", {second, scale});
  b.output(b.add("Add", "shifted", {scaled, shift}));
  const Network net = std::move(b).finish();
  EXPECT_EQ(weight_named(net, "rows"), uniform(16));
  EXPECT_EQ(weight_named(net, "bias"), uniform(16));
  EXPECT_EQ(weight_named(net, "columns"), uniform(4));
  EXPECT_EQ(weight_named(net, "other"), uniform(4));
  EXPECT_EQ(weight_named(net, "scale"), constant(1));
  EXPECT_EQ(weight_named(net, "shift"), constant(0));
}

TEST(InitialWeights, OfTransformers) {
  const auto net = zoo::build("vit_b_16", Mode::train);
  ASSERT_TRUE(net) << net.error().text();
  EXPECT_EQ(weight_named(*net, "encoder.pos_embedding").kind, Kind::other);
  EXPECT_EQ(weight_named(*net, "class_token").kind, Kind::other);
  EXPECT_EQ(weight_named(*net, "encoder.ln.weight"), constant(1));
  EXPECT_EQ(weight_named(*net, "heads.head.weight"), uniform(768));
  const auto gpt = zoo::build("gpt2", Mode::train);
  ASSERT_TRUE(gpt) << gpt.error().text();
  bool embedded = false;
  for (const InitialWeight& weight : initial_weights(*gpt))
    embedded = embedded || weight.kind == Kind::normal;
  EXPECT_TRUE(embedded);
}

}  // namespace
}  // namespace plimsoll::network
