// Operators of an exported graph that are one kernel in the framework: what is found, and what must not be.
#include "network/fusion.hpp"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "network/test_network.hpp"

namespace plimsoll::network {
namespace {

using namespace test_network;
using Kind = Fusion::Kind;

/// What became of each operator, by its name.
struct Recognised {
  Built built;
  std::vector<Fusion> fusions;

  explicit Recognised(const Net& net, int opset = 17)
      : built(test_network::built(net, opset)), fusions(recognise(built.network, built.shapes)) {}

  [[nodiscard]] const Fusion& of(std::string_view name) const {
    static const Fusion missing;
    const auto& operators = built.network.main().operators;
    for (std::size_t i = 0; i < operators.size(); ++i)
      if (built.network.name_of(operators[i]) == name) return fusions[i];
    ADD_FAILURE() << "no operator " << name;
    return missing;
  }
  [[nodiscard]] Kind kind(std::string_view name) const { return of(name).kind; }
  [[nodiscard]] std::string_view input(std::string_view name, std::size_t i) const {
    return this->name(of(name).inputs[i]);
  }
  [[nodiscard]] std::string_view name(TensorId id) const {
    return id == kNoTensor ? std::string_view() : built.network.name_of(id);
  }
  [[nodiscard]] bool nothing() const {
    return std::ranges::all_of(fusions, [](const Fusion& f) { return f.kind == Kind::none; });
  }
};

// ---- GELU

/// erf(x / sqrt 2) + 1
TensorId erf_part(Builder& b, TensorId x) {
  const TensorId scaled = b.add("Div", "scale", {x, b.constant_scalar("root", 1.4142135)});
  return b.add("Add", "plus", {b.add("Erf", "erf", {scaled}), b.constant_scalar("one", 1.0)});
}

void expect_gelu(const Recognised& r, std::initializer_list<std::string_view> skipped,
                 std::string_view last) {
  for (const std::string_view name : skipped) EXPECT_EQ(r.kind(name), Kind::skipped) << name;
  EXPECT_EQ(r.kind(last), Kind::gelu);
  EXPECT_EQ(r.input(last, 0), "x");
}

TEST(Recognise, GeluAsXTimesSumThenHalf) {
  const Recognised r([](Builder& b) {
    const TensorId x = input(b, "x", {2, 8});
    const TensorId product = b.add("Mul", "product", {x, erf_part(b, x)});
    return b.add("Mul", "last", {product, b.constant_scalar("half", 0.5)});
  });
  expect_gelu(r, {"scale", "erf", "plus", "product"}, "last");
}

TEST(Recognise, GeluAsHalfOfSumTimesX) {
  const Recognised r([](Builder& b) {
    const TensorId x = input(b, "x", {2, 8});
    const TensorId half = b.add("Mul", "half of it", {erf_part(b, x), b.constant_scalar("half", 0.5)});
    return b.add("Mul", "last", {x, half});
  });
  expect_gelu(r, {"scale", "erf", "plus", "half of it"}, "last");
}

TEST(Recognise, GeluAsHalfOfXTimesSum) {
  const Recognised r([](Builder& b) {
    const TensorId x = input(b, "x", {2, 8});
    const TensorId half = b.add("Mul", "half of it", {x, b.constant_scalar("half", 0.5)});
    return b.add("Mul", "last", {half, erf_part(b, x)});
  });
  expect_gelu(r, {"scale", "erf", "plus", "half of it"}, "last");
}

TEST(Recognise, NoGeluOfTwoTensors) {
  EXPECT_TRUE(Recognised([](Builder& b) {
                const TensorId x = input(b, "x", {2, 8}), y = input(b, "y", {2, 8});
                return b.add("Mul", "last",
                             {b.add("Mul", "product", {y, erf_part(b, x)}), b.constant_scalar("half", 0.5)});
              }).nothing());
}

TEST(Recognise, NoGeluWithoutTheHalf) {
  EXPECT_TRUE(Recognised([](Builder& b) {
                const TensorId x = input(b, "x", {2, 8});
                return b.add("Mul", "last", {x, erf_part(b, x)});
              }).nothing());
}

/// A GELU of the second order, of which something else reads one value.
Recognised gelu_with_reader(std::string_view read) {
  return Recognised([&](Builder& b) {
    const TensorId x = input(b, "x", {2, 8});
    const TensorId scaled = b.add("Div", "scale", {x, b.constant_scalar("root", 1.4142135)});
    const TensorId erf = b.add("Erf", "erf", {scaled});
    const TensorId plus = b.add("Add", "plus", {erf, b.constant_scalar("one", 1.0)});
    const TensorId half = b.add("Mul", "half of it", {x, b.constant_scalar("half", 0.5)});
    const TensorId last = b.add("Mul", "last", {half, plus});
    const TensorId used = read == "scale" ? scaled : read == "erf" ? erf : read == "plus" ? plus : half;
    return b.add("Add", "sum", {last, used});
  });
}

TEST(Recognise, NoGeluWhereAnInnerValueIsUsedElsewhere) {
  for (const std::string_view read : {"scale", "erf", "plus", "half of it"})
    EXPECT_TRUE(gelu_with_reader(read).nothing()) << read;
}

// ---- SiLU and hard-swish

TEST(Recognise, GatedActivations) {
  for (const bool first : {true, false})
    for (const auto& [gate, kind] :
         {std::pair("Sigmoid", Kind::silu), std::pair("HardSigmoid", Kind::hard_swish)}) {
      const Recognised r([&](Builder& b) {
        const TensorId x = input(b, "x", {2, 8});
        const TensorId g = kind == Kind::hard_swish ? b.add(gate, "gate", {x}, {{"alpha", 1.0 / 6}})
                                                    : b.add(gate, "gate", {x});
        return first ? b.add("Mul", "last", {x, g}) : b.add("Mul", "last", {g, x});
      });
      EXPECT_EQ(r.kind("gate"), Kind::skipped);
      EXPECT_EQ(r.kind("last"), kind) << gate;
      EXPECT_EQ(r.input("last", 0), "x");
    }
}

TEST(Recognise, NoHardSwishOfAnotherSlope) {
  EXPECT_TRUE(Recognised([](Builder& b) {  // HardSigmoid's own default is a fifth
                const TensorId x = input(b, "x", {2, 8});
                return b.add("Mul", "last", {x, b.add("HardSigmoid", "gate", {x})});
              })
                  .nothing());
}

TEST(Recognise, NoGateOfAnotherTensorOrWithOtherReaders) {
  EXPECT_TRUE(Recognised([](Builder& b) {
                const TensorId x = input(b, "x", {2, 8}), y = input(b, "y", {2, 8});
                return b.add("Mul", "last", {y, b.add("Sigmoid", "gate", {x})});
              }).nothing());
  EXPECT_TRUE(Recognised([](Builder& b) {
                const TensorId x = input(b, "x", {2, 8});
                const TensorId gate = b.add("Sigmoid", "gate", {x});
                return b.add("Add", "sum", {b.add("Mul", "last", {x, gate}), gate});
              }).nothing());
  EXPECT_TRUE(Recognised([](Builder& b) {  // the gate itself is a result of the network
                const TensorId x = input(b, "x", {2, 8});
                const TensorId gate = b.add("Sigmoid", "gate", {x});
                b.output(gate);
                return b.add("Mul", "last", {x, gate});
              })
                  .nothing());
}

// ---- Attention

struct AttentionForm {
  bool mask = false, boolean_mask = false, nan = false, dropout = false, folded_key = false;
  std::string_view read = {};  ///< an inner value that something else reads, too
};

/// Attention of 3 heads as torch's exporters write scaled_dot_product_attention.
TensorId attention(Builder& b, const AttentionForm& form) {
  const TensorId q = input(b, "q", {2, 3, 5, 4}), k = input(b, "k", {2, 3, 5, 4}),
                 v = input(b, "v", {2, 3, 5, 4});
  const TensorId root = b.constant_scalar("root", 0.70710678);
  std::vector<std::pair<std::string_view, TensorId>> inner;
  const auto note = [&](std::string_view name, TensorId id) {
    inner.emplace_back(name, id);
    return id;
  };
  const TensorId query = note("scale q", b.add("Mul", "scale q", {q, root}));
  TensorId key = k;
  if (form.folded_key) {
    key = b.add("Reshape", "fold", {key, b.constant("folded", {6, 5, 4})});
    key = b.add("Transpose", "turn", {key}, {{"perm", {0, 2, 1}}});
    key = b.add("Reshape", "unfold", {key, b.constant("unfolded", {2, 3, 4, 5})});
  } else {
    key = note("turn", b.add("Transpose", "turn", {key}, {{"perm", {0, 1, 3, 2}}}));
  }
  key = note("scale k", b.add("Mul", "scale k", {key, root}));
  TensorId scores = note("scores", b.add("MatMul", "scores", {query, key}));
  if (form.boolean_mask) {
    const TensorId allowed = b.input("allowed", DataType::boolean, {Dim::of(5), Dim::of(5)});
    const TensorId added =
        b.add("Where", "where", {allowed, b.constant_scalar("zero", 0.0), b.constant_scalar("minus", -1e30)});
    scores = b.add("Add", "mask", {scores, added});
  } else if (form.mask) {
    scores = b.add("Add", "mask", {scores, input(b, "m", {5, 5})});
  }
  TensorId weights = note("softmax", b.add("Softmax", "softmax", {scores}, {{"axis", -1}}));
  if (form.nan) {
    const TensorId nan = b.add("IsNaN", "nan", {weights});
    weights = b.add("Where", "replace", {nan, b.constant_scalar("nought", 0.0), weights});
  }
  if (form.dropout) weights = b.add("Dropout", "drop", {weights, b.constant_scalar("ratio", 0.1)});
  const TensorId last = b.add("MatMul", "last", {weights, v});
  for (const auto& [name, id] : inner)
    if (name == form.read) b.output(b.add("Abs", "reader", {id}));
  return last;
}

void expect_attention(const AttentionForm& form, std::initializer_list<std::string_view> skipped) {
  const Recognised r([&](Builder& b) { return attention(b, form); });
  for (const std::string_view name : skipped) EXPECT_EQ(r.kind(name), Kind::skipped) << name;
  EXPECT_EQ(r.kind("last"), Kind::attention);
  EXPECT_EQ(r.input("last", 0), "q");
  EXPECT_EQ(r.input("last", 1), "k");
  EXPECT_EQ(r.input("last", 2), "v");
  EXPECT_EQ(r.name(r.of("last").scales[0]), "root");
  EXPECT_EQ(r.name(r.of("last").scales[1]), "root");
  EXPECT_EQ(r.name(r.of("last").mask), form.boolean_mask ? "where" : form.mask ? "m" : "");
  EXPECT_EQ(r.name(r.of("last").allowed), form.boolean_mask ? "allowed" : "");
}

TEST(Recognise, AttentionAsExportersWriteIt) {
  expect_attention({}, {"scale q", "turn", "scale k", "scores", "softmax"});
  expect_attention({.folded_key = true},
                   {"scale q", "fold", "turn", "unfold", "scale k", "scores", "softmax"});
}

TEST(Recognise, AttentionWithMask) {
  expect_attention({.mask = true}, {"scores", "mask", "softmax"});
  expect_attention({.boolean_mask = true, .nan = true},
                   {"scores", "where", "mask", "softmax", "nan", "replace"});
}

TEST(Recognise, AttentionWithDropout) {
  expect_attention({.dropout = true}, {"scores", "softmax", "drop"});
  expect_attention({.mask = true, .nan = true, .dropout = true},
                   {"mask", "softmax", "nan", "replace", "drop"});
}

TEST(Recognise, AMaskThatSeveralReadIsMade) {
  const Recognised r([](Builder& b) {
    const TensorId y = attention(b, {.boolean_mask = true});
    TensorId where = kNoTensor;  // the mask's own values are read once more
    for (const auto& op : b.peek().main().operators)
      if (b.peek().name_of(op) == "where") where = b.peek().outputs(op).front();
    b.output(b.add("Abs", "reader", {where}));
    return y;
  });
  EXPECT_EQ(r.kind("last"), Kind::attention);
  EXPECT_EQ(r.kind("where"), Kind::none);
}

TEST(Recognise, NoAttentionWhereAnInnerValueIsUsedElsewhere) {
  for (const std::string_view read : {"scale q", "turn", "scale k", "scores", "softmax"})
    EXPECT_TRUE(Recognised([&](Builder& b) { return attention(b, {.read = read}); }).nothing()) << read;
}

TEST(Recognise, AttentionByHandIsLeftAlone) {
  EXPECT_TRUE(Recognised([](Builder& b) {  // softmax(q k' / sqrt d) v
                const TensorId q = input(b, "q", {2, 3, 5, 4}), k = input(b, "k", {2, 3, 5, 4}),
                               v = input(b, "v", {2, 3, 5, 4});
                const TensorId turned = b.add("Transpose", "turn", {k}, {{"perm", {0, 1, 3, 2}}});
                const TensorId scores = b.add("MatMul", "scores", {q, turned});
                const TensorId scaled = b.add("Div", "scaled", {scores, b.constant_scalar("root", 2.0)});
                return b.add("MatMul", "last", {b.add("Softmax", "softmax", {scaled}), v});
              })
                  .nothing());
  EXPECT_TRUE(Recognised([](Builder& b) {  // only the query is scaled
                const TensorId q = input(b, "q", {2, 3, 5, 4}), k = input(b, "k", {2, 3, 5, 4}),
                               v = input(b, "v", {2, 3, 5, 4});
                const TensorId scaled = b.add("Mul", "scaled", {q, b.constant_scalar("root", 0.5)});
                const TensorId turned = b.add("Transpose", "turn", {k}, {{"perm", {0, 1, 3, 2}}});
                const TensorId scores = b.add("MatMul", "scores", {scaled, turned});
                return b.add("MatMul", "last", {b.add("Softmax", "softmax", {scores}), v});
              })
                  .nothing());
}

TEST(Recognise, NoAttentionWhereTheWeightsAreTheSecondFactor) {
  EXPECT_TRUE(Recognised([](Builder& b) {
                const TensorId q = input(b, "q", {2, 3, 5, 4}), k = input(b, "k", {2, 3, 5, 4}),
                               v = input(b, "v", {2, 3, 4, 5});
                const TensorId root = b.constant_scalar("root", 0.5);
                const TensorId turned = b.add("Transpose", "turn", {k}, {{"perm", {0, 1, 3, 2}}});
                const TensorId scores =
                    b.add("MatMul", "scores",
                          {b.add("Mul", "scale q", {q, root}), b.add("Mul", "scale k", {turned, root})});
                return b.add("MatMul", "last", {v, b.add("Softmax", "softmax", {scores})});
              }).nothing());
}

// ---- LayerNorm below opset 17

struct NormForm {
  bool learned = true;
  std::string_view read = {};
};

TensorId layer_norm(Builder& b, const NormForm& form) {
  const TensorId x = input(b, "x", {2, 5, 8});
  const TensorId mean = b.add("ReduceMean", "mean", {x}, {{"axes", {-1}}});
  const TensorId centred = b.add("Sub", "centred", {x, mean});
  const TensorId square = b.add("Pow", "square", {centred, b.constant_scalar("two", 2.0)});
  const TensorId variance = b.add("ReduceMean", "variance", {square}, {{"axes", {-1}}});
  const TensorId shifted = b.add("Add", "epsilon", {variance, b.constant_scalar("e", 1e-5)});
  const TensorId root = b.add("Sqrt", "root", {shifted});
  const TensorId quotient = b.add("Div", "quotient", {centred, root});
  const TensorId scale = form.learned ? b.parameter("g", {8}) : input(b, "g", {8});
  const TensorId scaled = b.add("Mul", "scaled", {quotient, scale});
  const TensorId last = b.add("Add", "last", {scaled, b.parameter("b", {8})});
  for (const TensorId id : {mean, centred, square, variance, root, quotient, scaled})
    if (b.name_of(id) == form.read) b.output(b.add("Abs", "reader", {id}));
  return last;
}

TEST(Recognise, LayerNormOfOldOpsets) {
  const Recognised r([](Builder& b) { return layer_norm(b, {}); }, 13);
  for (const std::string_view name :
       {"mean", "centred", "square", "variance", "epsilon", "root", "quotient", "scaled"})
    EXPECT_EQ(r.kind(name), Kind::skipped) << name;
  EXPECT_EQ(r.kind("last"), Kind::layer_norm);
  EXPECT_EQ(r.input("last", 0), "x");
  EXPECT_EQ(r.input("last", 1), "g");
  EXPECT_EQ(r.input("last", 2), "b");
}

TEST(Recognise, NoLayerNormOfWhatIsNotLearned) {
  EXPECT_TRUE(Recognised([](Builder& b) { return layer_norm(b, {.learned = false}); }, 13).nothing());
}

TEST(Recognise, NoLayerNormWhereAnInnerValueIsUsedElsewhere) {
  for (const std::string_view read : {"mean", "centred", "square", "variance", "root", "quotient", "scaled"})
    EXPECT_TRUE(Recognised([&](Builder& b) { return layer_norm(b, {.read = read}); }, 13).nothing()) << read;
}

// ---- Linear

TEST(Recognise, LinearWithoutBias) {
  const Recognised r([](Builder& b) {
    return b.add("MatMul", "product", {input(b, "x", {2, 5, 8}), b.parameter("w", {8, 3})});
  });
  EXPECT_EQ(r.kind("product"), Kind::linear);
  EXPECT_EQ(r.input("product", 0), "x");
  EXPECT_EQ(r.input("product", 1), "w");
  EXPECT_EQ(r.input("product", 2), "");
}

TEST(Recognise, LinearWithBiasOnEitherSide) {
  for (const bool first : {true, false}) {
    const Recognised r([&](Builder& b) {
      const TensorId product =
          b.add("MatMul", "product", {input(b, "x", {2, 5, 8}), b.parameter("w", {8, 3})});
      const TensorId bias = b.parameter("b", {3});
      return first ? b.add("Add", "sum", {bias, product}) : b.add("Add", "sum", {product, bias});
    });
    EXPECT_EQ(r.kind("product"), Kind::skipped);
    EXPECT_EQ(r.kind("sum"), Kind::linear);
    EXPECT_EQ(r.input("sum", 0), "x");
    EXPECT_EQ(r.input("sum", 1), "w");
    EXPECT_EQ(r.input("sum", 2), "b");
  }
}

TEST(Recognise, LinearWithATurnedWeight) {
  const Recognised r([](Builder& b) {
    return b.add("MatMul", "product",
                 {input(b, "x", {5, 8}), b.add("Transpose", "turn", {b.parameter("w", {3, 8})})});
  });
  EXPECT_EQ(r.kind("turn"), Kind::skipped);
  EXPECT_EQ(r.kind("product"), Kind::linear);
  EXPECT_EQ(r.input("product", 1), "w");
}

TEST(Recognise, ATurnedWeightThatSeveralReadIsStillTurned) {
  const Recognised r([](Builder& b) {
    const TensorId w = b.add("Transpose", "turn", {b.parameter("w", {8, 8})});
    return b.add("MatMul", "second", {b.add("MatMul", "first", {input(b, "x", {5, 8}), w}), w});
  });
  EXPECT_EQ(r.kind("turn"), Kind::none);
  EXPECT_EQ(r.kind("first"), Kind::linear);
  EXPECT_EQ(r.kind("second"), Kind::linear);
}

TEST(Recognise, WeightsBehindIdentity) {
  const Recognised r([](Builder& b) {
    const TensorId w = b.add("Identity", "same", {b.add("Identity", "equal", {b.parameter("w", {8, 8})})});
    const TensorId product = b.add("MatMul", "product", {input(b, "x", {5, 8}), w});
    return b.add("Add", "sum", {product, b.add("Identity", "bias", {b.parameter("b", {8})})});
  });
  EXPECT_EQ(r.kind("product"), Kind::skipped);
  EXPECT_EQ(r.kind("sum"), Kind::linear);
  EXPECT_EQ(r.kind("same"), Kind::none);
}

TEST(Recognise, BiasStaysApartWhereTheProductIsUsedElsewhere) {
  const Recognised r([](Builder& b) {
    const TensorId product = b.add("MatMul", "product", {input(b, "x", {5, 8}), b.parameter("w", {8, 8})});
    return b.add("Mul", "last", {b.add("Add", "sum", {product, b.parameter("b", {8})}), product});
  });
  EXPECT_EQ(r.kind("product"), Kind::linear);
  EXPECT_EQ(r.input("product", 2), "");
  EXPECT_EQ(r.kind("sum"), Kind::none);
}

TEST(Recognise, WhatIsAddedIsNoBias) {
  const Recognised residual([](Builder& b) {
    const TensorId x = input(b, "x", {5, 8});
    return b.add("Add", "sum", {b.add("MatMul", "product", {x, b.parameter("w", {8, 8})}), x});
  });
  EXPECT_EQ(residual.kind("product"), Kind::linear);
  EXPECT_EQ(residual.kind("sum"), Kind::none);
  const Recognised position([](Builder& b) {
    const TensorId product = b.add("MatMul", "product", {input(b, "x", {5, 8}), b.parameter("w", {8, 8})});
    return b.add("Add", "sum", {product, b.parameter("position", {5, 8})});
  });
  EXPECT_EQ(position.kind("sum"), Kind::none);
}

TEST(Recognise, ProductsThatAreNoLinearLayers) {
  EXPECT_TRUE(Recognised([](Builder& b) {  // of two activations
                return b.add("MatMul", "product", {input(b, "x", {5, 8}), input(b, "y", {8, 3})});
              })
                  .nothing());
  EXPECT_TRUE(Recognised([](Builder& b) {  // a weight on the left
                return b.add("MatMul", "product", {b.parameter("w", {3, 5}), input(b, "x", {5, 8})});
              })
                  .nothing());
  EXPECT_TRUE(Recognised([](Builder& b) {  // a batch of weights
                return b.add("MatMul", "product", {input(b, "x", {4, 5, 8}), b.parameter("w", {4, 8, 3})});
              })
                  .nothing());
}

}  // namespace
}  // namespace plimsoll::network
