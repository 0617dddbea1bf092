// Two ways lead to a network's multiply-adds: the counter's, operator by operator from shapes, and the
// program's, kernel by kernel from extents. They must not differ.
#include <algorithm>
#include <cctype>

#include <gtest/gtest.h>

#include "hardware/operator_place.hpp"
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
  double flops = 0;
  for (const hardware::OperatorCase& kernel : program->kernels)
    if (hardware::is_product(kernel.operator_class)) flops += hardware::work_of(kernel).flops;
  const Counts counts = count(*network, *shapes, {.halve_causal = true});
  const double counted = 2 * static_cast<double>(counts.forward.macs.high);
  EXPECT_NEAR(flops / counted, 1, 1e-6);
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
