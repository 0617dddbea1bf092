#include <algorithm>

#include <gmock/gmock.h>

#include "hardware/calibration.hpp"
#include "network/builder.hpp"
#include "network/inference.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

using hardware::Arithmetic;
using hardware::OperatorClass;
using network::Builder;
using network::DataType;
using network::Dim;
using network::TensorId;

/// Levels of an image; a convolution with a bias and ReLU; its sum with what it read; real numbers again.
network::Network quantized() {
  Builder b("quantised");
  b.opset("", 13);
  const TensorId s = b.buffer("s", {}), z = b.buffer("z", {}, DataType::uint8), ws = b.buffer("ws", {8});
  const auto pair = [&](TensorId x) {
    return b.add("DequantizeLinear", "d", {b.add("QuantizeLinear", "q", {x, s, z}), s, z});
  };
  const TensorId x =
      pair(b.input("x", DataType::float32, {Dim::of(2), Dim::of(8), Dim::of(16), Dim::of(16)}));
  const TensorId w =
      b.add("DequantizeLinear", "dw", {b.parameter("w", {8, 8, 3, 3}, DataType::int8), ws}, {{"axis", 0}});
  const TensorId bias =
      b.add("DequantizeLinear", "db", {b.parameter("b", {8}, DataType::int32), ws}, {{"axis", 0}});
  const TensorId y =
      pair(b.add("Relu", "relu", {b.add("Conv", "conv", {x, w, bias}, {{"pads", {1, 1, 1, 1}}})}));
  b.output(pair(b.add("Add", "sum", {y, x})));
  return std::move(b).finish();
}

std::vector<std::pair<OperatorClass, Arithmetic>> kernels_on(const Platform& platform) {
  const network::Network n = quantized();
  const Result<network::Shapes> shapes = network::infer(n, {});
  EXPECT_TRUE(shapes);
  const Result<Program> program = lower(n, *shapes, {}, platform);
  EXPECT_TRUE(program) << program.error().text();
  std::vector<std::pair<OperatorClass, Arithmetic>> out;
  for (const hardware::OperatorCase& kernel : program->kernels)
    out.emplace_back(kernel.operator_class, kernel.arithmetic);
  return out;
}

int count_of(const std::vector<std::pair<OperatorClass, Arithmetic>>& kernels, OperatorClass c,
             Arithmetic a) {
  return static_cast<int>(std::ranges::count(kernels, std::pair(c, a)));
}

TEST(QuantizedLayers, AreOneKernelEachWhereTheDeviceHasEightBits) {
  const auto kernels = kernels_on({.eight_bits = true});
  EXPECT_EQ(count_of(kernels, OperatorClass::convolution, Arithmetic::int8), 1);
  EXPECT_EQ(count_of(kernels, OperatorClass::binary, Arithmetic::int8), 1);
  // The bias, the activation and the weights' numbers are no kernels; into levels and back are two.
  EXPECT_EQ(kernels.size(), 4U);
}

TEST(QuantizedLayers, AreDequantisedElsewhere) {
  const auto kernels = kernels_on({.eight_bits = false});
  EXPECT_EQ(count_of(kernels, OperatorClass::convolution, Arithmetic::int8), 0);
  EXPECT_EQ(count_of(kernels, OperatorClass::convolution, Arithmetic::tf32), 1);
  EXPECT_GT(kernels.size(), 8U);
}

}  // namespace
}  // namespace plimsoll::program
