#include "estimate/profile/demand.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "estimate/profile/demand_table.hpp"
#include "estimate/profile/parallel_work.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Device;
using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;

hardware::DeviceFigure known(double value) {
  return {value, Provenance::datasheet, "a test"};
}

/// With the SMs, the cache and the bandwidth of the GPU that was counted on.
Device counted_gpu() {
  Device device;
  device.kind = hardware::DeviceKind::gpu;
  device.multiprocessors = known(kCountedMultiprocessors);
  device.l2_cache = known(kCountedCache);
  device.memory_bandwidth = known(4.8e12);
  device.compute_capability = nvml::ComputeCapability{9, 0};
  device.peak[static_cast<std::size_t>(Arithmetic::bf16)] = known(989e12);
  return device;
}

OperatorCase kernel_case(OperatorClass what, std::initializer_list<std::int64_t> extents,
                         Direction direction = Direction::forward, Arithmetic arithmetic = Arithmetic::fp32) {
  OperatorCase c{.operator_class = what, .direction = direction, .arithmetic = arithmetic};
  std::ranges::copy(extents, c.extents.begin());
  return completed(c);
}

Demand asked(const OperatorCase& c, double seconds, const Device& device = counted_gpu()) {
  const auto demand = demand_of(c, Seconds(seconds), device);
  EXPECT_TRUE(demand);
  return demand.value_or(Demand{});
}

TEST(Demand, ElementWiseKernelsHave1024ElementsPerBlockOfFourWarps) {
  const Demand d = asked(kernel_case(OperatorClass::unary, {1 << 24}), 50e-6);
  EXPECT_NEAR(d.blocks, 16384, 16384 * 0.05);
  EXPECT_EQ(d.warps_per_block, 4);
  EXPECT_EQ(d.blocks_per_sm, 16);
  EXPECT_NEAR(d.waves, d.blocks / (132 * 16), 1e-9);
  EXPECT_NEAR(d.block_seconds.value(), 49e-6 / d.waves, 1e-9);
  EXPECT_GT(d.sm_share, 0.9);
  EXPECT_GT(d.occupancy, 0.7);
}

TEST(Demand, FewBlocksKeepFewMultiprocessorsBusy) {
  // A block for each channel.
  const OperatorCase c = kernel_case(OperatorClass::batch_norm_training, {128, 16, 12544});
  const Demand d = asked(c, 1e-3);
  EXPECT_NEAR(d.sm_share, 16.0 / 132, 0.01);
  EXPECT_LT(d.occupancy, 0.05);
  EXPECT_NEAR(d.block_seconds.value(), 1e-3, 0.05e-3);
  Device small = counted_gpu();
  small.multiprocessors = known(32);
  EXPECT_NEAR(asked(c, 1e-3, small).sm_share, 0.5, 0.04);
}

TEST(Demand, ALaunchTakesItsPartOfAShortKernel) {
  const OperatorCase c = kernel_case(OperatorClass::unary, {1 << 20});
  EXPECT_NEAR(asked(c, 2e-6).sm_share, asked(c, 100e-6).sm_share / 2, 0.02);
}

TEST(Demand, OtherGpusHoldFewerWarps) {
  Device turing = counted_gpu();
  turing.compute_capability = nvml::ComputeCapability{7, 5};
  EXPECT_EQ(asked(kernel_case(OperatorClass::unary, {1 << 24}), 50e-6, turing).blocks_per_sm, 8);
}

TEST(Demand, IsOfGpusAlone) {
  const OperatorCase c = kernel_case(OperatorClass::unary, {1024});
  Device device = counted_gpu();
  EXPECT_FALSE(demand_of(c, Seconds(), device)) << "nothing runs";
  device.multiprocessors.reset();
  EXPECT_FALSE(demand_of(c, Seconds(1e-6), device));
  device = counted_gpu();
  device.kind = hardware::DeviceKind::cpu;
  EXPECT_FALSE(demand_of(c, Seconds(1e-6), device));
}

