// Counts of tiny networks, worked out by hand. Expectations are written as the products they come from.
#include "program/count.hpp"

#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "program/count_test_support.hpp"
#include "program/experts.hpp"

namespace plimsoll::program {
namespace {

using namespace count_test;
using network::kUnbounded;

TEST(Count, Convolution) {
  const Counted c = counted([](Builder& b) {
    return b.add("Conv", "op", {x(b, {2, 3, 8, 8}), b.parameter("w", {4, 3, 3, 3}), b.parameter("b", {4})});
  });
  EXPECT_EQ(c.macs(), 2 * 4 * 6 * 6 * 27);
  EXPECT_EQ(c.flops(), 2 * c.macs() + 2 * 4 * 6 * 6);  // and the bias
  EXPECT_EQ(c.counts.forward.bytes_read.high, 4 * (2 * 3 * 64 + 4 * 27 + 4));
  EXPECT_EQ(c.counts.forward.bytes_written.high, 4 * 2 * 4 * 36);
  EXPECT_EQ(c.counts.parameters, 4 * 27 + 4);
  EXPECT_EQ(c.counts.operators.at(0).parameters, 4 * 27 + 4);
}

TEST(Count, GroupedConvolution) {
  const Counted c = counted([](Builder& b) {
    return b.add("Conv", "op", {x(b, {1, 4, 5, 5}), b.parameter("w", {8, 2, 3, 3})}, {{"group", 2}});
  });
  EXPECT_EQ(c.macs(), 8 * 3 * 3 * 2 * 9);
  EXPECT_EQ(c.flops(), 2 * c.macs());
}

TEST(Count, DepthwiseConvolution) {
  const Counted c = counted([](Builder& b) {
    return b.add("Conv", "op", {x(b, {1, 6, 5, 5}), b.parameter("w", {6, 1, 3, 3})},
                 {{"group", 6}, {"pads", {1, 1, 1, 1}}});
  });
  EXPECT_EQ(c.macs(), 6 * 25 * 9);
}

TEST(Count, TransposedConvolution) {
  const Counted c = counted([](Builder& b) {
    return b.add("ConvTranspose", "op", {x(b, {1, 3, 4, 4}), b.parameter("w", {3, 5, 2, 2})},
                 {{"strides", {2, 2}}});
  });
  EXPECT_EQ(c.macs(), 3 * 16 * 5 * 4);
}

TEST(Count, Gemm) {
  const Counted c = counted([](Builder& b) {
    return b.add("Gemm", "op", {x(b, {3, 2}), b.parameter("w", {5, 3}), b.parameter("b", {5})},
                 {{"transA", 1}, {"transB", 1}});
  });
  EXPECT_EQ(c.macs(), 2 * 5 * 3);
  EXPECT_EQ(c.flops(), 2 * c.macs() + 2 * 5);
}

TEST(Count, MatMulOfABatch) {
  EXPECT_EQ(counted([](Builder& b) {
              return b.add("MatMul", "op", {x(b, {2, 3, 4, 5}), b.parameter("w", {5, 6})});
            }).macs(),
            2 * 3 * 4 * 6 * 5);
  EXPECT_EQ(counted([](Builder& b) {
              return b.add("MatMul", "op", {x(b, {2, 1, 4, 5}), b.parameter("w", {3, 5, 6})});
            }).macs(),
            2 * 3 * 4 * 6 * 5);
  EXPECT_EQ(
      counted([](Builder& b) { return b.add("MatMul", "op", {x(b, {5}), b.parameter("w", {5})}); }).macs(),
      5);
}

TEST(Count, Einsum) {
  const auto einsum = [](const char* equation, std::initializer_list<std::int64_t> a,
                         std::initializer_list<std::int64_t> w) {
    return counted([&](Builder& b) {
             return b.add("Einsum", "op", {x(b, a), b.parameter("w", w)}, {{"equation", equation}});
           })
        .macs();
  };
  EXPECT_EQ(einsum("bij,bjk->bik", {2, 3, 4}, {2, 4, 5}), 2 * 3 * 4 * 5);
  EXPECT_EQ(einsum("...ij,jk->...ik", {7, 2, 3, 4}, {4, 5}), 7 * 2 * 3 * 4 * 5);
  EXPECT_EQ(einsum("i,j->ij", {3}, {4}), 3 * 4);
}

TEST(Count, Lstm) {
  const Counted c = counted([](Builder& b) {
    return b.add("LSTM", "op",
                 {x(b, {5, 2, 3}), b.parameter("w", {1, 16, 3}), b.parameter("r", {1, 16, 4}),
                  b.parameter("b", {1, 32})},
                 {{"hidden_size", 4}});
  });
  EXPECT_EQ(c.macs(), 5 * 2 * (16 * 3 + 16 * 4));
  EXPECT_EQ(c.flops(), 2 * c.macs() + 5 * 2 * 4 * 20 + 5 * 2 * 32);
}

TEST(Count, Attention) {
  const Counted c = counted(
      [](Builder& b) {
        return b.add("Attention", "op", {x(b, {1, 2, 4, 8}), x(b, {1, 2, 6, 8}), x(b, {1, 2, 6, 16})});
      },
      {}, 23);
  EXPECT_EQ(c.macs(), 2 * 4 * 6 * (8 + 16));
  EXPECT_EQ(c.flops(), 2 * c.macs() + 5 * 2 * 4 * 6);
}

TEST(Count, SlidingAttention) {
  const auto macs = [](std::int64_t window, const Conventions& conventions) {
    const Net net = [&](Builder& b) {
      return b.add("Attention", "op", {x(b, {1, 4, 6, 8}), x(b, {1, 2, 6, 8}), x(b, {1, 2, 6, 8})},
                   {{"is_causal", 1}, {"local_window_size", window}});
    };
    return counted(net, conventions, 23).macs();
  };
  EXPECT_EQ(macs(3, {}), 4 * 6 * 3 * 16);
  EXPECT_EQ(macs(100, {}), 4 * 6 * 6 * 16);
  EXPECT_EQ(macs(100, {.halve_causal = true}), 4 * 6 * 6 * 16 / 2);
  EXPECT_EQ(macs(3, {.halve_causal = true}), 4 * 6 * 3 * 16);
}

TEST(Count, Experts) {
  // 6 rows of width 8; 2 of 4 experts each; gate and up of 12 in one weight.
  const Net net = [](Builder& b) {
    b.opset("com.microsoft", 1);
    const TensorId out = b.tensor("y");
    const TensorId inputs[] = {x(b, {2, 3, 8}), x(b, {6, 4}), b.parameter("up", {4, 24, 8}),
                               network::kNoTensor, b.parameter("down", {4, 8, 12})};
    const network::AttributeValue k[] = {{"k", 2}};
    b.add("MoE", "com.microsoft", "op", inputs, std::span(&out, 1), k);
    return out;
  };
  const Counted c = counted(net);
  EXPECT_EQ(c.macs(), 6 * 2 * (24 * 8 + 8 * 12));
  EXPECT_EQ(c.flops(), 2 * c.macs() + 6 * 4 * 5 + 6 * 2 * 12 * 6 + 6 * 2 * 8 * 2);
}

TEST(Count, ExpertsThatAreChosen) {
  const ChosenExperts one = chosen_experts(8, 2, 1);
  EXPECT_EQ(std::tuple(one.least, one.most, one.expected), std::tuple(2, 2, 2));
  const ChosenExperts few = chosen_experts(8, 2, 4);  // 8 (1 - 0.75^4) = 5.47
  EXPECT_EQ(std::tuple(few.least, few.most, few.expected), std::tuple(2, 8, 5));
  const ChosenExperts many = chosen_experts(128, 8, 4096);
  EXPECT_EQ(std::tuple(many.least, many.most, many.expected), std::tuple(8, 128, 128));
  EXPECT_EQ(chosen_experts(0, 2, 4).expected, 0);
  EXPECT_EQ(chosen_experts(4, 4, network::kUnbounded).expected, 4);
}

TEST(Count, ElementwisePoolingSoftmax) {
  EXPECT_EQ(counted([](Builder& b) { return b.add("Relu", "op", {x(b, {2, 5})}); }).flops(), 10);
  EXPECT_EQ(counted([](Builder& b) {
              return b.add("MaxPool", "op", {x(b, {1, 2, 4, 4})},
                           {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
            }).flops(),
            2 * 2 * 2 * 4);
  EXPECT_EQ(counted([](Builder& b) { return b.add("Softmax", "op", {x(b, {2, 5})}); }).flops(), 5 * 10);
  EXPECT_EQ(
      counted([](Builder& b) { return b.add("GlobalAveragePool", "op", {x(b, {1, 2, 4, 4})}); }).flops(), 32);
  EXPECT_EQ(counted([](Builder& b) { return b.add("Sum", "op", {x(b, {4}), x(b, {4}), x(b, {4})}); }).flops(),
            8);
}

TEST(Count, Conventions) {
  const Net net = [](Builder& b) {
    const TensorId c =
        b.add("Conv", "conv", {x(b, {1, 3, 4, 4}), b.parameter("w", {2, 3, 1, 1}), b.parameter("b", {2})});
    return b.add("BatchNormalization", "norm",
                 {c, b.parameter("s", {2}), b.parameter("o", {2}), b.buffer("m", {2}), b.buffer("v", {2})});
  };
  const std::int64_t macs = 2 * 16 * 3, elements = 2 * 16;
  EXPECT_EQ(counted(net).flops(), 2 * macs + elements + 2 * elements);
  EXPECT_EQ(counted(net, {.flops_per_mac = 1}).flops(), macs + elements + 2 * elements);
  EXPECT_EQ(counted(net, {.bias = false}).flops(), 2 * macs + 2 * elements);
  EXPECT_EQ(counted(net, {.batch_norm = false}).flops(), 2 * macs + elements);
  EXPECT_EQ(counted(net).counts.parameters, 6 + 2 + 4);
  EXPECT_EQ(counted(net).counts.weight_bytes, 4 * (6 + 2 + 4 + 4));
}

TEST(Count, CausalAttentionIsHalvedOnlyWhereTheMaskSaysSo) {
  const auto attention = [](bool triangle) {
    return [triangle](Builder& b) {
      const TensorId scores = b.add("MatMul", "scores", {x(b, {1, 4, 8}), x(b, {1, 8, 4})});
      const TensorId ones = x(b, {4, 4});
      const TensorId mask = triangle ? b.add("Trilu", "mask", {ones}, {{"upper", 0}}) : ones;
      const TensorId masked = b.add("Add", "masked", {scores, mask});
      return b.add("MatMul", "sum", {b.add("Softmax", "soft", {masked}), x(b, {1, 4, 8})});
    };
  };
  EXPECT_EQ(counted(attention(true)).macs(), 2 * 4 * 4 * 8);
  EXPECT_EQ(counted(attention(true), {.halve_causal = true}).macs(), 4 * 4 * 8);
  EXPECT_EQ(counted(attention(false), {.halve_causal = true}).macs(), 2 * 4 * 4 * 8);
}

TEST(Count, BackwardMakesAProductForEachOperandThatNeedsAGradient) {
  const Counted c = counted([](Builder& b) {
    const TensorId first = b.add("MatMul", "first", {x(b, {2, 3}), b.parameter("w", {3, 4})});
    return b.add("MatMul", "second", {b.add("Relu", "relu", {first}), b.parameter("v", {4, 5})});
  });
  EXPECT_EQ(c.counts.backward_of(c.counts.operators.at(0)).macs.high, 2 * 3 * 4);      // the input needs none
  EXPECT_EQ(c.counts.backward_of(c.counts.operators.at(2)).macs.high, 2 * 2 * 4 * 5);  // both do
  EXPECT_GT(c.counts.backward_of(c.counts.operators.at(1)).flops.high, 0);
}

TEST(Count, NothingLearnedNothingBackward) {
  const Counted c =
      counted([](Builder& b) { return b.add("MatMul", "op", {x(b, {2, 3}), b.buffer("w", {3, 4})}); });
  EXPECT_EQ(c.counts.backward, Work{});
  EXPECT_EQ(c.counts.parameters, 0);
  EXPECT_EQ(c.counts.weight_bytes, 4 * 12);
}

TEST(Count, SharedWeightsCountOnce) {
  const Counted c = counted([](Builder& b) {
    const TensorId w = b.parameter("w", {3, 3});
    const TensorId same = b.add("Identity", "same", {w});
    return b.add("MatMul", "second", {b.add("MatMul", "first", {x(b, {2, 3}), same}), w});
  });
  EXPECT_EQ(c.counts.parameters, 9);
  std::int64_t attributed = 0;
  for (const OperatorCount& row : c.counts.operators) attributed += row.parameters;
  EXPECT_EQ(attributed, 9);
  EXPECT_EQ(c.counts.operators.at(1).parameters, 9);  // at who computes with it first, not at the Identity
  EXPECT_EQ(c.macs(), 2 * 2 * 3 * 3);
}

TEST(Count, ShapeArithmeticIsFolded) {
  const Counted c = counted([](Builder& b) {
    const TensorId input = x(b, {2, 3, 4});
    const TensorId rows =
        b.add("Gather", "rows", {b.add("Shape", "shape", {input}), b.constant("zero", {0})});
    const TensorId target = b.add("Concat", "target", {rows, b.constant("rest", {-1})}, {{"axis", 0}});
    return b.add("Reshape", "reshape", {input, target});
  });
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(c.counts.operators.at(i).coverage, Coverage::folded) << i;
  EXPECT_EQ(c.counts.operators.at(3).coverage, Coverage::counted);
  EXPECT_EQ(c.counts.counted, c.counts.nodes);
  EXPECT_EQ(c.counts.forward, Work{});
}

TEST(Count, UnknownOperatorIsListedAndInNoTotal) {
  const Counted c = counted([](Builder& b) {
    return b.add("Relu", "relu", {b.add("Mystery", "mystery", {b.add("Relu", "first", {x(b, {4})})})});
  });
  EXPECT_EQ(c.counts.nodes, 3u);
  EXPECT_EQ(c.counts.operators.at(1).coverage, Coverage::no_rule);
  // Nothing is known of what the last one gets.
  EXPECT_EQ(c.counts.operators.at(2).coverage, Coverage::unbounded);
  EXPECT_EQ(c.counts.counted, 1u);
  EXPECT_EQ(c.flops(), 4);
}

TEST(Count, DataDecidesWithinBounds) {
  const Counted c = counted([](Builder& b) {
    const TensorId found = b.add("NonZero", "find", {x(b, {6})});
    return b.add("MatMul", "op",
                 {b.add("Cast", "cast", {b.add("Transpose", "turn", {found})}, {{"to", 1}}),
                  b.parameter("w", {1, 5})});
  });
  EXPECT_EQ(c.counts.forward.macs.low, 0);
  EXPECT_EQ(c.counts.forward.macs.high, 6 * 5);
}

/// If over a product of 3x3 weights and a Relu.
Net branching(std::optional<std::int64_t> condition) {
  return [condition](Builder& b) {
    const TensorId input = x(b, {2, 3});
    const TensorId test =
        condition ? b.constant_scalar("c", *condition)
                  : b.input("c", network::DataType::boolean, std::initializer_list<network::Dim>{});
    const network::GraphId heavy = b.begin_graph("heavy");
    b.output(b.add("MatMul", "product", {input, b.parameter("w", {3, 3})}));
    b.end_graph();
    const network::GraphId light = b.begin_graph("light");
    b.output(b.add("Relu", "relu", {input}));
    b.end_graph();
    return b.add("If", "if", {test}, {{"then_branch", heavy}, {"else_branch", light}});
  };
}

TEST(Count, IfTakesTheHeavierBranchAsBound) {
  const Counted c = counted(branching({}));
  EXPECT_EQ(c.counts.forward.macs, (Interval{0, 2 * 3 * 3}));
  EXPECT_EQ(c.counts.forward.flops, (Interval{6, 2 * 2 * 3 * 3}));
  EXPECT_EQ(c.counts.nodes, 3u);
  EXPECT_EQ(c.counts.operators.at(1).alternative, 0u);
  EXPECT_EQ(c.counts.operators.at(2).alternative, 1u);
  EXPECT_FALSE(c.counts.operators.at(1).certain);
  EXPECT_FALSE(c.counts.operators.at(2).certain);
}

TEST(Count, IfWithAKnownConditionTakesThatBranch) {
  EXPECT_EQ(counted(branching(1)).counts.forward.macs, (Interval{2 * 3 * 3, 2 * 3 * 3}));
  EXPECT_EQ(counted(branching(0)).counts.forward.macs, (Interval{0, 0}));
  EXPECT_EQ(counted(branching(0)).counts.forward.flops, (Interval{6, 6}));
  EXPECT_TRUE(counted(branching(1)).counts.operators.at(1).certain);
}

/// A Loop around one product.
Net looping(std::optional<std::int64_t> trips, bool may_stop) {
  return [trips, may_stop](Builder& b) {
    const TensorId most = trips ? b.constant_scalar("m", *trips) : network::kNoTensor;
    const std::initializer_list<network::Dim> scalar = {};
    const TensorId go = may_stop ? b.input("go", network::DataType::boolean, scalar) : network::kNoTensor;
    const TensorId start = x(b, {2, 3});
    const network::GraphId body = b.begin_graph("body");
    b.input("i", network::DataType::int64, scalar);
    const TensorId on = b.input("on", network::DataType::boolean, scalar);
    const TensorId state =
        b.input("state", network::DataType::float32, {network::Dim::of(2), network::Dim::of(3)});
    b.output(b.add("Identity", "again", {on}));
    b.output(b.add("MatMul", "product", {state, b.parameter("w", {3, 3})}));
    b.end_graph();
    return b.add("Loop", "loop", {most, go, start}, {{"body", body}});
  };
}

TEST(Count, LoopMultipliesItsBody) {
  EXPECT_EQ(counted(looping(7, false)).counts.forward.macs, (Interval{7 * 18, 7 * 18}));
  EXPECT_EQ(counted(looping(7, true)).counts.forward.macs, (Interval{0, 7 * 18}));
  EXPECT_EQ(counted(looping(7, false)).counts.parameters, 9);
}

TEST(Count, LoopWithoutABoundIsListedAndInNoTotal) {
  const Counted c = counted(looping({}, true));
  EXPECT_EQ(c.counts.operators.at(2).coverage, Coverage::unbounded);
  EXPECT_NE(c.counts.forward.flops.high, kUnbounded);
  EXPECT_LT(c.counts.counted, c.counts.nodes);
}

TEST(Count, WorkThatLeavesSixtyThreeBitsIsUnbounded) {
  const Counted c = counted([](Builder& b) {
    const std::int64_t n = std::int64_t{1} << 30;
    return b.add("MatMul", "op", {x(b, {n, n}), x(b, {n, n})});
  });
  EXPECT_EQ(c.counts.operators.at(0).coverage, Coverage::unbounded);
  EXPECT_EQ(c.counts.counted, 0u);
}

}  // namespace
}  // namespace plimsoll::program
