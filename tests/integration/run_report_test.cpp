// Runs in a store, reported on by the program.
#include <cmath>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"
#include "store/store.hpp"

namespace plimsoll::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr store::Time kStart = 1'700'000'000'000'000;

class RunReport : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    path_ = (folder_->path() / "runs.db").string();
    auto opened = store::open(path_);
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
  }

  /// A minute on a GPU, at this SM activity from its tenth second on.
  std::string trained(const std::string& name, double activity, store::Time start = kStart) {
    const Result<std::string> id =
        store_->create({.name = name,
                        .start = start,
                        .tags = {{"plimsoll.workload", "it's a sweep"},
                                 {"plimsoll.outcome", "finished"},
                                 {"plimsoll.host.cores", "8"},
                                 {"plimsoll.device.0.memory_bytes", "80000000000"}}});
    EXPECT_TRUE(id);
    std::vector<store::Batch> batches = {{*id, "system/gpu/0/sm_activity", {"1", "NVML GPM"}, {}},
                                         {*id, "system/gpu/0/graphics_activity", {"1", "NVML GPM"}, {}},
                                         {*id, "system/gpu/0/energy", {"J", "NVML"}, {}},
                                         {*id, "loss", {}, {}}};
    for (int i = 1; i <= 600; ++i) {
      const store::Time now = start + std::int64_t{i} * 100'000;
      const bool works = i > 100;
      batches[0].points.push_back({now, 0, works ? activity : 0});
      batches[1].points.push_back({now, 0, works ? 0.97 : 0});
      batches[2].points.push_back({now, 0, 30.0 * i});
      if (i % 10 == 0 && works) batches[3].points.push_back({now, i / 10, std::exp(-i / 200.0)});
    }
    EXPECT_TRUE(store_->append(batches));
    EXPECT_TRUE(store_->change(*id, {.status = store::RunStatus::finished, .end = start + 60'000'000}));
    return id.value_or("");
  }
  ProcessOutput report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {PLIMSOLL_PROGRAM, "report", "--store", path_});
    const Result<ProcessOutput> done = run({.argv = std::move(arguments),
                                            .environment = {{"COLUMNS", "120"}},
                                            .timeout = std::chrono::minutes(4)});
    EXPECT_TRUE(done);
    return done.value_or(ProcessOutput{});
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make("plimsoll_report");
  std::string path_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(RunReport, OfOneRunByTheBeginningOfItsId) {
  const std::string id = trained("resnet50", 0.85);
  const ProcessOutput text = report({id.substr(0, 8)});
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_THAT(text.output, StartsWith("resnet50 (" + id.substr(0, 8) + "): finished after 60 s\n"));
  EXPECT_THAT(text.output, HasSubstr("bound by the GPU's arithmetic"));
  const ProcessOutput json = report({id.substr(0, 8), "--json", "--from", "20", "--to", "30"});
  EXPECT_EQ(json.exit_code, 0) << json.error;
  const auto of_run = nlohmann::json::parse(json.output).at("runs").at(0);
  EXPECT_EQ(of_run.at("verdict").at("bottleneck"), "gpu-compute");
  EXPECT_NEAR(of_run.at("averages").at("system/gpu/0/energy").at("total").get<double>(), 3000, 1);
  EXPECT_EQ(of_run.at("steps").at("count"), 50);
}

TEST_F(RunReport, OfAWorkloadAsOnePage) {
  trained("first", 0.85);
  trained("second", 0.2, kStart + 1);
  const std::string page = (folder_->path() / "page.html").string();
  const ProcessOutput done = report({"--workload", "it's a sweep", "--html", page});
  EXPECT_EQ(done.exit_code, 0) << done.error;
  EXPECT_EQ(done.output, "");
  const Result<std::string> written = read_file(page, 10'000'000);
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(written->contains("<h1>2 runs</h1>"));
  EXPECT_LT(written->find("first"), written->find("second"));  // as they were started
}

TEST_F(RunReport, ErrorsSayWhatToDo) {
  const std::string id = trained("resnet50", 0.85);
  const ProcessOutput unknown = report({"ffffffff"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("ffffffff"));
  const ProcessOutput after = report({id, "--from", "100"});
  EXPECT_EQ(after.exit_code, 2);
  EXPECT_THAT(after.error, HasSubstr("The run took 60 s"));
  const ProcessOutput workload = report({"--workload", "none ' or 1=1"});
  EXPECT_EQ(workload.exit_code, 2);
  EXPECT_THAT(workload.error, HasSubstr("there is no run of the workload"));
  EXPECT_EQ(report({id, "--html", "/nonexistent/page.html"}).exit_code, 2);
}

}  // namespace
}  // namespace plimsoll::integration
