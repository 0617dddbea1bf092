#include "probe/cpu_studies.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::probe {
namespace {

using ::testing::HasSubstr;

/// As quick as can be: what is tested is that figures are there and right, not what they are.
CpuHost hasty() {
  CpuHost host = cpu_host("test");
  host.patience = 1e-3;
  return host;
}
void ignore(std::string_view, double) {}

TEST(CpuStudies, SumsAreRightAndTimedInParts) {
  std::vector<double> told;
  const auto found = add_vectors(hasty(), std::vector<std::int64_t>{1, 1000, 100'001},
                                 [&](std::string_view, double done) { told.push_back(done); });
  ASSERT_TRUE(found);
  ASSERT_EQ(found->vector_adds.size(), 6u);
  for (const VectorAdd& add : found->vector_adds) {
    EXPECT_TRUE(add.right);
    EXPECT_EQ(add.place, Place::cpu);
    EXPECT_EQ(add.device, "test");
    ASSERT_EQ(add.parts.size(), 3u);
    for (std::size_t i = 0; i < add.parts[0].samples.size(); ++i)
      EXPECT_DOUBLE_EQ(add.parts[2].samples[i], add.parts[0].samples[i] + add.parts[1].samples[i]);
    EXPECT_GE(add.parts[1].samples.size(), 3u);
  }
  EXPECT_EQ(found->vector_adds.back().workers, Workers::all_threads);
  EXPECT_EQ(found->rates.back().name, "stream-triad");
  EXPECT_EQ(found->rates.back().at, 12.0 * 100'001);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_LT(told.back(), 1);
}

TEST(CpuStudies, WhatDoesNotFitIsLeftOutAndSaid) {
  CpuHost host = hasty();
  host.memory = kMiB;
  const auto sums = add_vectors(host, std::vector<std::int64_t>{1000, 1'000'000}, ignore);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->vector_adds.size(), 2u);
  ASSERT_EQ(sums->remarks.size(), 2u);
  EXPECT_THAT(sums->remarks[0], HasSubstr("11.4 MiB are needed, 1.00 MiB are free"));
  const auto products = multiply_matrices(host, std::vector<std::int64_t>{128, 1024}, ignore);
  ASSERT_TRUE(products);
  EXPECT_TRUE(std::ranges::all_of(products->products, [](const MatrixProduct& p) { return p.size == 128; }));
  EXPECT_FALSE(products->remarks.empty());
  const auto rates = memory_rates(host, ignore);
  ASSERT_TRUE(rates);
  EXPECT_EQ(std::ranges::max(rates->rates, {}, &Rate::at).at, 0x1p20);
  EXPECT_THAT(rates->remarks.at(0), HasSubstr("up to 1.00 MiB only"));
}

TEST(CpuStudies, MemoryIsReadAndWrittenAtEverySize) {
  CpuHost host = hasty();
  host.memory = kMiB * 4;
  const auto found = memory_rates(host, ignore);
  ASSERT_TRUE(found);
  std::set<std::string> names;
  for (const Rate& rate : found->rates) {
    names.insert(rate.name);
    EXPECT_EQ(rate.unit, "B/s");
    ASSERT_TRUE(rate.at);
    // Arrays of whole lines: up to three of them lack less than a line each, for every thread.
    EXPECT_LE(rate.amount, *rate.at);
    EXPECT_GE(rate.amount, *rate.at - 64.0 * 3 * host.cores.threads);
    EXPECT_GE(rate.samples.size(), 5u);
  }
  for (const char* name : {"memory-read", "memory-write", "memory-copy", "memory-triad"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(names.contains("memory-read-one-thread"), host.cores.threads > 1);
}

TEST(CpuStudies, ProductsAreRightByEveryMethod) {
  CpuHost host = hasty();
  host.patience = 1e3;  // none is left out, however slow the machine
  const auto found = multiply_matrices(host, std::vector<std::int64_t>{100, 160}, ignore);
  ASSERT_TRUE(found);
  ASSERT_GE(found->products.size(), 4u);
  for (const MatrixProduct& p : found->products) {
    EXPECT_TRUE(p.right) << static_cast<int>(p.method) << " " << p.size;
    EXPECT_EQ(p.largest_error, 0);
    EXPECT_GT(p.moved_bytes, 0);
    EXPECT_EQ(p.library.empty(), p.method != Method::library);
  }
}

TEST(CpuStudies, AProductThatWouldTakeTooLongIsForeseen) {
  CpuHost host = hasty();
  host.patience = 1e-9;
  const auto found = multiply_matrices(host, std::vector<std::int64_t>{256}, ignore);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->products.empty());
  EXPECT_THAT(found->remarks,
              ::testing::Contains(HasSubstr("naive product of size 256 was left out: it would take")));
}

}  // namespace
}  // namespace plimsoll::probe
