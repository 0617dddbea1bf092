#include "onnx/writer.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "network/builder.hpp"
#include "onnx/test_model.hpp"

namespace plimsoll::onnx::test {
namespace {

namespace fs = std::filesystem;
using network::Builder;
using network::DataType;
using network::Role;
using network::TensorId;

class Writer : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  Result<Model> there_and_back(const network::Network& network, const WeightSource& weights = {}) {
    if (Status status = write(network, weights, path_); !status) return std::unexpected(status.error());
    return read(path_);
  }
  fs::path path_ = fs::temp_directory_path() / ("plimsoll_writer_" + std::to_string(::getpid()) + ".onnx");
};

TEST_F(Writer, KeepsANetworkThatWasBuiltByHand) {
  Builder b("by hand");
  b.opset("", 17);
  const TensorId x = b.input("x", DataType::float32, {b.symbol("batch"), network::Dim::of(8)});
  const TensorId w = b.parameter("w", {8, 4});
  const TensorId y = b.add("MatMul", "product", {x, w});
  // Classification would call the first a buffer and the second a parameter.
  const TensorId temperature = b.parameter("temperature", {1});
  const TensorId table = b.buffer("table", {4});
  const TensorId scaled = b.add("Mul", "scaled", {y, temperature});
  const TensorId shifted =
      b.add("Add", "shifted", {scaled, table}, {{"alpha", 0.1}, {"list", {1, 2, 3}}, {"text", "abc"}});
  const TensorId target = b.constant("target", {2, -1});
  b.output(b.add("Reshape", "out", {shifted, target}));
  const network::Network network = std::move(b).finish();
  const Result<Model> back = there_and_back(network);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(network == back->network);
  EXPECT_EQ(back->weights.size(), 4U);
}

TEST_F(Writer, MakesNamesUnique) {
  Builder b("twins");
  b.opset("", 17);
  const TensorId x = b.input("x", DataType::float32, {network::Dim::of(8)});
  const TensorId first = b.add("Neg", "same", {x});
  b.output(b.add("Abs", "same", {first}));
  const network::Network network = std::move(b).finish();
  const Result<Model> back = there_and_back(network);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->network.main().operators.size(), 2U);
}

TEST_F(Writer, KeepsTensorsWithoutElements) {
  // Nothing of them is left to be known, even where their contents are said to be elsewhere.
  Result<Model> m =
      read_text(model(graph({.nodes = {node("Concat", {"here", "there"}, {"y"}, {attribute("axis", 0)})},
                             .outputs = {value("y")},
                             .initializers = {tensor("here", 1, {0, 3}),
                                              tensor("there", 1, {0, 3}, external("w.bin", "0", "0"))}})));
  ASSERT_TRUE(m) << m.error().text();
  for (const network::TensorId id : m->network.main().weights) EXPECT_TRUE(m->network.tensor(id).has_value);
  const Result<Model> back = there_and_back(m->network);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(m->network == back->network);
}

TEST_F(Writer, PutsWeightsIntoTheFile) {
  const Bytes bytes = model(
      graph({.nodes = {node("Constant", {}, {"c"},
                            {tensor_attribute("value", tensor("", 1, {40}, raw(std::string(160, 'c'))))}),
                       node("Conv", {"c", "w"}, {"y"})},
             .outputs = {value("y")},
             .initializers = {tensor("w", 1, {100}, raw(std::string(400, 'w'))),
                              tensor("i", 6, {1}, number_field(schema::tensor::kInt32s, 5))}}));
  Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  Result<Model> back = there_and_back(m->network, weights_of(*m));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(m->network == back->network);
  ASSERT_EQ(back->weights.size(), 3U);
  for (const WeightData& weight : back->weights) {
    EXPECT_EQ(weight.storage, Storage::raw);
    const WeightBytes there = back->bytes_of(weight.tensor).value();
    const auto name = back->network.name_of(weight.tensor);
    EXPECT_EQ(static_cast<char>(there.view[0]), name == "w" ? 'w' : name == "c" ? 'c' : '\5');
  }
}

TEST_F(Writer, PointsToWeightsThatLieElsewhere) {
  const Bytes bytes =
      model(graph({.nodes = {node("Conv", {"x", "w"}, {"y"}), node("Reshape", {"y", "s"}, {"z"})},
                   .inputs = {value("x", 1, {1, 1, 5, 5})},
                   .outputs = {value("z")},
                   .initializers = {tensor("w", 1, {1, 1, 5, 20}, raw(std::string(400, 'w'))),
                                    tensor("s", 7, {1}, number_field(schema::tensor::kInt64s, -1))}}));
  Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  const TensorId w = m->network.main().weights[0];
  // Beyond what 32 bits hold; the file itself need not be there to be pointed to.
  const std::int64_t offset = std::int64_t{5} << 30;
  const Status written =
      write(m->network, weights_of(*m), {.location = "weights.bin", .offsets = {{w, offset}}}, path_);
  ASSERT_TRUE(written) << written.error().text();
  Result<Model> back = read(path_);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(m->network == back->network);
  ASSERT_EQ(back->weights.size(), 2U);
  EXPECT_EQ(back->weights[0].storage, Storage::external);
  EXPECT_EQ(back->weights[0].location, "weights.bin");
  EXPECT_EQ(back->weights[0].offset, offset);
  EXPECT_EQ(back->weights[0].length, 400);
  EXPECT_EQ(back->weights[1].storage, Storage::raw);
  EXPECT_FALSE(write(m->network, weights_of(*m), {.location = "../weights.bin", .offsets = {}}, path_));
}

TEST_F(Writer, KeepsBodiesAndInlinedFunctions) {
  const Bytes yes = graph({.nodes = {node("f", {"x"}, {"t"}, {}, "call", "f")}, .outputs = {value("t")}});
  const Bytes no = graph({.nodes = {node("Mul", {"x", "k"}, {"t"})},
                          .outputs = {value("t")},
                          .initializers = {tensor("k", 1, {}, raw_zeros(4))}});
  const Bytes f =
      function("f", "f", {"a"}, {"b"},
               {node("Neg", {"a"}, {"t"}), node("Mystery", {"t"}, {"b"}, {}, "n", "else.where")}, {}, 13);
  const Result<Model> m = read_text(
      model(graph({.nodes = {node("If", {"c"}, {"y"},
                                  {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)})},
                   .inputs = {value("x", 1, {"N", 2}), value("c", 9, {})},
                   .outputs = {value("y", 1, {"N", 2})}}),
            {f}));
  ASSERT_TRUE(m) << m.error().text();
  const Result<Model> back = there_and_back(m->network);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(m->network == back->network);
}

}  // namespace
}  // namespace plimsoll::onnx::test