TEST(Demand, EveryClassDirectionAndFormatHasOne) {
  for (const hardware::OperatorClassRow& row : hardware::operator_classes())
    for (const Direction direction :
         {Direction::forward, Direction::backward_input, Direction::backward_weight})
      for (int format = 0; format < hardware::kArithmetics; ++format) {
        OperatorCase c{.operator_class = row.operator_class,
                       .direction = direction,
                       .arithmetic = static_cast<Arithmetic>(format)};
        for (std::size_t i = 0; i < hardware::extent_count(row.operator_class); ++i) c.extents[i] = 3;
        const auto demand = demand_of(c, Seconds(5e-6), counted_gpu());
        ASSERT_TRUE(demand) << row.name;
        EXPECT_GE(demand->blocks, 1) << row.name;
        EXPECT_GT(demand->sm_share, 0) << row.name;
      }
}

TEST(Demand, SharesAreShares) {
  for (const CountedKernel& k : counted_kernels()) {
    const Demand d = asked(completed(k.what), k.seconds);
    EXPECT_GT(d.sm_share, 0);
    EXPECT_LE(d.sm_share, 1);
    EXPECT_LE(d.occupancy, d.sm_share);
    EXPECT_GE(d.dram_share, 0);
    EXPECT_LT(d.dram_share, 1);
    EXPECT_GE(d.tensor_share, 0);
    EXPECT_LE(d.tensor_share, 1);
  }
}

TEST(Demand, CountedKernelsComeOutAsCounted) {
  double share = 0, occupancy = 0;
  for (const CountedKernel& k : counted_kernels()) {
    // Counted with the wait for each launch, asked for as in a graph.
    const double seconds = k.seconds - k.launches * 1.1e-6;
    const Demand d = asked(completed(k.what), seconds);
    share += std::abs(d.sm_share * seconds / k.seconds - k.sm_share);
    occupancy += std::abs(d.occupancy * seconds / k.seconds - k.occupancy);
  }
  const auto count = static_cast<double>(counted_kernels().size());
  EXPECT_LT(share / count, 0.04);
  EXPECT_LT(occupancy / count, 0.03);
}

TEST(Demand, GroupsOfCountedKernelsStandTogether) {
  const auto group = [](const CountedKernel& k) {
    return std::tuple(k.what.operator_class, k.what.direction, k.what.arithmetic);
  };
  EXPECT_TRUE(std::ranges::is_sorted(counted_kernels(), {}, group));
}

// ---- Memory

TEST(DemandOfMemory, WhatFitsTheCacheIsReadFromThere) {
  const double small = 1 << 20, large = 1 << 28;
  EXPECT_EQ(asked(kernel_case(OperatorClass::unary, {1 << 20}), 5e-6).dram_bytes, 0);
  EXPECT_DOUBLE_EQ(asked(kernel_case(OperatorClass::unary, {1 << 28}), 1e-3).dram_bytes, 2 * 4 * large);
  // What the forward pass kept is long gone.
  EXPECT_DOUBLE_EQ(
      asked(kernel_case(OperatorClass::unary, {1 << 20}, Direction::backward_input), 5e-6).dram_bytes,
      4 * small);
}

TEST(DemandOfMemory, WeightsAreCold) {
  const OperatorCase c =
      kernel_case(OperatorClass::matrix, {1, 4096, 4096, 0}, Direction::forward, Arithmetic::bf16);
  const Demand d = asked(c, 12e-6);
  EXPECT_GE(d.dram_bytes, 2.0 * 4096 * 4096);
  EXPECT_NEAR(d.dram_share, d.dram_bytes / (4.8e12 * 12e-6), 1e-12);
}

