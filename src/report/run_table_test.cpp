#include "report/run_table.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/point_lines.hpp"
#include "report/run_comparison.hpp"

namespace plimsoll::report {
namespace {

store::Metric metric(double value, const char* unit) {
  return {.description = {unit, ""}, .latest = {0, 0, value}, .points = 1};
}

store::Run example() {
  return {.id = "0123456789abcdef0123456789abcdef",
          .experiment = "vision",
          .status = store::RunStatus::failed,
          .start = 1'000'000,
          .params = {{"lr", "0.1"}}};
}

TEST(RunTable, SaysNothingOfWhatNobodyMeasured) {
  store::Run run = example();
  EXPECT_EQ(run_outcome(run), "failed");
  EXPECT_FALSE(run_duration(run));
  EXPECT_FALSE(run_energy(run));
  const Table table = run_table({&run, 1}, {});
  EXPECT_EQ(table.rows.at(0).at(5), "-");
  EXPECT_EQ(table.rows.at(0).at(6), "-");
  const nlohmann::ordered_json json = run_json(run);
  EXPECT_TRUE(json.at("end").is_null());
  EXPECT_TRUE(json.at("seconds").is_null());
  EXPECT_TRUE(json.at("joules").is_null());
}

TEST(RunTable, ARunThatNobodyNamedIsCalledByItsScript) {
  store::Run run = example();
  EXPECT_EQ(run_table({&run, 1}, {}).rows.at(0).at(1), "-");
  run.name = "python3";
  run.tags["plimsoll.command"] = R"(["/usr/bin/python3", "train.py", "--lr", "0.1"])";
  EXPECT_EQ(run_table({&run, 1}, {}).rows.at(0).at(1), "train.py --lr 0.1");
}

TEST(RunTable, AColumnForWhatTheListDoesNotSayAnyway) {
  const auto adds = [](const char* field) { return adds_to_list(store::parse_order(field)->field); };
  for (const char* field : {"metrics.loss", "params.lr", "tags.model", "end_time", "user_id"})
    EXPECT_TRUE(adds(field)) << field;
  for (const char* field : {"run_id", "run_name", "status", "start_time", "duration", "experiment_name",
                            "tags.`plimsoll.outcome`"})
    EXPECT_FALSE(adds(field)) << field;
}

TEST(RunTable, PrefersTheRunsOwnPartOfTheEnergy) {
  store::Run run = example();
  run.metrics["summary/gpu_energy"] = metric(100, "J");
  EXPECT_EQ(run_energy(run), Joules(100));
  run.metrics["summary/gpu_energy_share"] = metric(40, "J");
  EXPECT_EQ(run_energy(run), Joules(40));
  run.metrics["summary/gpu_energy_share"] = metric(std::nan(""), "J");
  EXPECT_EQ(run_energy(run), Joules(100)) << "what is not a number is not known";
}

TEST(RunTable, TimesOfAnyKindGiveADuration) {
  store::Run run = example();
  run.start = std::numeric_limits<store::Time>::min();
  run.end = std::numeric_limits<store::Time>::max();
  ASSERT_TRUE(run_duration(run));
  EXPECT_NEAR(run_duration(run)->value(), 0x1p64 * 1e-6, 1);
  EXPECT_FALSE(local_time_text(run.start).empty());
  EXPECT_FALSE(local_time_text(*run.end).empty());
}

TEST(MetricText, HasItsUnit) {
  EXPECT_EQ(metric_text(1200, "J"), "1.20 kJ");
  EXPECT_EQ(metric_text(1 << 30, "B"), "1.00 GiB");
  EXPECT_EQ(metric_text(0.8734, "1"), "0.8734");
  EXPECT_EQ(metric_text(3, ""), "3");
  EXPECT_EQ(metric_text(61.5, "°C"), "61.5 °C");
  EXPECT_EQ(metric_text(2, "\x1b"), "2 \\x1b");
  EXPECT_EQ(metric_text(std::nan(""), "J"), "NaN");
  EXPECT_EQ(metric_text(-std::numeric_limits<double>::infinity(), "B"), "-Infinity");
}

TEST(RunDetails, ShowAReasonLineByLine) {
  store::Run run = example();
  run.tags = {{"plimsoll.outcome", "cuda-out-of-memory"},
              {"plimsoll.reason", "RuntimeError: CUDA\nTried to allocate"}};
  run.deleted = true;
  const std::string text = run_details(run, {}, {});
  EXPECT_NE(text.find("  outcome     cuda-out-of-memory (failed)\n"
                      "  reason      RuntimeError: CUDA\n"
                      "              Tried to allocate\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  deleted     yes"), std::string::npos) << text;
  EXPECT_EQ(text.find("Tags"), std::string::npos) << "all of them are shown above";
}

TEST(RunComparison, PutsDifferingParametersFirstAndLeavesOutTheRest) {
  store::Run a = example(), b = example();
  a.params = {{"same", "1"}, {"lr", "0.1"}, {"only", "x"}};
  b.params = {{"same", "1"}, {"lr", "0.2"}};
  a.metrics = {
      {"loss", metric(0.0, "1")}, {"system/host/cpu", metric(3, "cores")}, {"odd", metric(std::nan(""), "")}};
  b.metrics = {{"loss", metric(0.5, "1")}, {"odd", metric(std::nan(""), "")}};
  const store::Run runs[] = {a, b};
  const std::vector<ComparedRow> rows = compare_runs(runs, false);
  std::vector<std::string> names;
  for (const ComparedRow& row : rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"lr", "only", "outcome", "duration", "loss", "odd"}));
  EXPECT_TRUE(rows[1].differs());
  EXPECT_FALSE(rows[5].differs()) << "both are not a number";
  const Table table = comparison_table(runs, rows);
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"params.only", "x", "-"}));
  EXPECT_EQ(table.rows[4], (std::vector<std::string>{"metrics.loss", "0", "0.5"})) << "no share of nothing";
  EXPECT_EQ(compare_runs(runs, true).size(), 8U);
}

TEST(PointLines, HandsOutLongHistoriesInPieces) {
  const store::Run run = example();
  const std::vector<store::Point> points(20'000, store::Point{1'000'000, 0, 1.5});
  std::string whole;
  std::size_t longest = 0;
  PointLines lines(PointFormat::json, [&](std::string_view text) -> Status {
    whole += text;
    longest = std::max(longest, text.size());
    return {};
  });
  ASSERT_TRUE(lines.begin() && lines.add(run, "a \"b\"\n", points) && lines.add(run, "empty", {}) &&
              lines.end());
  EXPECT_EQ(lines.written(), points.size());
  EXPECT_LT(longest, 300'000U);
  const nlohmann::json read = nlohmann::json::parse(whole);
  ASSERT_EQ(read.at("points").size(), points.size());
  EXPECT_EQ(read.at("points").at(7).at("metric"), "a \"b\"\n");
}

TEST(PointLines, StopsWhereItCannotWrite) {
  PointLines lines(PointFormat::csv, [](std::string_view) -> Status { return fail("full"); });
  EXPECT_FALSE(lines.begin());
  EXPECT_FALSE(lines.add(example(), "m", {}));
}

}  // namespace
}  // namespace plimsoll::report
