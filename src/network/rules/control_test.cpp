#include <functional>

#include <gtest/gtest.h>

#include "network/rules/rule_test_support.hpp"

namespace plimsoll::network::rule_test {
namespace {

/// Builds a Network by hand and says what inference makes of the tensors that it returns.
std::string inferred(const std::function<std::vector<TensorId>(Builder&)>& build, int opset = 18) {
  Builder b("test");
  b.opset("", opset);
  const std::vector<TensorId> wanted = build(b);
  const Network network = std::move(b).finish();
  const Result<Shapes> shapes = infer(network, Binding{});
  if (!shapes) return "error: " + shapes.error().text();
  std::string text;
  for (const TensorId id : wanted) text += (text.empty() ? "" : " | ") + describe_tensor(*shapes, id);
  return text;
}

std::vector<TensorId> add_with_outputs(Builder& b, std::string_view type, std::vector<TensorId> inputs,
                                       std::size_t outputs,
                                       std::initializer_list<AttributeValue> attributes) {
  std::vector<TensorId> out;
  for (std::size_t i = 0; i < outputs; ++i) out.push_back(b.tensor("out"));
  b.add(type, "", "op", inputs, out, std::span(attributes.begin(), attributes.size()));
  return out;
}

TensorId vector_of(Builder& b, std::int64_t n) {
  return b.input("x", DataType::float32, {Dim::of(n), Dim::of(4)});
}

/// If over two branches that give back tensors of the outer graph.
std::string if_of(std::optional<std::int64_t> condition, const std::function<TensorId(Builder&)>& yes,
                  const std::function<TensorId(Builder&)>& no) {
  return inferred([&](Builder& b) {
    const TensorId c = condition ? b.constant_scalar("c", *condition)
                                 : b.input("c", DataType::boolean, std::initializer_list<Dim>{});
    const TensorId x = yes(b), y = no(b);
    const GraphId then_branch = b.begin_graph("then");
    b.output(b.add("Identity", "i", {x}));
    b.end_graph();
    const GraphId else_branch = b.begin_graph("else");
    b.output(b.add("Identity", "i", {y}));
    b.end_graph();
    return add_with_outputs(b, "If", {c}, 1, {{"then_branch", then_branch}, {"else_branch", else_branch}});
  });
}

TEST(Control, If) {
  const auto five = [](Builder& b) { return vector_of(b, 5); };
  const auto seven = [](Builder& b) { return vector_of(b, 7); };
  const auto flat = [](Builder& b) { return b.input("y", DataType::float32, {Dim::of(4)}); };
  EXPECT_EQ(if_of(1, five, seven), "5x4");
  EXPECT_EQ(if_of(0, five, seven), "7x4");
  EXPECT_EQ(if_of(std::nullopt, five, five), "5x4");
  EXPECT_EQ(if_of(std::nullopt, five, seven), "If_1.either(<=7)x4");
  EXPECT_EQ(if_of(std::nullopt, five, flat), "?");
}

TEST(Control, IfLeavesOutABranchThatCannotRun) {
  EXPECT_EQ(inferred([](Builder& b) {
              const TensorId c = b.input("c", DataType::boolean, std::initializer_list<Dim>{});
              const TensorId x = vector_of(b, 5);
              const TensorId axes = b.constant("axes", {0});
              const GraphId then_branch = b.begin_graph("then");
              b.output(b.add("Squeeze", "s", {x, axes}));
              b.end_graph();
              const GraphId else_branch = b.begin_graph("else");
              b.output(b.add("Identity", "i", {x}));
              b.end_graph();
              return add_with_outputs(b, "If", {c}, 1,
                                      {{"then_branch", then_branch}, {"else_branch", else_branch}});
            }),
            "5x4");
}

/// A Loop that carries one tensor: `body` makes the next from the one before, and something to stack.
std::string loop_of(std::optional<std::int64_t> trips, bool may_stop,
                    const std::function<TensorId(Builder&, TensorId, TensorId)>& body) {
  return inferred([&](Builder& b) {
    const TensorId m =
        trips ? b.constant_scalar("m", *trips) : b.input("m", DataType::int64, std::initializer_list<Dim>{});
    const TensorId c = b.constant_scalar("c", std::int64_t{1});
    const TensorId stop = b.input("stop", DataType::boolean, std::initializer_list<Dim>{});
    const TensorId x = vector_of(b, 2), outer = vector_of(b, 3);
    const GraphId id = b.begin_graph("body");
    const TensorId i = b.tensor("i"), condition = b.tensor("condition"), state = b.tensor("state");
    for (const TensorId t : {i, condition, state}) b.graph_input(t);
    b.output(may_stop ? b.add("And", "and", {condition, stop}) : b.add("Identity", "go on", {condition}));
    const TensorId next = body(b, state, outer);
    b.output(next);
    b.output(outer);
    b.end_graph();
    std::vector<TensorId> out = add_with_outputs(b, "Loop", {m, c, x}, 2, {{"body", id}});
    out.push_back(next);
    return out;
  });
}

TensorId keep(Builder& b, TensorId state, TensorId) {
  return b.add("Relu", "r", {state});
}
TensorId grow(Builder& b, TensorId state, TensorId outer) {
  return b.add("Concat", "grow", {state, outer}, {{"axis", 0}});
}
TensorId wrap(Builder& b, TensorId state, TensorId) {
  return b.add("Unsqueeze", "u", {state, b.constant("axes", {0})});
}

TEST(Control, LoopThatKeepsShapes) {
  EXPECT_EQ(loop_of(10, false, keep), "2x4 | 10x3x4 | 2x4");
  EXPECT_EQ(loop_of(10, true, keep), "2x4 | Loop_1.trips(<=10)x3x4 | 2x4");
  EXPECT_EQ(loop_of(std::nullopt, false, keep), "2x4 | Loop_1.tripsx3x4 | 2x4");
}

TEST(Control, LoopThatGrows) {
  // 2 rows and 3 more in each of 10 iterations; within the body at most 2 + 9·3, and 3 more as it leaves.
  EXPECT_EQ(loop_of(10, false, grow), "32x4 | 10x3x4 | Loop_2.carried + 3(<=32)x4");
  EXPECT_EQ(loop_of(10, true, grow),
            "Loop_3.carried(<=32)x4 | Loop_4.trips(<=10)x3x4 | Loop_2.carried + 3(<=32)x4");
  EXPECT_EQ(loop_of(std::nullopt, false, grow), "Loop_2.carriedx4 | Loop_3.tripsx3x4 | Loop_1.carried + 3x4");
}

TEST(Control, LoopWhoseRankChanges) {
  EXPECT_EQ(loop_of(10, false, wrap), "? | 10x3x4 | ?");
}

TEST(Control, LoopsWithinLoopsTakeNoTime) {
  std::string text = inferred([](Builder& b) {
    const TensorId m = b.constant_scalar("m", std::int64_t{5});
    TensorId carried = vector_of(b, 1);
    const TensorId first = carried;
    std::vector<GraphId> ids;
    std::vector<TensorId> states;
    for (int depth = 0; depth < 30; ++depth) {
      ids.push_back(b.begin_graph("body"));
      const TensorId i = b.tensor("i"), condition = b.tensor("c"), state = b.tensor("s");
      for (const TensorId t : {i, condition, state}) b.graph_input(t);
      b.output(condition);
      states.push_back(state);
    }
    TensorId out = b.add("Concat", "grow", {states.back(), first}, {{"axis", 0}});
    for (int depth = 29; depth >= 0; --depth) {
      b.output(out);
      b.end_graph();
      const TensorId from = depth == 0 ? first : states[static_cast<std::size_t>(depth - 1)];
      const TensorId inputs[] = {m, kNoTensor, from};
      out = b.add("Loop", "loop", std::span<const TensorId>(inputs),
                  {{"body", ids[static_cast<std::size_t>(depth)]}});
    }
    return std::vector<TensorId>{out};
  });
  EXPECT_EQ(text, "?");
}

TEST(Control, LoopThatCollectsASequence) {
  EXPECT_EQ(inferred([](Builder& b) {
              const TensorId m = b.constant_scalar("m", std::int64_t{6});
              const TensorId x = vector_of(b, 2);
              const TensorId empty = b.add("SequenceEmpty", "empty", std::initializer_list<TensorId>{});
              const GraphId id = b.begin_graph("body");
              const TensorId i = b.tensor("i"), condition = b.tensor("c"), state = b.tensor("s");
              for (const TensorId t : {i, condition, state}) b.graph_input(t);
              b.output(condition);
              b.output(b.add("SequenceInsert", "insert", {state, x}));
              b.end_graph();
              const std::vector<TensorId> out =
                  add_with_outputs(b, "Loop", {m, kNoTensor, empty}, 1, {{"body", id}});
              return std::vector<TensorId>{out[0],
                                           b.add("ConcatFromSequence", "cat", {out[0]}, {{"axis", 0}}),
                                           b.add("SequenceLength", "len", {out[0]})};
            }),
            "6 of 2x4 | 12x4 | int64 scalar = [6]");
}

std::string scan_of(int opset, const std::vector<std::string_view>& inputs,
                    std::initializer_list<AttributeValue> attributes) {
  return inferred(
      [&](Builder& b) {
        ShapeText text(b);
        std::vector<TensorId> ids;
        if (opset == 8) ids.push_back(kNoTensor);
        for (const std::string_view s : inputs) ids.push_back(b.input("x", DataType::float32, text.parse(s)));
        const GraphId id = b.begin_graph("body");
        const TensorId state = b.tensor("state"), step = b.tensor("step");
        b.graph_input(state);
        b.graph_input(step);
        const TensorId sum = b.add("Add", "sum", {state, step});
        b.output(sum);
        b.output(sum);
        b.end_graph();
        std::vector<AttributeValue> all{{"num_scan_inputs", 1}, {"body", id}};
        all.insert(all.end(), attributes.begin(), attributes.end());
        std::vector<TensorId> out{b.tensor("a"), b.tensor("b")};
        b.add("Scan", "", "scan", ids, out, all);
        return out;
      },
      opset);
}

TEST(Control, Scan) {
  EXPECT_EQ(scan_of(9, {"2", "3x2"}, {}), "2 | 3x2");
  EXPECT_EQ(scan_of(11, {"2", "2xn"}, {{"scan_input_axes", {1}}, {"scan_output_axes", {-1}}}), "2 | 2xn");
  EXPECT_EQ(scan_of(8, {"5x2", "5x3x2"}, {}), "5x2 | 5x3x2");
}

TEST(Control, Sequences) {
  EXPECT_EQ(Rule("SequenceConstruct").input("2x3").input("2x3").infer(), "2 of 2x3");
  EXPECT_EQ(Rule("SequenceConstruct").input("2x3").input("5x3").infer(),
            "2 of SequenceConstruct_1.either(<=5)x3");
  EXPECT_EQ(Rule("SequenceConstruct").input("2x3").input("5").infer(), "2 of ?");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").infer(), "6 of 1x3");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").attribute("keepdims", 0).infer(), "6 of 3");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").ints({2}, "scalar").infer(), "3 of 2x3");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").ints({4}, "scalar").infer(),
            "2 of SplitToSequence_1.part(<=4)x3");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").ints({1, 5}).infer(), "2 of SplitToSequence_1.part(<=5)x3");
  EXPECT_EQ(Rule("SplitToSequence").input("6x3").ints({1, 4}).infer(),
            "error: the parts come to 5, the extent to be split is 6");
  EXPECT_EQ(inferred([](Builder& b) {
              const TensorId s =
                  b.add("SequenceConstruct", "s", {vector_of(b, 2), vector_of(b, 2), vector_of(b, 2)});
              const TensorId at = b.constant_scalar("at", std::int64_t{0});
              return std::vector<TensorId>{
                  b.add("SequenceAt", "at", {s, at}), b.add("SequenceErase", "e", {s}),
                  b.add("Identity", "i", {s}),
                  b.add("ConcatFromSequence", "c", {s}, {{"axis", 1}, {"new_axis", 1}})};
            }),
            "2x4 | 2 of 2x4 | 3 of 2x4 | 2x3x4");
}

TEST(Control, Optionals) {
  EXPECT_EQ(inferred([](Builder& b) {
              const TensorId o = b.add("Optional", "o", {vector_of(b, 2)});
              return std::vector<TensorId>{o, b.add("OptionalHasElement", "h", {o}),
                                           b.add("OptionalGetElement", "g", {o})};
            }),
            "optional 2x4 | bool scalar = [1] | 2x4");
}

TEST(Control, SequenceMap) {
  EXPECT_EQ(inferred([](Builder& b) {
              const TensorId s = b.add("SequenceConstruct", "s", {vector_of(b, 2), vector_of(b, 2)});
              const GraphId id = b.begin_graph("body");
              const TensorId x = b.tensor("x");
              b.graph_input(x);
              b.output(b.add("Shape", "shape", {x}));
              b.end_graph();
              return add_with_outputs(b, "SequenceMap", {s}, 1, {{"body", id}});
            }),
            "int64 2 of 2");
}

}  // namespace
}  // namespace plimsoll::network::rule_test
