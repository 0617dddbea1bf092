#pragma once
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job/job.hpp"
#include "network/builder.hpp"

/// For tests: a job of a network with a bit of everything.
namespace plimsoll::job::test_job {

/// An If within a Loop's body, symbols, constants of every kind, names that are no UTF-8, optional inputs.
inline network::Network odd_network() {
  using namespace network;
  Builder b("odd\xff");
  b.opset("", 17);
  b.opset("com.example", 3);
  const Dim batch = b.symbol("batch"), length = b.symbol("length\xfe");
  const TensorId x = b.input("x", DataType::float32, {batch, length, Dim::of(8)});
  const TensorId weight = b.parameter("weight", {8, 4});
  const TensorId pads = b.constant("pads", {0, -1, 1});
  const Scalar reals[] = {Scalar::real(0.1), Scalar::real(-0.0), Scalar::real(1e308 * 10)};
  const TensorId table = b.buffer("table", {3}, DataType::float64);
  b.set_value(table, reals);
  const TensorId sizes = b.buffer("sizes", {2}, DataType::int64);
  const Scalar extents[] = {Scalar::extent(batch), Scalar::integer(1)};
  b.set_value(sizes, extents);

  const GraphId body = b.begin_graph("body");
  const TensorId i = b.tensor("i");
  b.graph_input(i);
  const GraphId branch = b.begin_graph("then");
  b.output(b.add("Identity", "same", {i}));
  b.end_graph();
  b.output(b.add("If", "if", {i}, {{"then_branch", branch}, {"else_branch", std::int64_t{0}}}));
  b.end_graph();

  const TensorId trips = b.constant_scalar("trips", std::int64_t{3});
  const TensorId loop = b.add("Loop", "loop", {trips, kNoTensor, x}, {{"body", body}});
  const TensorId product = b.add("MatMul", "product", {loop, weight});
  const TensorId outputs[] = {b.tensor("y"), kNoTensor, b.tensor("")};
  const std::string_view words[] = {"a", "", "c\xff"};
  const double scales[] = {0.5, 1.0 / 3, 3};
  const std::vector<std::int64_t> order = {2, 0, 1};
  const AttributeValue attributes[] = {{"axis", -1},
                                       {"alpha", 0.25},
                                       {"mode", "linear"},
                                       {"perm", order},
                                       {"scales", std::span<const double>(scales)},
                                       {"words", std::span<const std::string_view>(words)},
                                       {"value", table}};
  const TensorId inputs[] = {product, kNoTensor, pads, sizes};
  b.add("Mystery", "com.example", "mystery", inputs, outputs, attributes);
  b.output(outputs[0]);
  return std::move(b).finish();
}

inline Job odd_job() {
  Job job;
  job.network = odd_network();
  const Result<network::Binding> bound =
      network::bind(job.network, {.batch = 2, .sequence = {}, .inputs = {}, .extents = {}});
  EXPECT_TRUE(bound) << bound.error().text();
  if (bound) job.binding = *bound;
  return job;
}

}  // namespace plimsoll::job::test_job
