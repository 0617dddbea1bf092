#include "plan/merge/groups.hpp"

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::plan::merge {
namespace {

Model zoo(std::string_view name) {
  const auto network = network::zoo::build(name, network::Mode::infer);
  EXPECT_TRUE(network) << name;
  return describe(std::string(name), *network);
}

constexpr Scope kPublished{.as_published = true};

double percent(const std::vector<Model>& models, const std::vector<Group>& sharing) {
  return 100 * totals(models, sharing, kPublished).share();
}

struct PublishedPair {
  std::string_view first, second;
  double all, stem;  // percent saved, of convolutions and linear layers with distinct heads
};

class Published : public testing::TestWithParam<PublishedPair> {};

TEST_P(Published, SavesWhatTheTableSays) {
  const auto& [first, second, all, stem_alone] = GetParam();
  const std::vector<Model> models = {zoo(first), zoo(second)};
  EXPECT_NEAR(percent(models, groups(models, kPublished)), all, 0.1);
  EXPECT_NEAR(percent(models, stem(models, kPublished)), stem_alone, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Merge, Published,
                         testing::Values(PublishedPair{"vgg16", "vgg19", 49.0, 0.6},
                                         PublishedPair{"resnet101", "resnet152", 42.2, 1.4},
                                         PublishedPair{"resnet50", "resnet101", 35.6, 12.9},
                                         PublishedPair{"resnet18", "resnet34", 34.4, 0.5},
                                         PublishedPair{"alexnet", "vgg16", 9.1, 0.0}));

TEST(Merge, FewLayersHoldMostOfTheMemory) {
  struct Row {
    std::string_view name;
    double mebibytes, percent;  // of all; that 15 % of the layers hold
  };
  for (const Row& row : {Row{"vgg16", 512, 89}, Row{"resnet18", 43, 63}, Row{"resnet50", 90, 57},
                         Row{"resnet101", 162, 44}, Row{"resnet152", 221, 39}}) {
    SCOPED_TRACE(row.name);
    const Weight weight = heaviest(zoo(row.name), kPublished, 0.15);
    EXPECT_NEAR(weight.bytes / kMiB, row.mebibytes, 0.6);
    EXPECT_NEAR(100 * (weight.heaviest / weight.bytes), row.percent, 0.6);
  }
  // fc6 alone.
  const Model vgg = zoo("vgg16");
  const auto found = std::ranges::max_element(vgg.layers, {}, &Layer::bytes);
  EXPECT_EQ(found->kind, LayerKind::linear);
  EXPECT_NEAR(100 * (found->bytes / heaviest(vgg, kPublished, 0).bytes), 76.5, 0.1);
}

/// A stack of convolutions of 8 channels with a head, whose weights are counted by hand below.
struct Stack {
  int convolutions = 1;
  int stride = 1;
  std::int64_t classes = 10;
  bool tied = false;  // all convolutions with the weights of the first
};
network::Network stack(const Stack& asked) {
  network::Builder b("stack");
  b.opset("", 17);
  network::TensorId x =
      b.input("x", network::DataType::float32,
              {network::Dim::of(1), network::Dim::of(8), network::Dim::of(9), network::Dim::of(9)});
  network::TensorId weight = network::kNoTensor, bias = network::kNoTensor;
  for (int i = 0; i < asked.convolutions; ++i) {
    if (i == 0 || !asked.tied) {
      weight = b.parameter("w" + std::to_string(i), {8, 8, 3, 3});
      bias = b.parameter("b" + std::to_string(i), {8});
    }
    x = b.add("Conv", "conv" + std::to_string(i), {x, weight, bias},
              {{"pads", {1, 1, 1, 1}}, {"strides", {asked.stride, asked.stride}}});
    x = b.add("Relu", "relu" + std::to_string(i), {x});
  }
  x = b.add("Flatten", "flat", {b.add("GlobalAveragePool", "pool", {x})});
  const network::TensorId head = b.parameter("head.weight", {asked.classes, 8});
  b.output(b.add("Gemm", "head", {x, head}, {{"transB", 1}}));
  return std::move(b).finish();
}
constexpr std::int64_t kConvolutionBytes = 4 * (8 * 8 * 9 + 8), kHeadBytes = 4 * 80;

TEST(Merge, AttributesThatSayTheDefaultChangeNothing) {
  const std::vector<Model> models = {describe("one", stack({.stride = 1})),
                                     describe("two", stack({.stride = 2}))};
  EXPECT_EQ(models[0].layers[0].definition, "Conv 8x8x3x3 +2:8 pads=1,1,1,1");
  EXPECT_EQ(models[1].layers[0].definition, "Conv 8x8x3x3 +2:8 pads=1,1,1,1 strides=2,2");
  EXPECT_TRUE(groups(models, {}).empty());
  EXPECT_TRUE(stem(models, {}).empty());
}

TEST(Merge, HeadsStayApartUnlessAsked) {
  const std::vector<Model> models = {describe("one", stack({})), describe("two", stack({}))};
  EXPECT_FALSE(models[0].layers[0].head);
  EXPECT_TRUE(models[0].layers[1].head);
  EXPECT_EQ(groups(models, {}).size(), 1U);
  EXPECT_EQ(groups(models, {.heads = true}).size(), 2U);
  const Totals both = totals(models, groups(models, {.heads = true}), {.heads = true});
  EXPECT_EQ(both.apart.count(), 2 * (kConvolutionBytes + kHeadBytes));
  EXPECT_EQ(both.together.count(), kConvolutionBytes + kHeadBytes);
}

TEST(Merge, WithinAModelOneCopyIsLeft) {
  const std::vector<Model> models = {describe("one", stack({.convolutions = 3})),
                                     describe("two", stack({.convolutions = 2}))};
  const auto across = groups(models, {});
  ASSERT_EQ(across.size(), 2U);  // the third has nothing to go with
  EXPECT_EQ(totals(models, across, {}).saved().count(), 2 * kConvolutionBytes);
  const auto within = groups(models, {.within = true});
  ASSERT_EQ(within.size(), 1U);
  EXPECT_EQ(within[0].members.size(), 5U);
  EXPECT_EQ(totals(models, within, {.within = true}).saved().count(), 4 * kConvolutionBytes);
}

TEST(Merge, TensorsThatAModelHasOnceAreCountedOnce) {
  const Model tied = describe("tied", stack({.convolutions = 3, .tied = true}));
  EXPECT_EQ(tied.bytes.count(), kConvolutionBytes + kHeadBytes);
  EXPECT_EQ(tied.layers.size(), 2U);
  const std::vector<Model> models = {tied, describe("one", stack({.convolutions = 3}))};
  EXPECT_EQ(totals(models, groups(models, {}), {}).saved().count(), kConvolutionBytes);
}

TEST(Merge, SetsThatOverlapBecomeOne) {
  const std::vector<Model> models = {describe("a", stack({})), describe("b", stack({})),
                                     describe("c", stack({}))};
  const Group first{.members = {{0, 0}, {1, 0}}}, second{.members = {{1, 0}, {2, 0}}};
  const auto sets = shared_tensors(models, {first, second});
  ASSERT_EQ(sets.size(), 2U);  // weight and bias
  EXPECT_EQ(sets[0], (std::vector<TensorPlace>{{0, 0}, {1, 0}, {2, 0}}));
  EXPECT_EQ(totals(models, {first, second}, {}).saved().count(), 2 * kConvolutionBytes);
}

TEST(Merge, StemsOfSeveralPartWhereTheyDiffer) {
  const std::vector<Model> models = {describe("a", stack({.convolutions = 1})),
                                     describe("b", stack({.convolutions = 3})),
                                     describe("c", stack({.convolutions = 2}))};
  const auto shared = stem(models, {});
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].members.size(), 3U);
  EXPECT_EQ(shared[1].members.size(), 2U);
}

TEST(Merge, TransformersShareProductsNormsAndEmbeddings) {
  const std::vector<Model> models = {zoo("bert-base"), zoo("bert-base")};
  const auto all = groups(models, {});
  std::array<int, 5> kinds{};
  for (const Group& group : all) ++kinds[static_cast<std::size_t>(group.kind)];
  EXPECT_GE(kinds[static_cast<std::size_t>(LayerKind::linear)], 72);  // six of each of twelve layers
  EXPECT_GE(kinds[static_cast<std::size_t>(LayerKind::normalization)], 25);
  EXPECT_GE(kinds[static_cast<std::size_t>(LayerKind::embedding)], 3);
  EXPECT_GT(totals(models, all, {}).share(), 0.45);
  EXPECT_LE(totals(models, all, {}).share(), 0.5);
}

}  // namespace
}  // namespace plimsoll::plan::merge
