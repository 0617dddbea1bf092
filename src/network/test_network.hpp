#pragma once
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/inference.hpp"

/// For tests: a tiny network and its shapes.
namespace plimsoll::network::test_network {

/// Builds a network and gives its output.
using Net = std::function<TensorId(Builder&)>;

struct Built {
  network::Network network;
  network::Shapes shapes;
};

/// An input of float32.
inline TensorId input(Builder& b, std::string_view name, std::initializer_list<std::int64_t> extents,
                      network::DataType type = network::DataType::float32) {
  std::vector<network::Dim> dims;
  for (const std::int64_t n : extents) dims.push_back(network::Dim::of(n));
  return b.input(name, type, dims);
}

inline Built built(const Net& net, int opset = 17) {
  Builder b("test");
  b.opset("", opset);
  b.output(net(b));
  network::Network network = std::move(b).finish();
  network::InferOptions options;
  options.allow_unknown_operators = true;
  Result<network::Shapes> shapes = network::infer(network, network::Binding{}, options);
  EXPECT_TRUE(shapes) << shapes.error().text();
  if (!shapes) return {};
  return {std::move(network), std::move(*shapes)};
}

}  // namespace plimsoll::network::test_network
