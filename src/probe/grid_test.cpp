#include "probe/grid.hpp"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"
#include "hardware/operator_place.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll::probe {
namespace {

using hardware::Arithmetic;
using hardware::OperatorCase;
using hardware::OperatorClass;

std::vector<OperatorCase> gpu_grid() {
  const auto& catalogue = hardware::built_in_catalogue();
  const auto device = catalogue->find("h200");
  return designed_grid(GridKind::gpu, limits_for(GridKind::gpu, **device));
}
std::vector<OperatorCase> cpu_grid() {
  return designed_grid(GridKind::cpu, limits_for(GridKind::cpu, hardware::Device{}));
}

TEST(Grid, HasSoManyCasesAndEachOnce) {
  const auto gpu = gpu_grid(), cpu = cpu_grid();
  EXPECT_GT(gpu.size(), 20000u);
  EXPECT_LT(gpu.size(), 24000u);
  EXPECT_GT(cpu.size(), 2000u);
  EXPECT_LT(cpu.size(), 2500u);
  EXPECT_EQ(std::set<OperatorCase>(gpu.begin(), gpu.end()).size(), gpu.size());
  EXPECT_EQ(gpu, gpu_grid());
}

TEST(Grid, OfACpuComputesInFloat32) {
  for (const OperatorCase& c : cpu_grid()) EXPECT_EQ(c.arithmetic, Arithmetic::fp32);
}

TEST(Grid, OfACpuHasManySingleImages) {
  int images = 0, single = 0;
  for (const OperatorCase& c : cpu_grid()) {
    if (c.operator_class != OperatorClass::convolution) continue;
    ++images;
    single += c.extents[0] == 1 ? 1 : 0;
  }
  EXPECT_GT(single, images / 4);
}

TEST(Grid, AnyFirstPartHasItsShareOfEveryClass) {
  const auto grid = gpu_grid();
  std::map<OperatorClass, double> all, first;
  for (const OperatorCase& c : grid) ++all[c.operator_class];
  EXPECT_EQ(all.size(), static_cast<std::size_t>(hardware::kOperatorClasses) - 1) << "all but `counted`";
  const std::size_t part = grid.size() / 10;
  for (std::size_t i = 0; i < part; ++i) ++first[grid[i].operator_class];
  for (const auto& [operator_class, count] : all)
    EXPECT_NEAR(first[operator_class] / count, 0.1, 0.06) << hardware::name(operator_class);
}

TEST(Grid, SpendsMostOnConvolutionsAndProducts) {
  const auto grid = gpu_grid();
  double convolutions = 0, products = 0;
  for (const OperatorCase& c : grid) {
    convolutions += hardware::is_convolution(c.operator_class) ? 1 : 0;
    products += c.operator_class == OperatorClass::matrix ? 1 : 0;
  }
  EXPECT_NEAR(convolutions / static_cast<double>(grid.size()), 0.65, 0.05);
  EXPECT_NEAR(products / static_cast<double>(grid.size()), 0.15, 0.03);
}

TEST(Grid, StaysWithinItsLimits) {
  const GridLimits limits{.seconds = 0.01,
                          .fast_flops_per_second = 1e13,
                          .flops_per_second = 1e12,
                          .bytes_per_second = 1e11,
                          .bytes = 2e8};
  for (const OperatorCase& c : designed_grid(GridKind::gpu, limits)) {
    const hardware::OperatorWork work = work_of(c);
    EXPECT_LE(work.bytes(), 2e8);
    EXPECT_LE(work.flops, c.arithmetic == Arithmetic::fp32 ? 1e10 : 1e11);
  }
}

TEST(Grid, HasOnlyOperatorsThatCanBeRun) {
  for (const OperatorCase& c : gpu_grid()) {
    const auto& e = c.extents;
    for (std::size_t i = 0; i < hardware::extent_count(c.operator_class); ++i) {
      const bool choice = (c.operator_class == OperatorClass::matrix && i == 3) ||
                          (c.operator_class == OperatorClass::attention && i == 5);
      EXPECT_GE(e[i], choice ? 0 : 1);
    }
    if (c.operator_class > OperatorClass::depthwise) continue;
    EXPECT_EQ(e[1] % e[8], 0);
    EXPECT_EQ(e[4] % e[8], 0);
    EXPECT_LE(e[5], e[2]);
    EXPECT_LE(e[6], e[3]);
    EXPECT_GT(work_of(c).flops, 0);
  }
}

TEST(OperatorNames, ComeBackFromTheEnginesWords) {
  for (const OperatorCase& c : cpu_grid()) ASSERT_EQ(calibration_case(engine_case(c)), c);
  EXPECT_FALSE(calibration_case({"convolution", "forward", "fp32", {1, 2}}));
  EXPECT_FALSE(calibration_case({"unary", "forward", "fp33", {1}}));
  EXPECT_FALSE(calibration_case({"unary", "onward", "fp32", {1}}));
}

}  // namespace
}  // namespace plimsoll::probe
