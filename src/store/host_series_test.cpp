#include "store/host_series.hpp"

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;

TEST(HostSeries, AreNamedByTheirHostAndReadBack) {
  EXPECT_EQ(host_series_name("", "system/gpu/0/power"), "system/gpu/0/power");
  EXPECT_EQ(host_series_name("node8", "system/gpu/0/power"), "system/on/node8/gpu/0/power");
  EXPECT_EQ(host_series_name("node8", "loss"), "loss") << "the command's own are of no machine";
  EXPECT_EQ(read_host_series("system/on/node8/gpu/0/power"), (HostSeries{"node8", "system/gpu/0/power"}));
  EXPECT_EQ(read_host_series("system/gpu/0/power"), (HostSeries{"", "system/gpu/0/power"}));
  EXPECT_FALSE(is_elsewhere("system/gpu/0/power"));
  EXPECT_TRUE(is_elsewhere("system/on/node8/host/cpu"));
  for (const std::string& host : std::vector<std::string>{"gpu-1.cluster.example", "7", "a_b", "a/b", "..",
                                                          ".", "_", "ä", "a b", "on"}) {
    const std::string name = host_series_name(host, "system/run/cpu");
    EXPECT_EQ(read_host_series(name), (HostSeries{host, "system/run/cpu"})) << name;
    // What MLflow takes.
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"),
              std::string::npos)
        << name;
    EXPECT_EQ(name.find("/./"), std::string::npos);
    EXPECT_EQ(name.find("/../"), std::string::npos);
    EXPECT_EQ(host_series_name("other", name), name) << "one that has a host keeps it";
  }
}

TEST(HostSeries, OfAnotherFormAreTheRunsOwn) {
  for (const std::string& name :
       std::vector<std::string>{"system/on/", "system/on/node8", "system/on/node8/", "system/on//gpu/0/power",
                                "system/on/a_/x", "system/on/a_zz/x", "system/on/a_4/x", "system/on/_41/x",
                                "system/on/a b/x", "system/on/.hidden/x", "system/only", ""})
    EXPECT_EQ(read_host_series(name), (HostSeries{"", name}));
}

class HostContract : public test::EveryStore {};

TEST_P(HostContract, SeriesOfTwoMachinesInOneRunDoNotMix) {
  const std::string run = new_run({.tags = {{"plimsoll.host", "node7"}}});
  const std::string own = "system/gpu/0/power", other = host_series_name("node8", own);
  ASSERT_TRUE(store_->append({{Batch{run, own, {"W", "NVML", "node7"}, counting(0, 100)},
                               Batch{run, other, {"W", "NVML", "node8"}, counting(1000, 50)}}}));
  ASSERT_TRUE(store_->append({{Batch{run, own, {}, counting(100, 100)}}}));
  const auto again = reopened();
  EXPECT_EQ(again->history(run, own), counting(0, 200));
  EXPECT_EQ(again->history(run, other), counting(1000, 50));
  const Result<store::Run> found = again->find(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->metrics.at(own).description, (Description{"W", "NVML", "node7"}));
  EXPECT_EQ(found->metrics.at(other).description, (Description{"W", "NVML", "node8"}));
}

TEST_P(HostContract, PointsUnderTheNameOfAnotherMachinesAreRefused) {
  const std::string run = new_run();
  const std::string own = "system/gpu/0/power";
  ASSERT_TRUE(store_->append({{Batch{run, own, {"W", "NVML", "node7"}, counting(0, 10)}}}));
  for (const Batch& wrong :
       {Batch{run, own, {"W", "NVML", "node8"}, counting(10, 10)},
        Batch{run, "system/on/node9/gpu/0/power", {"W", "NVML", "node8"}, counting(0, 1)},
        Batch{run, own, {"W", "NVML", std::string(300, 'h')}, counting(0, 1)}}) {
    const Status refused = store_->append({&wrong, 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Error::Kind::bad_input) << refused.error().text();
  }
  EXPECT_FALSE(store_->append({{Batch{run, "system/a", {"W", "", "a"}, counting(0, 1)},
                                Batch{run, "system/a", {"W", "", "b"}, counting(1, 1)}}}));
  EXPECT_EQ(store_->history(run, own), counting(0, 10));
  EXPECT_EQ(store_->find(run)->metrics.size(), 1U);
}

PLIMSOLL_IN_EVERY_STORE(HostContract);

}  // namespace
}  // namespace plimsoll::store
