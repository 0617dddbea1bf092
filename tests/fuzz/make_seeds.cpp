// Writes the seeds of model_fuzz: one small model per part of the format.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "onnx/test_model.hpp"

namespace {

using namespace plimsoll::onnx::test;
namespace schema = plimsoll::onnx::schema;

void put(const std::filesystem::path& folder, const char* name, const Bytes& bytes) {
  if (const auto m = read_text(bytes); !m) std::fprintf(stderr, "%s: %s\n", name, m.error().text().c_str());
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

Bytes int64s(std::initializer_list<std::int64_t> values) {
  Bytes out;
  protozero::pbf_writer(out).add_packed_int64(schema::tensor::kInt64s, values.begin(), values.end());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path out = argv[1];
  const Bytes x = value("x", 1, {"N", 3, 8, 8});
  put(out, "convolution.onnx",
      model(graph({.nodes = {node("Conv", {"x", "w", "b"}, {"c"},
                                  {attribute("strides", {2, 2}), attribute("pads", {1, 1, 1, 1}),
                                   attribute("group", 1), text_attribute("auto_pad", "NOTSET")}),
                             node("BatchNormalization", {"c", "s", "s", "m", "v"}, {"n"},
                                  {attribute("epsilon", 1e-5)}),
                             node("Relu", {"n"}, {"r"}),
                             node("MaxPool", {"r"}, {"p"}, {attribute("kernel_shape", {2, 2})}),
                             node("GlobalAveragePool", {"p"}, {"g"}), node("Flatten", {"g"}, {"f"}),
                             node("Gemm", {"f", "fw"}, {"y"}, {attribute("transB", 1)})},
                   .inputs = {x},
                   .outputs = {value("y", 1, {"N", 5})},
                   .initializers = {tensor("w", 1, {4, 3, 3, 3}, external("w.bin", "0", "432")),
                                    tensor("b", 1, {4}, raw_zeros(16)), tensor("s", 1, {4}, raw_zeros(16)),
                                    tensor("m", 1, {4}, raw_zeros(16)), tensor("v", 1, {4}, raw_zeros(16)),
                                    tensor("fw", 1, {5, 4}, external("w.bin", "432"))}})));
  put(out, "shape_arithmetic.onnx",
      model(graph(
          {.nodes =
               {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}, {attribute("axis", 0)}),
                node("Unsqueeze", {"n", "axes"}, {"u"}),
                node("Constant", {}, {"rest"}, {tensor_attribute("value", tensor("", 7, {1}, int64s({-1})))}),
                node("Concat", {"u", "rest"}, {"t"}, {attribute("axis", 0)}),
                node("Reshape", {"x", "t"}, {"r"}), node("Slice", {"r", "axes", "end", "one"}, {"y"}),
                node("ConstantOfShape", {"s"}, {"o"},
                     {tensor_attribute("value", tensor("", 1, {1}, raw_zeros(4)))}),
                node("Add", {"o", "x"}, {"q"}), node("Expand", {"zero", "s"}, {"e"}),
                node("Range", {"zero", "n", "step"}, {"range"})},
           .inputs = {x},
           .outputs = {value("y"), value("q"), value("e"), value("range")},
           .initializers = {tensor("zero", 7, {}, raw_zeros(8)), tensor("step", 7, {}, int64s({1})),
                            tensor("axes", 7, {1}, int64s({0})), tensor("end", 7, {1}, int64s({100})),
                            tensor("one", 7, {1}, int64s({1}))}})));
  const Bytes yes = graph({.nodes = {node("Neg", {"x"}, {"t"})}, .outputs = {value("t", 1, {"N", 3})}});
  const Bytes no = graph({.nodes = {node("Mul", {"x", "k"}, {"t"})},
                          .outputs = {value("t")},
                          .initializers = {tensor("k", 1, {}, raw_zeros(4))}});
  put(out, "if.onnx",
      model(graph(
          {.nodes = {node("If", {"c"}, {"y"},
                          {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)}, "if")},
           .inputs = {x, value("c", 9, {})},
           .outputs = {value("y")}})));
  const Bytes body =
      graph({.nodes = {node("Add", {"state", "x"}, {"next"}), node("Identity", {"go"}, {"go_on"}),
                       node("ReduceSum", {"next"}, {"row"}, {attribute("keepdims", 0)})},
             .inputs = {value("i", 7, {}), value("go", 9, {}), value("state", 1, {"N", 3, 8, 8})},
             .outputs = {value("go_on"), value("next"), value("row")}});
  put(out, "loop.onnx",
      model(graph({.nodes = {node("Loop", {"trips", "", "x"}, {"last", "rows"},
                                  {graph_attribute("body", body)}, "loop")},
                   .inputs = {x},
                   .outputs = {value("last"), value("rows")},
                   .initializers = {tensor("trips", 7, {}, int64s({3}))}})));
  const Bytes scan = graph({.nodes = {node("Add", {"s", "e"}, {"s2"}), node("Identity", {"s2"}, {"out"})},
                            .inputs = {value("s", 1, {8}), value("e", 1, {8})},
                            .outputs = {value("s2"), value("out")}});
  put(out, "scan.onnx",
      model(graph({.nodes = {node("Scan", {"z", "q"}, {"f", "all"},
                                  {graph_attribute("body", scan), attribute("num_scan_inputs", 1)})},
                   .inputs = {value("z", 1, {8}), value("q", 1, {"T", 8})},
                   .outputs = {value("f"), value("all")}})));
  const Bytes inner = function(
      "f", "inner", {"p"}, {"q"},
      {node("Identity", {"p"}, {"t"}), node("LeakyRelu", {"t"}, {"q"}, {reference("alpha", "slope", 1)})},
      {attribute("slope", 0.5)});
  const Bytes outer = function("f", "outer", {"a", "b"}, {"r", "a"},
                               {node("inner", {"a"}, {"t"}, {reference("slope", "alpha", 1)}, "", "f"),
                                node("Clip", {"t", "b"}, {"r"})});
  put(out, "functions.onnx",
      model(graph({.nodes = {node("outer", {"x"}, {"y", "z"}, {attribute("alpha", 0.25)}, "call", "f"),
                             node("outer", {"y"}, {"w"}, {}, "", "f")},
                   .inputs = {x},
                   .outputs = {value("w"), value("z")}}),
            {inner, outer}));
  namespace t = schema::tensor;
  put(out, "typed_data.onnx",
      model(graph(
          {.initializers = {
               tensor("f16", 10, {2}, number_field(t::kInt32s, 0x3c00) + number_field(t::kInt32s, 0xc000)),
               tensor("i4", 22, {3}, raw("\xf1\x02")), tensor("u64", 13, {1}, number_field(t::kUint64s, 9)),
               tensor("bool", 9, {2}, raw("ab")), tensor("bf16", 16, {1}, raw("ab")),
               tensor("f8", 17, {2}, raw("ab")), tensor("str", 8, {1}, text_field(t::kStrings, "s")),
               tensor("none", 1, {9})}})));
  put(out, "external.onnx",
      model(graph({.nodes = {node("MatMul", {"x", "w"}, {"y"})},
                   .inputs = {x},
                   .outputs = {value("y")},
                   .initializers = {tensor("w", 1, {8, 4}, external("data/w.bin", "16", "128"))}})));
  put(out, "declared.onnx",
      model(graph({.nodes = {node("Mystery", {"x"}, {"a"}, {attribute("k", {1, 2})}, "m", "some.where"),
                             node("Relu", {"a"}, {"y"})},
                   .inputs = {x},
                   .outputs = {value("y", 1, {"N"})},
                   .value_infos = {value("a", 1, {"N", 5})}})));
  put(out, "out_of_order.onnx",
      model(
          graph({.nodes = {node("Relu", {"b"}, {"c"}), node("Abs", {"a"}, {"b"}), node("Neg", {"x"}, {"a"})},
                 .inputs = {x},
                 .outputs = {value("c")}})));
  put(out, "attention.onnx",
      model(graph(
          {.nodes = {node("MatMul", {"q", "k"}, {"s"}), node("Div", {"s", "scale"}, {"d"}),
                     node("Softmax", {"d"}, {"p"}, {attribute("axis", -1)}),
                     node("MatMul", {"p", "v"}, {"o"}),
                     node("Transpose", {"o"}, {"t"}, {attribute("perm", {0, 2, 1, 3})}),
                     node("LayerNormalization", {"t", "g"}, {"y"}),
                     node("Split", {"y"}, {"y1", "y2"}, {attribute("axis", -1)}),
                     node("Einsum", {"q", "k"}, {"e"}, {text_attribute("equation", "bhqd,bhdk->bhqk")})},
           .inputs = {value("q", 1, {"N", 2, 4, 8}), value("k", 1, {"N", 2, 8, 4}),
                      value("v", 1, {"N", 2, 4, 8})},
           .outputs = {value("y1"), value("e")},
           .initializers = {tensor("scale", 1, {}, raw_zeros(4)), tensor("g", 1, {8}, raw_zeros(32))}})));
  put(out, "selection.onnx",
      model(graph(
          {.nodes = {node("NonZero", {"x"}, {"nz"}), node("TopK", {"x", "k"}, {"tv", "ti"}),
                     node("Where", {"c", "x", "x"}, {"wh"}),
                     node("Resize", {"x", "", "scales"}, {"rs"}, {text_attribute("mode", "nearest")}),
                     node("Pad", {"x", "pads"}, {"pd"}), node("Tile", {"x", "reps"}, {"tl"}),
                     node("LSTM", {"seq", "lw", "lr"}, {"lo"}, {attribute("hidden_size", 2)}),
                     node("QuantizeLinear", {"x", "one"}, {"qx"}),
                     node("Cast", {"x"}, {"ca"}, {attribute("to", 10)})},
           .inputs = {x, value("c", 9, {1}), value("seq", 1, {"T", 1, 3})},
           .outputs = {value("nz"), value("tv"), value("lo")},
           .initializers = {tensor("k", 7, {1}, int64s({2})), tensor("scales", 1, {4}, raw_zeros(16)),
                            tensor("pads", 7, {8}, int64s({0, 0, 1, 1, 0, 0, 1, 1})),
                            tensor("reps", 7, {4}, int64s({1, 1, 2, 2})), tensor("one", 1, {}, raw_zeros(4)),
                            tensor("lw", 1, {1, 8, 3}), tensor("lr", 1, {1, 8, 2})}})));
  return 0;
}
