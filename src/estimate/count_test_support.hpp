#pragma once
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "estimate/count.hpp"
#include "network/builder.hpp"
#include "network/inference.hpp"
#include "network/weights.hpp"

/// For tests: a tiny network and its counts.
namespace plimsoll::estimate::count_test {

using network::Builder;
using network::TensorId;

/// Builds a network and gives its output.
using Net = std::function<TensorId(Builder&)>;

struct Counted {
  network::Network network;
  network::Shapes shapes;
  Counts counts;

  [[nodiscard]] std::int64_t macs() const { return counts.forward.macs.high; }
  [[nodiscard]] std::int64_t flops() const { return counts.forward.flops.high; }
};

/// An input of float32.
inline TensorId x(Builder& b, std::initializer_list<std::int64_t> extents) {
  std::vector<network::Dim> dims;
  for (const std::int64_t n : extents) dims.push_back(network::Dim::of(n));
  return b.input("x", network::DataType::float32, dims);
}

inline Counted counted(const Net& net, const Conventions& conventions = {}, int opset = 17) {
  Builder b("test");
  b.opset("", opset);
  b.output(net(b));
  network::Network network = std::move(b).finish();
  network::InferOptions options;
  options.allow_unknown_operators = true;
  Result<network::Shapes> shapes = network::infer(network, network::Binding{}, options);
  EXPECT_TRUE(shapes) << shapes.error().text();
  if (!shapes) return {};
  Counts counts = count(network, *shapes, conventions);
  return {std::move(network), std::move(*shapes), std::move(counts)};
}

}  // namespace plimsoll::estimate::count_test
