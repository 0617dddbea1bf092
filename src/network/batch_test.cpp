#include "network/batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::network {
namespace {

using ::testing::HasSubstr;

/// One Relu over an input of that shape.
Network over(DataType type, std::vector<Dim> dims) {
  Builder b("m");
  b.opset("", 17);
  b.output(b.add("Relu", "relu", {b.input("x", type, dims)}));
  return std::move(b).finish();
}

Shapes shapes_of(const Network& network, const BindingRequest& request = {}) {
  const Result<Binding> binding = bind(network, request);
  EXPECT_TRUE(binding) << binding.error().text();
  Result<Shapes> shapes = infer(network, *binding);
  EXPECT_TRUE(shapes) << shapes.error().text();
  return *std::move(shapes);
}

TEST(BatchOf, IsTheFirstExtentWhereThatCanBeABatch) {
  const auto batch = [](std::vector<Dim> dims) {
    const Network network = over(DataType::float32, std::move(dims));
    return batch_of(network, shapes_of(network));
  };
  EXPECT_EQ(batch({Dim::of(8), Dim::of(3), Dim::of(224), Dim::of(224)}), 8);
  EXPECT_EQ(batch({Dim::of(16), Dim::of(128), Dim::of(64)}), 16) << "tokens and their width";
  EXPECT_EQ(batch({Dim::of(3), Dim::of(300), Dim::of(300)}), 1) << "channels, height, width: one image";
  EXPECT_EQ(batch({Dim::of(1000)}), 1);
}

TEST(BatchOf, IsWhatTheDimensionOfThatNameStandsFor) {
  const Result<Network> network = zoo::build("resnet18", Mode::infer);
  ASSERT_TRUE(network);
  EXPECT_EQ(batch_of(*network, shapes_of(*network)), 1);
  EXPECT_EQ(batch_of(*network, shapes_of(*network, {.batch = 6})), 6);
}

std::int64_t sequence_in(const Shapes& shapes) {
  const BoundSymbol* symbol = sequence_of(shapes);
  return symbol == nullptr ? 0 : symbol->value;
}

TEST(Bind, ALanguageModelIsAssumedToReadTheUsualSequence) {
  for (const char* name : {"gpt2", "bert_base", "llama2_7b:layers=1"}) {
    const Result<Network> network = zoo::build(name, Mode::infer);
    ASSERT_TRUE(network) << name;
    const Shapes shapes = shapes_of(*network);
    EXPECT_EQ(sequence_in(shapes), kUsualSequence) << name;
    for (const BoundSymbol& symbol : shapes.bound()) EXPECT_TRUE(symbol.assumed) << symbol.name;
    EXPECT_EQ(sequence_in(shapes_of(*network, {.sequence = 7})), 7) << name;
  }
}

TEST(Bind, NoLongerThanItsTableOfPositions) {
  const Result<Network> network = zoo::build("gpt2:positions=64,layers=1", Mode::infer);
  ASSERT_TRUE(network);
  EXPECT_EQ(sequence_in(shapes_of(*network)), 64);
  EXPECT_TRUE(bind(*network, {.sequence = 64}));
  EXPECT_TRUE(bind(*network, {.sequence = 1, .context = 63}));
  const Result<Binding> beyond = bind(*network, {.sequence = 1, .context = 64});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().text(), HasSubstr("1 new and 64 earlier tokens"));
  EXPECT_THAT(beyond.error().hint, HasSubstr("--context 63"));
  const Result<Binding> longer = bind(*network, {.sequence = 65});
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().text(),
              HasSubstr("a sequence of 65 is longer than the model's table of positions"));
  EXPECT_THAT(longer.error().text(), HasSubstr("\"transformer.wpe.weight\" holds 64"));
  EXPECT_EQ(longer.error().hint, "--seq 64 is the longest that it takes");
  const Result<Network> bert = zoo::build("bert_base", Mode::infer);
  ASSERT_TRUE(bert);
  EXPECT_FALSE(bind(*bert, {.sequence = 600}));
  const Result<Network> llama = zoo::build("llama2_7b:layers=1", Mode::infer);
  ASSERT_TRUE(llama);
  EXPECT_TRUE(bind(*llama, {.sequence = 100'000})) << "it has learned no table";
}

TEST(Bind, OtherDimensionsStayAtOne) {
  Builder b("m");
  b.opset("", 17);
  b.output(b.add("Relu", "relu",
                 {b.input("x", DataType::float32, {b.symbol("batch"), b.symbol("sequence"), Dim::of(8)})}));
  EXPECT_EQ(sequence_in(shapes_of(std::move(b).finish())), 1) << "no token ids: no language model";
}

}  // namespace
}  // namespace plimsoll::network
