#pragma once
#include <utility>

#include "network/test_network.hpp"
#include "network/weights.hpp"
#include "program/count.hpp"

/// For tests: a tiny network and its counts.
namespace plimsoll::program::count_test {

using network::Builder;
using network::TensorId;

using network::test_network::Net;
namespace test_network = network::test_network;

struct Counted {
  network::Network network;
  network::Shapes shapes;
  Counts counts;

  [[nodiscard]] std::int64_t macs() const { return counts.forward.macs.high; }
  [[nodiscard]] std::int64_t flops() const { return counts.forward.flops.high; }
};

/// An input of float32.
inline TensorId x(Builder& b, std::initializer_list<std::int64_t> extents) {
  return test_network::input(b, "x", extents);
}

inline Counted counted(const Net& net, const Conventions& conventions = {}, int opset = 17) {
  test_network::Built built = test_network::built(net, opset);
  Counts counts = count(built.network, built.shapes, conventions);
  return {std::move(built.network), std::move(built.shapes), std::move(counts)};
}

}  // namespace plimsoll::program::count_test
