#include "report/run_page.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/test_reports.hpp"

namespace plimsoll::report {
namespace {

using diagnose::made_up_run;
using diagnose::Recording;
using diagnose::TestRecording;

using ::testing::HasSubstr;

nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view kBegin = "id=\"data\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

nlohmann::json chart_named(const nlohmann::json& charts, const std::string& title) {
  for (const auto& chart : charts)
    if (chart.at("title") == title) return chart;
  ADD_FAILURE() << "there is no chart " << title;
  return {{"lines", nlohmann::json::array()}};
}

/// A page is too long to be printed by a matcher that fails.
bool has(const std::string& page, std::string_view text) {
  return page.contains(text);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(RunPage, NeedsNothingElse) {
  const std::string page = run_page(workload());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(has(page, "default-src 'none'"));
  EXPECT_TRUE(has(page, "prefers-color-scheme: dark"));
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_FALSE(has(page, outside)) << outside;
  EXPECT_EQ(count(page, "href="), count(page, "href=\"#line-"));
}

TEST(RunPage, SaysWhatWouldMakeItFaster) {
  std::vector<RunReport> reports = workload();
  for (RunReport& report : reports) report.improvements.clear();
  EXPECT_FALSE(has(run_page(reports), "What would make it faster"));
  reports.front().improvements = {{.id = "batch",
                                   .title = "A larger <batch>",
                                   .why = "kernels are small",
                                   .rule = "until it is full",
                                   .gain = 2}};
  const std::string page = run_page(reports);
  EXPECT_TRUE(has(page, "<strong>A larger &lt;batch&gt;</strong>: 2.00 times as fast"));
  EXPECT_EQ(count(page, "What would make it faster"), 1);
}

TEST(RunPage, SaysWithoutScriptsWhatWasFound) {
  const std::vector<RunReport> reports = workload();
  const std::string page = run_page(reports);
  for (const RunReport& report : reports)
    EXPECT_TRUE(has(page, "<h3>" + escape_html(report.verdict.main.title) + "</h3>"));
  EXPECT_TRUE(has(page, "cuda-out-of-memory after 60 s"));
  EXPECT_TRUE(has(page, "torch.OutOfMemoryError: CUDA out of memory."));
  EXPECT_TRUE(has(page, "<h3>What was wasted</h3>"));
  EXPECT_TRUE(has(page, "<path class=\"line run-3\" d=\"M"));
  EXPECT_THAT(page,
              HasSubstr("<tr data-metric=\"system/gpu/0/sm_activity\"><th title=\"\">SM activity</th>"));
  EXPECT_TRUE(has(page, ": 5 epochs</summary>"));
  EXPECT_TRUE(has(page, "Charts show every sample that was stored."));
}

TEST(RunPage, UtilizationAndActivityOfARunShareAChart) {
  const auto charts = data_of(run_page(std::vector<RunReport>{reported(made_up_run({}))})).at("charts");
  const auto chart = chart_named(charts, "SM activity and utilization");
  EXPECT_EQ(chart.at("lines").size(), 2u);
  EXPECT_EQ(chart.at("lines").at(1).at("metric"), "system/gpu/0/utilization");
  EXPECT_EQ(chart.at("lines").at(1).at("faint"), true);
}

TEST(RunPage, OfSeveralRunsAChartHasOneSeriesAndAColourIsARun) {
  const auto charts = data_of(run_page(workload())).at("charts");
  for (const char* title : {"SM activity", "Utilization", "loss"}) {
    const auto lines = chart_named(charts, title).at("lines");
    ASSERT_EQ(lines.size(), 4u) << title;
    for (std::size_t run = 0; run < 4; ++run) {
      EXPECT_EQ(lines.at(run).at("runs"), nlohmann::json::array({run}));
      EXPECT_EQ(lines.at(run).at("color"), run);
      EXPECT_EQ(lines.at(run).at("faint"), false);
    }
  }
}

TEST(RunPage, TheCommandsOwnMetricsComeFirst) {
  const std::string page = run_page(workload());
  const auto charts = data_of(page).at("charts");
  EXPECT_EQ(charts.at(0).at("title"), "loss");
  EXPECT_EQ(charts.at(1).at("title"), "epoch");
  EXPECT_LT(page.find("<h2>The command's metrics</h2>"), page.find("<h2>GPU activity</h2>"));
  EXPECT_LT(page.find("<tr data-metric=\"loss\">"), page.find("<tr data-metric=\"system/"));
}

TEST(RunPage, ChartsThatAreZeroThroughoutAreFoldedAway) {
  TestRecording made = made_up_run({});
  made.sampled("system/host/swap_used", 0, 1).sampled("system/host/network_received", 0, 1);
  made.sampled("system/host/network_sent", [](double t) { return t > 119 ? 1.0 : 0.0; }, 1);
  made.own("errors", {{20, 0}, {30, 0}});
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  EXPECT_TRUE(has(page, "<summary>Zero throughout: errors</summary>"));
  EXPECT_TRUE(has(page, "<summary>Zero throughout: Swap</summary>"));
  EXPECT_FALSE(has(page, "Network</summary>"));  // one of its lines is not
  const std::size_t folded = page.find("Zero throughout: errors");
  EXPECT_LT(page.find("<figcaption>loss</figcaption>"), folded);
  EXPECT_GT(page.find("<figcaption>errors</figcaption>"), folded);
}

/// Every chart's lines have colours of their own, and the page has a rule for each of those.
void expect_colors(const std::string& page) {
  for (const auto& chart : data_of(page).at("charts")) {
    std::set<int> colors;
    for (const auto& line : chart.at("lines")) {
      const int color = line.at("color");
      EXPECT_TRUE(colors.insert(color).second) << chart.at("title") << " has colour " << color << " twice";
      EXPECT_TRUE(has(page, ".run-" + std::to_string(color) + " { color: ")) << color;
    }
  }
}

TEST(RunPage, NoTwoLinesOfAChartHaveTheSameColour) {
  expect_colors(run_page(workload()));
  expect_colors(run_page(std::vector<RunReport>{reported(for_hours())}));
  std::vector<RunReport> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(reported(for_hours()));
    many.back().recording.run.id = "abcdef0" + std::to_string(i);
  }
  expect_colors(run_page(many));
}

TEST(RunPage, TheStyleSheetsColoursDifferInLightAndDark) {
  const std::string_view sheet = page_part("run.css");
  std::vector<std::set<std::string>> schemes(1);
  for (std::size_t at = sheet.find("--run-"); at != std::string_view::npos;
       at = sheet.find("--run-", at + 1)) {
    const std::size_t colon = sheet.find_first_of(":)", at);
    if (sheet[colon] == ')') break;  // from here on they are used
    if (schemes.back().size() == kSheetColors) schemes.emplace_back();
    EXPECT_TRUE(schemes.back().insert(std::string(sheet.substr(colon + 2, 7))).second)
        << sheet.substr(at, 20);
  }
  ASSERT_EQ(schemes.size(), 2u);
  EXPECT_EQ(schemes[1].size(), kSheetColors);
}

TEST(RunPage, CountersAreDrawnAsSteps) {
  TestRecording made = made_up_run({});
  made.sampled("system/run/processes", [](double t) { return t > 60 ? 3.0 : 2.0; }, 1);
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  const auto charts = data_of(page).at("charts");
  const auto shape = [&](const char* title) {
    return chart_named(charts, title).at("lines").at(0).value("shape", "straight");
  };
  EXPECT_EQ(shape("GPU energy since the start"), "after");
  EXPECT_EQ(shape("epoch"), "after");
  EXPECT_EQ(shape("Processes and threads"), "before");
  EXPECT_EQ(shape("loss"), "straight");
  EXPECT_EQ(shape("GPU power"), "straight");
  const std::size_t figure = page.find("<figcaption>epoch</figcaption>");
  const std::string still = page.substr(figure, page.find("</svg>", figure) - figure);
  EXPECT_TRUE(has(still.substr(still.find("<path")), "H")) << still;
  EXPECT_FALSE(has(still.substr(still.find("<path")), "L")) << still;
}

TEST(RunPage, AnEpochIsNeverAveragedWithTheNext) {
  TestRecording made(1000);
  std::vector<std::pair<double, double>> told;
  for (int i = 1; i <= 9000; ++i) told.emplace_back(i / 9.0, 1 + i / 2500);
  made.own("epoch", told);
  const auto charts = data_of(run_page(std::vector<RunReport>{reported(std::move(made))})).at("charts");
  const auto values = chart_named(charts, "epoch").at("lines").at(0).at("v");
  ASSERT_LE(values.size(), 2000u);
  for (const auto& value : values) EXPECT_EQ(value.get<double>(), std::floor(value.get<double>()));
}

TEST(RunPage, ACounterOfTheMachineIsDrawnFromTheRunsStart) {
  TestRecording made(100);
  made.sampled("system/gpu/0/energy", [](double t) { return 5000 + 100 * t; }, 1);
  const auto charts = data_of(run_page(std::vector<RunReport>{reported(std::move(made))})).at("charts");
  const auto values = charts.at(0).at("lines").at(0).at("v");
  EXPECT_EQ(values.at(0), 0);
  EXPECT_EQ(values.at(values.size() - 1), 9900);
}

/// Runs of one machine, the second so many seconds after the first.
std::vector<RunReport> side_by_side(double seconds_apart, const std::string& other_gpu = "GPU-a") {
  std::vector<RunReport> out;
  for (const bool second : {false, true}) {
    const double begin = second ? seconds_apart : 0, length = second ? 140 : 100;
    TestRecording made(length, second ? "second" : "first");
    made.id(second ? "b200000000000000" : "a100000000000000").tag("plimsoll.host", "node7");
    made.tag("plimsoll.device.0.uuid", second ? other_gpu : "GPU-a").tag("plimsoll.devices", "0");
    made.sampled(
            "system/gpu/0/power", [&](double t) { return 100 + t + begin; }, 1)
        .sampled(
            "system/gpu/0/energy", [&](double t) { return 300 * (t + begin); }, 1)
        .sampled("system/host/cpu", 3, 1)
        .sampled("system/run/cpu", second ? 2 : 1, 1);
    out.push_back(reported(std::move(made)));
    out.back().recording.run.start += static_cast<store::Time>(begin * 1e6);
  }
  return out;
}

TEST(RunPage, WhatRunsShareIsDrawnOnce) {
  const std::string page = run_page(side_by_side(2));
  const auto charts = data_of(page).at("charts");
  for (const char* title : {"GPU power", "Energy of the GPU", "Cores of the machine"}) {
    const auto lines = chart_named(charts, title).at("lines");
    ASSERT_EQ(lines.size(), 1u) << title;
    EXPECT_EQ(lines.at(0).at("runs"), nlohmann::json::parse("[0, 1]"));
    EXPECT_EQ(lines.at(0).at("color"), 2) << "no run's own";
  }
  const auto power = chart_named(charts, "GPU power").at("lines").at(0);
  EXPECT_EQ(power.at("label"), "GPU power, GPU 0, shared by 2 runs");
  EXPECT_EQ(power.at("v").size(), 142u) << "to the end of the longer one";
  EXPECT_EQ(power.at("v").at(141), 242);
  EXPECT_EQ(chart_named(charts, "Energy of the GPU").at("lines").at(0).at("v").at(141), 300 * 141);
  EXPECT_EQ(chart_named(charts, "Cores of the run").at("lines").size(), 2u);
  EXPECT_EQ(count(page, "GPU power, GPU 0, shared by 2 runs"), 2u);  // the legend and the data
}

TEST(RunPage, WhatRunsDoNotShareIsDrawnOfEach) {
  for (const auto& reports : {side_by_side(50), side_by_side(2, "GPU-b")})
    EXPECT_EQ(chart_named(data_of(run_page(reports)).at("charts"), "GPU power").at("lines").size(), 2u);
  std::vector<RunReport> elsewhere = side_by_side(2);
  elsewhere[1].recording.run.tags["plimsoll.host"] = "node8";
  EXPECT_EQ(chart_named(data_of(run_page(elsewhere)).at("charts"), "GPU power").at("lines").size(), 2u);
}

TEST(RunPage, ASampleThatReachesOverTheEndIsDrawnUpToIt) {
  TestRecording made(100);
  made.sampled(
      "system/gpu/0/sm_activity", [](double t) { return t == 2 || t == 98 ? 0.5 : std::nan(""); }, 1);
  Recording recording = made.take();
  recording.run.end = *recording.run.end - 10'000'000;  // the second came after it
  set_extent(recording);
  const auto charts = data_of(run_page(std::vector<RunReport>{report_of(recording, {})})).at("charts");
  EXPECT_EQ(charts.at(0).at("lines").at(0).at("t"), nlohmann::json::parse("[2000, 88000]"));
}

TEST(RunPage, ALineThatHasNotItsRunsColourNamesTheRun) {
  std::vector<RunReport> reports = {reported(made_up_run({}, "one GPU")), reported(for_hours())};
  const auto lines = chart_named(data_of(run_page(reports)).at("charts"), "SM activity").at("lines");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines.at(0).at("label"), "SM activity, GPU 0");
  EXPECT_EQ(lines.at(1).at("label"), "SM activity, GPU 0");
  EXPECT_EQ(lines.at(2).at("label"), "SM activity, GPU 1 of gpt2 on two GPUs");
}

TEST(RunPage, TheTitleIsTheScript) {
  TestRecording made = made_up_run({}, "python3");
  made.tag("plimsoll.command", R"(["/opt/conda/bin/python3", "src/train.py", "--lr", "0.1"])");
  const std::vector<RunReport> one = {reported(std::move(made))};
  const std::string page = run_page(one);
  EXPECT_TRUE(has(page, "<title>train.py --lr 0.1 – Plimsoll</title>"));
  EXPECT_TRUE(has(page, "<h1>train.py --lr 0.1 "));
  const std::string two = run_page(std::vector<RunReport>{one[0], one[0]});
  EXPECT_TRUE(has(two, "train.py --lr 0.1 (3f2a91c0)")) << "two of the same name";
  EXPECT_TRUE(has(two, "<h1>2 runs of train.py</h1>"));
  EXPECT_TRUE(has(run_page(std::vector<RunReport>{one[0], reported(made_up_run({}))}), "<h1>2 runs</h1>"));
}

TEST(RunPage, LongNamesOfMetricsAreWhole) {
  const std::string long_name = "validation/" + std::string(200, 'x') + "/accuracy";
  TestRecording made = made_up_run({});
  made.own(long_name, {{20, 0.5}, {30, 0.6}});
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  EXPECT_TRUE(has(page, "<figcaption>" + long_name + "</figcaption>"));
  EXPECT_TRUE(has(page, "<th title=\"\">" + long_name + "</th>"));
}

TEST(RunPage, TheFirstPointOfAMetricIsInItsAverage) {
  TestRecording made = made_up_run({});
  made.own("accuracy", {{20, 0.5}, {30, 0.65}, {60, 0.8}});
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  const std::size_t row = page.find("<tr data-metric=\"accuracy\">");
  EXPECT_TRUE(has(page.substr(row, 200), "<b>0.65</b> <small>0.5 – 0.8</small>")) << page.substr(row, 200);
}

TEST(RunPage, LongHistoriesAreReducedAndItSaysSo) {
  TestRecording made(20000);
  made.sampled(
      "system/gpu/0/sm_activity",
      [](double t) { return t > 9000 && t < 10000 ? std::nan("")
                            : t == 5000           ? 1.0
                                                  : 0.5; }, 2);
  const std::vector<RunReport> reports = {reported(std::move(made))};
  const std::string page = run_page(reports);
  const auto line = data_of(page).at("charts").at(0).at("lines").at(0);
  EXPECT_LE(line.at("t").size(), 2000u);
  EXPECT_GT(line.at("t").size(), 1800u);
  EXPECT_EQ(std::ranges::max(line.at("h").get<std::vector<double>>()), 1.0);
  EXPECT_EQ(line.at("b").size(), 1u);  // the gap
  EXPECT_TRUE(has(page, "joined to at most 2000 samples"));
  EXPECT_LT(page.size(), 150'000u);
  EXPECT_EQ(most_samples_shown(4), 2000u);
  EXPECT_EQ(most_samples_shown(8), 1000u);
}

TEST(RunPage, HostileTextStaysText) {
  const std::string evil = "</script><script>alert('\"1\"')</script><!--<img onerror=x>&\x1b[31m\xff";
  TestRecording made = made_up_run({}, evil);
  made.tag("plimsoll.outcome", evil).tag("plimsoll.reason", evil + "\n" + evil).tag("plimsoll.command", evil);
  made.tag("plimsoll.device.0.name", evil)
      .tag("plimsoll.workload", evil)
      .tag("plimsoll.mode", evil)
      .tag("plimsoll.host", evil);
  made.own(evil, {{20, 1}, {30, 2}}).own("loss" + evil, {{20, 1}, {30, std::nan("")}}).id(evil);
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_EQ(count(page, "<!--"), 0u);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "\x1b"), 0u);
  EXPECT_EQ(count(page, "\xff"), 0u);
  EXPECT_FALSE(data_of(page).empty());
}

TEST(RunPage, OfNothingAndOfARunWithoutSamples) {
  EXPECT_TRUE(has(run_page({}), "<h1>0 runs</h1>"));
  EXPECT_TRUE(has(run_page(std::vector<RunReport>{reported(TestRecording(0))}), "</html>"));
}

TEST(RunPage, APartOfTheRun) {
  const RunReport part = report_of(made_up_run({}).take(), {.from = 30, .to = 40});
  const auto data = data_of(run_page(std::vector<RunReport>{part}));
  EXPECT_EQ(data.at("from"), 30);
  EXPECT_EQ(data.at("to"), 40);
  const auto times = chart_named(data.at("charts"), "SM activity and utilization").at("lines").at(0).at("t");
  EXPECT_NEAR(times.at(0).get<double>(), 30000, 110);
  EXPECT_LE(times.size(), 101u);
}

}  // namespace
}  // namespace plimsoll::report
