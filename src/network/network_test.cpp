#include "network/network.hpp"

#include <gtest/gtest.h>

#include "network/builder.hpp"

namespace plimsoll::network {
namespace {

TEST(Describe, NamesTheOperatorOrWhatItMakes) {
  Builder builder("test");
  builder.opset("", 17);
  const TensorId x = builder.input("x", DataType::float32, {Dim::of(2)});
  builder.add("Relu", "/act/Relu", {x});
  const TensorId y = builder.tensor("y");
  builder.add("Neg", "", "", std::array{x}, std::array{y}, {});
  builder.add("Abs", "", "", std::array{x}, {}, {});
  const Network network = std::move(builder).finish();
  const auto& operators = network.main().operators;
  EXPECT_EQ(describe(network, operators[0]), "Relu '/act/Relu'");
  EXPECT_EQ(describe(network, operators[1]), "Neg that makes 'y'");
  EXPECT_EQ(describe(network, operators[2]), "Abs");
}

TEST(Describe, IsFitForATerminal) {
  Builder builder("test");
  builder.opset("", 17);
  const TensorId x = builder.input("x", DataType::float32, {Dim::of(2)});
  builder.add("Re\x1blu", "\x1b[2J\xff", {x});
  const Network network = std::move(builder).finish();
  EXPECT_EQ(describe(network, network.main().operators[0]), "Re\\x1blu '\\x1b[2J\\xff'");
}

}  // namespace
}  // namespace plimsoll::network
