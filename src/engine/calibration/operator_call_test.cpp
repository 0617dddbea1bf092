#include "engine/calibration/operator_call.hpp"

#include <algorithm>

#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/calibration/point_timer.hpp"

namespace plimsoll::engine {
namespace {

using testing::HasSubstr;

/// One small operator, and the shapes of what it gives.
struct Expected {
  job::OperatorCase what;
  std::vector<std::vector<std::int64_t>> results;
};
class EveryOperator : public testing::TestWithParam<Expected> {};

TEST_P(EveryOperator, GivesItsResultsAgainAndAgain) {
  const c10::NoGradGuard no_gradients;
  const Result<OperatorCall> call = prepare_call(GetParam().what, at::kCPU);
  ASSERT_TRUE(call) << call.error().text();
  for (int i = 0; i < 3; ++i) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const at::Tensor& result : (*call)()) {
      shapes.push_back(result.sizes().vec());
      EXPECT_FALSE(result.requires_grad());
    }
    EXPECT_EQ(shapes, GetParam().results);
  }
}

std::string test_name(const testing::TestParamInfo<Expected>& info) {
  std::string name =
      info.param.what.operator_class + "_" + info.param.what.direction + "_" + std::to_string(info.index);
  std::ranges::replace(name, '-', '_');
  return name;
}

Expected forward(std::string name, std::vector<std::int64_t> extents, std::vector<std::int64_t> result) {
  return {{std::move(name), "forward", "fp32", std::move(extents)}, {std::move(result)}};
}
Expected backward(std::string name, std::vector<std::int64_t> extents,
                  std::vector<std::vector<std::int64_t>> results, std::string direction = "backward-input") {
  return {{std::move(name), std::move(direction), "fp32", std::move(extents)}, std::move(results)};
}
const std::vector<std::int64_t> kWindow = {2, 4, 8, 6, 8, 3, 1, 2, 1}, kGroups = {2, 4, 8, 6, 8, 3, 3, 1, 2},
                                kEach = {2, 4, 8, 6, 4, 3, 3, 1, 4};

INSTANTIATE_TEST_SUITE_P(
    Products, EveryOperator,
    testing::Values(forward("convolution", kWindow, {2, 8, 4, 3}),
                    backward("convolution", kWindow, {{2, 4, 8, 6}}),
                    backward("convolution", kWindow, {{8, 4, 3, 1}}, "backward-weight"),
                    forward("grouped", kGroups, {2, 8, 8, 6}), backward("grouped", kGroups, {{2, 4, 8, 6}}),
                    backward("grouped", kGroups, {{8, 2, 3, 3}}, "backward-weight"),
                    forward("depthwise", kEach, {2, 4, 8, 6}),
                    backward("depthwise", kEach, {{4, 1, 3, 3}}, "backward-weight"),
                    forward("matrix", {3, 5, 7, 1}, {3, 5}), backward("matrix", {3, 5, 7, 1}, {{3, 7}}),
                    backward("matrix", {3, 5, 7, 0}, {{5, 7}}, "backward-weight"),
                    forward("batched", {2, 3, 4, 5}, {2, 3, 4}),
                    backward("batched", {2, 3, 4, 5}, {{2, 3, 5}, {2, 5, 4}}),
                    forward("attention", {2, 3, 5, 6, 8, 0}, {2, 3, 5, 8}),
                    forward("attention", {2, 3, 5, 5, 8, 1}, {2, 3, 5, 8}),
                    backward("attention", {2, 3, 5, 6, 8, 2}, {{2, 3, 5, 8}, {2, 3, 6, 8}, {2, 3, 6, 8}})),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Streaming, EveryOperator,
    testing::Values(forward("batch-norm", {2, 3, 10}, {2, 3, 10, 1}),
                    forward("batch-norm-training", {2, 3, 10}, {2, 3, 10, 1}),
                    backward("batch-norm-training", {2, 3, 10}, {{2, 3, 10, 1}, {3}, {3}}),
                    forward("layer-norm", {4, 6}, {4, 6}), backward("layer-norm", {4, 6}, {{4, 6}, {6}, {6}}),
                    backward("group-norm", {2, 4, 9, 2}, {{2, 4, 9, 1}, {4}, {4}}),
                    backward("softmax", {4, 6}, {{4, 6}}),
                    forward("max-pool", {1, 2, 8, 8, 3, 2}, {1, 2, 4, 4}),
                    backward("max-pool", {1, 2, 8, 8, 2, 2}, {{1, 2, 8, 8}}),
                    forward("average-pool", {1, 2, 8, 8, 2, 2}, {1, 2, 4, 4}),
                    backward("global-pool", {4, 9}, {{4, 9}}), backward("unary", {9}, {{9}}),
                    backward("function", {9}, {{9}}), forward("binary", {9}, {9}),
                    forward("broadcast", {2, 3, 4}, {2, 3, 4}), forward("row-sum", {4, 6}, {4}),
                    forward("column-sum", {4, 6}, {6}), forward("embedding", {5, 6, 7}, {5, 6}),
                    backward("embedding", {5, 6, 7}, {{7, 6}}), forward("copy", {9}, {9}),
                    forward("transpose", {2, 3, 4}, {2, 4, 3})),
    test_name);

TEST(OperatorCall, OptimizersChangeTheirParametersInPlace) {
  for (const char* kind : {"optimizer-sgd", "optimizer-momentum", "optimizer-adam"}) {
    const Result<OperatorCall> call = prepare_call({kind, "forward", "fp32", {3, 300}}, at::kCPU);
    ASSERT_TRUE(call) << call.error().text();
    EXPECT_TRUE((*call)().empty());
  }
}

TEST(OperatorCall, WhatMakesNoSenseIsRefused) {
  const auto refused = [](job::OperatorCase c) {
    const Result<OperatorCall> call = prepare_call(c, at::kCPU);
    return call ? std::string() : call.error().text();
  };
  EXPECT_THAT(refused({"magic", "forward", "fp32", {1}}), HasSubstr("'magic'"));
  EXPECT_THAT(refused({"unary", "sideways", "fp32", {1}}), HasSubstr("'sideways'"));
  EXPECT_THAT(refused({"binary", "backward-input", "fp32", {1}}), HasSubstr("no direction"));
  EXPECT_THAT(refused({"unary", "forward", "fp7", {1}}), HasSubstr("'fp7'"));
  EXPECT_THAT(refused({"unary", "forward", "fp32", {0}}), HasSubstr("extent 1"));
  EXPECT_THAT(refused({"unary", "forward", "fp32", {1, 2}}), HasSubstr("1 extents"));
  EXPECT_THAT(refused({"grouped", "forward", "fp32", {1, 6, 8, 8, 6, 3, 3, 1, 4}}), HasSubstr("4 groups"));
}

TEST(PointTimer, TellsATimeAndNoWorkspaceOnACpu) {
  const c10::NoGradGuard no_gradients;
  const std::unique_ptr<Device> device = open_cpu(1);
  PointTimer timer(*device);
  const Result<OperatorCall> call = prepare_call({"unary", "forward", "fp32", {1000}}, at::kCPU);
  ASSERT_TRUE(call);
  const PointTime time = timer.time(*call);
  EXPECT_GT(time.seconds, 0);
  EXPECT_GE(time.spread, 0);
  EXPECT_FALSE(time.workspace_bytes);
}

}  // namespace
}  // namespace plimsoll::engine
