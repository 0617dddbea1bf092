#include "onnx/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "onnx/test_model.hpp"

namespace plimsoll::onnx::test {
namespace {

using network::Attribute;
using network::Network;
using network::Operator;
using network::Role;
using network::TensorId;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> types(const Network& n, std::size_t graph = 0) {
  std::vector<std::string> out;
  for (const Operator& op : n.graphs[graph].operators) out.emplace_back(n.type_of(op));
  return out;
}
std::string shape(const Network& n, TensorId id) {
  std::string out;
  for (const network::Dim d : n.dims_of(n.tensor(id))) out += (out.empty() ? "" : "x") + n.symbols.text(d);
  return out;
}
TensorId find(const Network& n, std::string_view name) {
  for (std::size_t i = 0; i < n.tensors.size(); ++i)
    if (n.name_of(static_cast<TensorId>(i)) == name) return static_cast<TensorId>(i);
  return network::kNoTensor;
}
std::vector<double> values(const Network& n, std::string_view name) {
  std::vector<double> out;
  for (const network::Scalar s : n.value_of(n.tensor(find(n, name)))) out.push_back(s.real());
  return out;
}

TEST(Reader, ReadsInputsWeightsAndOperators) {
  const Bytes bytes =
      model(graph({.nodes = {node("Conv", {"x", "w"}, {"y"}, {attribute("strides", {2, 2})}, "conv")},
                   .inputs = {value("x", 1, {"N", 3, "", 32}), value("w", 1, {8, 3, 3, 3})},
                   .outputs = {value("y", 1, {"N", 8, 15, 15})},
                   .initializers = {tensor("w", 1, {8, 3, 3, 3}, raw_zeros(864))}}));
  const Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  // An initializer that old files list among the inputs too is a weight.
  ASSERT_EQ(n.main().inputs.size(), 1U);
  EXPECT_EQ(shape(n, n.main().inputs[0]), "Nx3xx_dim_2x32");
  ASSERT_EQ(n.main().weights.size(), 1U);
  EXPECT_EQ(shape(n, n.main().weights[0]), "8x3x3x3");
  EXPECT_THAT(types(n), ElementsAre("Conv"));
  EXPECT_EQ(n.main().operators[0].opset, 17);
  EXPECT_EQ(m->producer_name, "test");
  EXPECT_EQ(m->weights.size(), 1U);
  EXPECT_EQ(m->weights[0].bytes.size(), 864U);
  EXPECT_EQ(m->graph_bytes, static_cast<std::int64_t>(bytes.size()) - 864);
}

TEST(Reader, KeepsSmallContentsOfEveryType) {
  namespace f = schema::tensor;
  Bytes int64s, floats, doubles;
  const std::vector<std::int64_t> negative = {-1, 300};
  protozero::pbf_writer(int64s).add_packed_int64(f::kInt64s, negative.begin(), negative.end());
  const std::vector<float> halves = {0.5F, -2};
  protozero::pbf_writer(floats).add_packed_float(f::kFloats, halves.begin(), halves.end());
  protozero::pbf_writer(doubles).add_double(f::kDoubles, 0.1);  // not packed
  const Bytes bytes = model(
      graph({.initializers = {
                 tensor("i64", 7, {2}, int64s), tensor("f32", 1, {2}, floats), tensor("f64", 11, {}, doubles),
                 tensor("f16", 10, {2}, number_field(f::kInt32s, 0x3c00) + number_field(f::kInt32s, 0xc000)),
                 tensor("bf16", 16, {1}, raw(std::string_view("\x80\x3f", 2))),
                 tensor("bool", 9, {2}, raw(std::string_view("\0\1", 2))), tensor("i8", 3, {1}, raw("\xff")),
                 tensor("u8", 2, {1}, number_field(f::kInt32s, 255)),
                 tensor("i32", 6, {1}, number_field(f::kInt32s, -7)),
                 tensor("u64", 13, {1}, number_field(f::kUint64s, 9)), tensor("i4", 22, {3}, raw("\xf1\x02")),
                 tensor("u4", 21, {3}, number_field(f::kInt32s, 0xf1) + number_field(f::kInt32s, 2)),
                 tensor("many", 7, {300}, raw_zeros(2400)), tensor("f8", 17, {2}, raw("ab"))}}));
  const Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  EXPECT_THAT(values(n, "i64"), ElementsAre(-1, 300));
  EXPECT_THAT(values(n, "f32"), ElementsAre(0.5, -2));
  EXPECT_THAT(values(n, "f64"), ElementsAre(0.1));
  EXPECT_THAT(values(n, "f16"), ElementsAre(1, -2));
  EXPECT_THAT(values(n, "bf16"), ElementsAre(1));
  EXPECT_THAT(values(n, "bool"), ElementsAre(0, 1));
  EXPECT_THAT(values(n, "i8"), ElementsAre(-1));
  EXPECT_THAT(values(n, "u8"), ElementsAre(255));
  EXPECT_THAT(values(n, "i32"), ElementsAre(-7));
  EXPECT_THAT(values(n, "u64"), ElementsAre(9));
  EXPECT_THAT(values(n, "i4"), ElementsAre(1, -1, 2));
  EXPECT_THAT(values(n, "u4"), ElementsAre(1, 15, 2));
  EXPECT_FALSE(n.tensor(find(n, "many")).has_value);
  EXPECT_FALSE(n.tensor(find(n, "f8")).has_value);
}

TEST(Reader, GivesWeightsBytesOnDemand) {
  namespace f = schema::tensor;
  const Bytes bytes = model(graph(
      {.initializers = {tensor("raw", 3, {3}, raw("abc")),
                        tensor("typed", 6, {2}, number_field(f::kInt32s, 1) + number_field(f::kInt32s, -1)),
                        tensor("out", 1, {2}), tensor("far", 1, {2}, external("weights.bin", "8", "8"))}}));
  Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  const auto text = [](const WeightBytes& b) {
    return std::string(reinterpret_cast<const char*>(b.view.data()), b.view.size());
  };
  EXPECT_EQ(text(m->bytes_of(find(m->network, "raw")).value()), "abc");
  EXPECT_EQ(text(m->bytes_of(find(m->network, "typed")).value()),
            std::string_view("\1\0\0\0\xff\xff\xff\xff", 8));
  EXPECT_THAT(m->bytes_of(find(m->network, "out")).error().text(), HasSubstr("left out"));
  EXPECT_EQ(m->find_weight(find(m->network, "far"))->offset, 8);
  EXPECT_FALSE(m->bytes_of(find(m->network, "far")));
}

TEST(Reader, TellsWhereInWhichFileWeightsLie) {
  namespace f = schema::tensor;
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "m.onnx";
  ASSERT_TRUE(write_file(folder->path() / "weights.bin", "01234567abcdefgh"));
  ASSERT_TRUE(write_file(
      path, model(graph(
                {.initializers = {tensor("raw", 3, {3}, raw("abc")),
                                  tensor("typed", 6, {1}, number_field(f::kInt32s, 1)), tensor("out", 1, {2}),
                                  tensor("far", 1, {2}, external("weights.bin", "8", "8"))}}))));
  Result<Model> m = read(path);
  ASSERT_TRUE(m) << m.error().text();
  const auto raw_place = m->place_of(find(m->network, "raw"));
  ASSERT_TRUE(raw_place && *raw_place);
  EXPECT_EQ((*raw_place)->file, path);
  EXPECT_EQ(read_file(path, 1 << 20)->substr(static_cast<std::size_t>((*raw_place)->offset), 3), "abc");
  EXPECT_EQ((*raw_place)->length, 3);
  const auto far = m->place_of(find(m->network, "far"));
  ASSERT_TRUE(far && *far) << far.error().text();
  EXPECT_EQ((*far)->file.filename(), "weights.bin");
  EXPECT_EQ((*far)->offset, 8);
  EXPECT_EQ(m->place_of(find(m->network, "typed")).value(), std::nullopt);
  EXPECT_THAT(m->place_of(find(m->network, "out")).error().text(), HasSubstr("left out"));
}

TEST(Reader, MakesAttributeTensorsBuffers) {
  const Bytes bytes = model(graph(
      {.nodes = {node("Constant", {}, {"c"}, {tensor_attribute("value", tensor("", 7, {1}, raw_zeros(8)))})},
       .outputs = {value("c")}}));
  const Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  const Attribute* a = n.find(n.main().operators[0], "value");
  ASSERT_NE(a, nullptr);
  const auto id = static_cast<TensorId>(a->integer);
  EXPECT_EQ(n.name_of(id), "c");
  EXPECT_EQ(n.tensor(id).role, Role::buffer);
  EXPECT_TRUE(n.tensor(id).has_value);
  EXPECT_TRUE(n.main().weights.empty());
  EXPECT_NE(m->find_weight(id), nullptr);
}

TEST(Reader, SortsNodesThatAreOutOfOrder) {
  const Result<Model> m =
      read_text(model(graph({.nodes = {node("Relu", {"b"}, {"c"}), node("Tanh", {"x"}, {"z"}),
                                       node("Abs", {"a"}, {"b"}), node("Neg", {"x"}, {"a"})},
                             .inputs = {value("x", 1, {1})},
                             .outputs = {value("c"), value("z")}})));
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_THAT(types(m->network), ElementsAre("Neg", "Abs", "Relu", "Tanh"));
}

TEST(Reader, ResolvesNamesOfBodiesThroughTheirScopes) {
  // Both branches call their own tensor "t" and use "late", which the main graph makes after the If.
  const Bytes yes = graph({.nodes = {node("Neg", {"late"}, {"t"})}, .outputs = {value("t")}});
  const Bytes no = graph({.nodes = {node("Abs", {"late"}, {"t"})}, .outputs = {value("t")}});
  const Result<Model> m = read_text(model(
      graph({.nodes = {node("If", {"c"}, {"y"},
                            {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)}, "if"),
                       node("Relu", {"x"}, {"late"})},
             .inputs = {value("x", 1, {2}), value("c", 9, {})},
             .outputs = {value("y")}})));
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  EXPECT_THAT(types(n), ElementsAre("Relu", "If"));
  ASSERT_EQ(n.graphs.size(), 3U);
  const TensorId late = n.outputs(n.main().operators[0])[0];
  EXPECT_EQ(n.inputs(n.graphs[1].operators[0])[0], late);
  EXPECT_EQ(n.inputs(n.graphs[2].operators[0])[0], late);
  EXPECT_NE(n.graphs[1].outputs[0], n.graphs[2].outputs[0]);
}

TEST(Reader, ReadsDeclaredShapesOfUnknownOperatorsOnly) {
  const Result<Model> m =
      read_text(model(graph({.nodes = {node("Mystery", {"x"}, {"a"}, {}, "", "some.where"),
                                       node("Mystery", {"x"}, {"b"}, {}, "", "some.where")},
                             .inputs = {value("x", 1, {"N"})},
                             .outputs = {value("b", 1, {"made_up_7"})},
                             .value_infos = {value("a", 10, {"N", 5})}})));
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  EXPECT_EQ(shape(n, find(n, "a")), "Nx5");
  EXPECT_EQ(n.tensor(find(n, "b")).type, network::DataType::float32);
  EXPECT_FALSE(n.tensor(find(n, "b")).has_shape);
  EXPECT_EQ(n.symbols.size(), 1U);
}

TEST(Reader, NotesOperatorSetsItDoesNotKnow) {
  const Result<Model> m = read_text(model(graph({.inputs = {value("x", 1, {1})}}), {}, 99));
  ASSERT_TRUE(m) << m.error().text();
  ASSERT_EQ(m->notes.size(), 1U);
  EXPECT_THAT(m->notes[0], HasSubstr("99"));
}

TEST(Functions, AreInlinedWithTheirAttributes) {
  // outer(a; alpha) = inner(a; alpha) + a; inner(p; slope = 0.5) = LeakyRelu(p; alpha = slope)
  const Bytes inner = function("f", "inner", {"p"}, {"q"},
                               {node("Identity", {"p"}, {"t"}),
                                node("LeakyRelu", {"t"}, {"q"}, {reference("alpha", "slope", 1)}, "leaky")},
                               {attribute("slope", 0.5)}, 16);
  const Bytes outer = function("f", "outer", {"a"}, {"r"},
                               {node("inner", {"a"}, {"t"}, {reference("slope", "alpha", 1)}, "", "f"),
                                node("Add", {"t", "a"}, {"r"})});
  const Result<Model> m =
      read_text(model(graph({.nodes = {node("outer", {"x"}, {"y"}, {attribute("alpha", 0.25)}, "", "f"),
                                       node("outer", {"y"}, {"z"}, {}, "", "f")},
                             .inputs = {value("x", 1, {2})},
                             .outputs = {value("z")}}),
                      {inner, outer}));
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  EXPECT_THAT(types(n), ElementsAre("Identity", "LeakyRelu", "Add", "Identity", "LeakyRelu", "Add"));
  const auto alpha = [&](std::size_t i) { return n.find(n.main().operators[i], "alpha")->real; };
  EXPECT_EQ(alpha(1), 0.25);
  EXPECT_EQ(alpha(4), 0.5);
  EXPECT_EQ(n.name_of(n.outputs(n.main().operators[0])[0]), "y/t/t");
  EXPECT_EQ(n.name_of(n.main().operators[1]), "y/t/leaky");
  EXPECT_EQ(n.name_of(n.outputs(n.main().operators[2])[0]), "y");
  EXPECT_EQ(n.main().operators[1].opset, 16);
  EXPECT_EQ(n.main().operators[2].opset, 17);
}

TEST(Functions, MayReturnAnInputAndLeaveOutOptionalOnes) {
  const Bytes f = function("f", "pass", {"a", "b"}, {"a", "c"}, {node("Clip", {"a", "b"}, {"c"})});
  const Result<Model> m = read_text(model(graph({.nodes = {node("pass", {"x"}, {"y", "z"}, {}, "", "f")},
                                                 .inputs = {value("x", 1, {2})},
                                                 .outputs = {value("y"), value("z")}}),
                                          {f}));
  ASSERT_TRUE(m) << m.error().text();
  const Network& n = m->network;
  EXPECT_THAT(types(n), ElementsAre("Identity", "Clip"));
  EXPECT_EQ(n.inputs(n.main().operators[1])[1], network::kNoTensor);
}

}  // namespace
}  // namespace plimsoll::onnx::test