TEST(DemandOfMemory, LibrariesTurnTheLayoutsOfLargeConvolutions) {
  const OperatorCase c = kernel_case(OperatorClass::grouped, {128, 256, 48, 48, 256, 3, 3, 1, 64},
                                     Direction::forward, Arithmetic::tf32);
  const Demand d = asked(c, 0.7e-3);
  EXPECT_GT(d.launches, 2);
  EXPECT_GT(d.dram_bytes, 2 * hardware::work_of(c).bytes());
}

TEST(DemandOfMemory, NoKernelMovesMoreThanTheMemoryDoes) {
  EXPECT_LT(asked(kernel_case(OperatorClass::unary, {1 << 28}), 1e-5).dram_share, 0.95);
}

TEST(DemandOfTensorUnits, IsTheWorkAtTheirPeak) {
  const OperatorCase c =
      kernel_case(OperatorClass::matrix, {8192, 8192, 8192, 0}, Direction::forward, Arithmetic::bf16);
  EXPECT_NEAR(asked(c, 1.5e-3).tensor_share, 2 * std::pow(8192, 3) / 989e12 / 1.5e-3, 1e-9);
  EXPECT_EQ(asked(kernel_case(OperatorClass::unary, {1 << 20}), 5e-6).tensor_share, 0);
}

TEST(ParallelWork, AtMostAllBytesAreCold) {
  for (const CountedKernel& k : counted_kernels()) {
    const OperatorCase what = completed(k.what);
    EXPECT_LE(cold_bytes(what), hardware::work_of(what).bytes() * (1 + 1e-12));
    EXPECT_GE(parallel_work(what), 0);
  }
}

/// A line of data/counters/h200.csv, by the titles of its columns.
std::map<std::string, std::string> fields_of(const std::vector<std::string>& titles,
                                             const std::string& line) {
  std::map<std::string, std::string> out;
  std::istringstream in(line);
  for (const std::string& title : titles) std::getline(in, out[title], ',');
  return out;
}

TEST(CountedKernels, AreThoseOfTheirFile) {
  std::ifstream file(std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "data/counters/h200.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  std::vector<std::string> titles;
  std::istringstream header(line);
  for (std::string title; std::getline(header, title, ',');) titles.push_back(title);
  std::map<OperatorCase, CountedKernel> counted;
  for (const CountedKernel& k : counted_kernels()) counted.emplace(k.what, k);
  EXPECT_EQ(counted.size(), counted_kernels().size()) << "a case stands there twice";
  std::size_t rows = 0;
  for (; std::getline(file, line); ++rows) {
    const auto row = fields_of(titles, line);
    const auto number = [&](const char* title) { return std::stod(row.at(title)); };
    OperatorCase what{.operator_class = hardware::operator_class_named(row.at("class")).value(),
                      .direction = hardware::direction_named(row.at("direction")).value(),
                      .arithmetic = hardware::arithmetic_named(row.at("arithmetic")).value()};
    std::istringstream extents(row.at("extents"));
    for (std::size_t i = 0; extents >> what.extents[i];) ++i;
    ASSERT_TRUE(counted.contains(what)) << line;
    const CountedKernel& k = counted.at(what);
    EXPECT_EQ(k.launches, number("kernels")) << line;
    EXPECT_EQ(k.blocks, number("blocks")) << line;
    EXPECT_EQ(k.warps_per_block, std::ceil(number("threads") / 32)) << line;
    EXPECT_EQ(k.blocks_per_sm, number("blocks_per_sm")) << line;
    EXPECT_EQ(k.seconds, number("seconds")) << line;
    EXPECT_EQ(k.sm_share, number("sm_share")) << line;
    EXPECT_EQ(k.occupancy, number("occupancy")) << line;
    EXPECT_EQ(k.dram_bytes, number("read_bytes") + number("write_bytes")) << line;
    EXPECT_EQ(k.tensor_share, number("tensor_share")) << line;
  }
  EXPECT_EQ(rows, counted.size());
}

}  // namespace
}  // namespace plimsoll::estimate
