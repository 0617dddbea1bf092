// Operators and kernels are counted by the same formulas (hardware/operations.hpp), but over extents that are
// found in two ways: from the shapes of a graph, and from what lowering makes of it. These must not differ.
#include <algorithm>
#include <cctype>

#include <gtest/gtest.h>

#include "network/zoo/zoo.hpp"
#include "program/count.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

class CountingOfTheZoo : public testing::TestWithParam<std::string_view> {};

TEST_P(CountingOfTheZoo, KernelsMultiplyAsOftenAsIsCounted) {
  const auto network = network::zoo::build(GetParam(), network::Mode::infer);
  ASSERT_TRUE(network) << network.error().text();
  const auto shapes = network::infer(*network, network::bind(*network, {.batch = 2}).value());
  ASSERT_TRUE(shapes) << shapes.error().text();
  const auto program = lower(*network, *shapes, {}, {});
  ASSERT_TRUE(program) << program.error().text();
  double macs = 0;
  for (const hardware::OperatorCase& kernel : program->kernels) macs += hardware::work_of(kernel).macs;
  const Counts counts = count(*network, *shapes, {.halve_causal = true});
  EXPECT_NEAR(macs / static_cast<double>(counts.forward.macs.high), 1, 1e-12);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const auto& entry : network::zoo::entries())
    if (entry.name != "gpt3") out.push_back(entry.name);
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string_view>& tested) {
  std::string name(tested.param);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, CountingOfTheZoo, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace plimsoll::program
