#include "network/quantized.hpp"

#include <gmock/gmock.h>

#include "network/builder.hpp"

namespace plimsoll::network {
namespace {

using Kind = QuantizedLayer::Kind;
using ::testing::ElementsAre;

/// Levels of x, a convolution with an activation or none, levels again.
struct Written {
  Builder b{"quantised"};
  TensorId scale, zero, weight, weight_scale;

  Written() {
    b.opset("", 13);
    scale = b.buffer("s", {});
    zero = b.buffer("z", {}, DataType::uint8);
    weight = b.parameter("w", {4, 3, 1, 1}, DataType::int8);
    weight_scale = b.buffer("ws", {4});
  }
  TensorId levels(TensorId x) { return b.add("QuantizeLinear", "q", {x, scale, zero}); }
  TensorId real(TensorId q) { return b.add("DequantizeLinear", "d", {q, scale, zero}); }
  TensorId input() {
    return b.input("x", DataType::float32, {Dim::of(1), Dim::of(3), Dim::of(2), Dim::of(2)});
  }
  TensorId convolved(TensorId x, std::int64_t axis = 0) {
    return b.add("Conv", "conv",
                 {x, b.add("DequantizeLinear", "dw", {weight, weight_scale}, {{"axis", axis}})});
  }
  std::vector<Kind> kinds() && {
    const Network n = std::move(b).finish();
    std::vector<Kind> out;
    for (const QuantizedLayer& layer : find_quantized_layers(n)) out.push_back(layer.kind);
    return out;
  }
};

TEST(QuantizedLayers, AConvolutionAndItsActivationAreOneAtItsQuantizeLinear) {
  Written w;
  const TensorId x = w.real(w.levels(w.input()));
  w.b.output(w.real(w.levels(w.b.add("Relu", "relu", {w.convolved(x)}))));
  EXPECT_THAT(std::move(w).kinds(), ElementsAre(Kind::quantize, Kind::skipped, Kind::skipped, Kind::skipped,
                                                Kind::skipped, Kind::convolution, Kind::dequantize));
}

TEST(QuantizedLayers, WhatFloatReadsAsWellIsDequantised) {
  Written w;
  const TensorId x = w.real(w.levels(w.input()));
  w.b.output(w.real(w.levels(w.convolved(x))));
  w.b.output(w.b.add("Sigmoid", "other", {x}));
  EXPECT_EQ(std::move(w).kinds()[1], Kind::dequantize);
}

TEST(QuantizedLayers, AScaleAlongAnotherAxisIsNone) {
  Written w;
  w.b.output(w.real(w.levels(w.convolved(w.real(w.levels(w.input())), 1))));
  const std::vector<Kind> kinds = std::move(w).kinds();
  EXPECT_THAT(kinds, ElementsAre(Kind::quantize, Kind::dequantize, Kind::none, Kind::none, Kind::quantize,
                                 Kind::dequantize));
}

TEST(QuantizedLayers, LevelsThatTheGraphGivesAwayAreNone) {
  Written w;
  const TensorId q = w.levels(w.input());
  w.b.output(q);
  w.b.output(w.real(w.levels(w.convolved(w.real(q)))));
  EXPECT_EQ(std::move(w).kinds()[0], Kind::none);
}

TEST(QuantizedLayers, HalfWrittenOnesAreNone) {
  Written w;
  const TensorId none[] = {kNoTensor};
  const TensorId inputs[] = {w.input(), w.scale};
  w.b.add("QuantizeLinear", "", "a", inputs, none, {});
  w.b.add("DequantizeLinear", "", "b", none, none, {});
  w.b.add("QuantizeLinear", "", "c", {}, {}, {});
  EXPECT_THAT(std::move(w).kinds(), ElementsAre(Kind::none, Kind::none, Kind::none));
}

}  // namespace
}  // namespace plimsoll::network
