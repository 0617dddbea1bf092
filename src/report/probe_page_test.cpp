#include "report/probe_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/probe_charts.hpp"
#include "report/test_browser.hpp"
#include "report/test_survey.hpp"

namespace plimsoll::report {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const std::vector<LogChart>& charts) {
  std::vector<std::string> out;
  for (const LogChart& chart : charts) out.push_back(chart.name);
  return out;
}

TEST(ProbeCharts, OneForEachStudyOfWhatThereIs) {
  probe::Survey survey = made_up_survey();
  EXPECT_THAT(names(survey_charts(survey)),
              ElementsAre("vecadd-copies", "vecadd-unified", "matmul", "cpu-memory", "cpu-roofline",
                          "gpu-memory", "gpu-copies", "gpu-roofline"));
  survey.gpu.reset();
  EXPECT_THAT(names(survey_charts(survey)),
              ElementsAre("vecadd-copies", "matmul", "cpu-memory", "cpu-roofline"));
  EXPECT_EQ(survey_charts(survey).front().title, "Sum of two arrays on the CPU");
  survey.cpu->findings = {};
  survey.cpu->ceilings.clear();
  EXPECT_TRUE(survey_charts(survey).empty());
}

TEST(ProbeCharts, TheCpuStandsBesideBothWays) {
  const std::vector<LogChart> charts = survey_charts(made_up_survey());
  for (const std::size_t chart : {0, 1}) {
    std::vector<std::string> labels;
    for (const LogSeries& s : charts[chart].series) labels.push_back(s.label);
    EXPECT_THAT(labels, ::testing::IsSupersetOf({"CPU, one thread", "CPU, all threads", "GPU, one thread",
                                                 "GPU, one block", "GPU, many blocks"}));
    for (const LogSeries& s : charts[chart].series) EXPECT_EQ(s.points.size(), 5u) << s.label;
  }
  // One block of one thread with 100 M elements: 15 s of kernel and 22.5 ms of copies.
  const LogSeries& slow = charts[0].series.front();
  EXPECT_EQ(slow.label, "GPU, one thread");
  EXPECT_NEAR(slow.points.back().y, 15.0228, 1e-3);
}

TEST(ProbeCharts, TheRoofBreaksAtTheRidge) {
  const LogChart roofline = survey_charts(made_up_survey()).back();
  const auto bf16 =
      std::ranges::find_if(roofline.series, [](const LogSeries& s) { return s.label.starts_with("bf16"); });
  ASSERT_NE(bf16, roofline.series.end());
  const double bandwidth = 0.94 * 4.4e12 * 512 / 513;  // the triad's, at the largest working set
  ASSERT_EQ(bf16->points.size(), 2u);
  EXPECT_NEAR(bf16->points[0].x, 790e12 / bandwidth, 1);
  EXPECT_NEAR(bf16->points[0].y, 790e12, 1e9);
  EXPECT_NEAR(bf16->points[1].y, 790e12, 1e9);
  // The slope of memory goes up to the highest of them.
  const LogSeries& slope = roofline.series.front();
  EXPECT_EQ(slope.label, "memory, 4.13 TB/s");
  EXPECT_NEAR(slope.points[0].y / slope.points[0].x, bandwidth, 1e-3 * bandwidth);
  EXPECT_NEAR(slope.points[1].y, 1500e12, 1e9);
}

TEST(ProbePage, NeedsNothingElse) {
  const std::string page = survey_page(made_up_survey());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.contains("default-src 'none'"));
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "href=", "<script"})
    EXPECT_FALSE(page.contains(outside)) << outside;
  EXPECT_TRUE(page.contains("<h3>Doubtful</h3>"));
  EXPECT_TRUE(page.contains("<td>product-bf16</td>"));
  EXPECT_TRUE(page.contains("the chip has none"));
}

TEST(ProbePage, HostileTextStaysText) {
  probe::Survey survey = made_up_survey();
  const std::string evil = "</style><script>alert(1)</script><img onerror=x>\x1b[31m\xff";
  survey.gpu->device.name = survey.gpu->setup = survey.date = evil;
  survey.gpu->findings.remarks = survey.gpu->doubts = {evil};
  survey.gpu->findings.rates.push_back({"memory-" + evil, "B/s", 1, 1024, {1}, {}});
  survey.gpu->findings.rates.push_back({"memory-" + evil, "B/s", 1, 4096, {1}, {}});
  survey.gpu->ceilings.clear();
  complete_ceilings(*survey.gpu, evil);
  const std::string page = survey_page(survey);
  EXPECT_FALSE(page.contains("<script"));
  EXPECT_FALSE(page.contains("<img"));
  EXPECT_FALSE(page.contains("\x1b"));
  EXPECT_FALSE(page.contains("\xff"));
}

class ProbePageInABrowser : public PageInABrowser {};

TEST_F(ProbePageInABrowser, ChartsAreDrawnAndNothingOverlaps) {
  // The existing door puts its own script before the page's first; this page has none.
  const nlohmann::json answer = ask(survey_page(made_up_survey()) + "<script></script>", R"(
    const charts = Array.from(document.querySelectorAll('svg.log-chart'));
    answer.charts = charts.length;
    answer.overlaps = [];
    answer.outside = [];
    for (const svg of charts) {
      const frame = svg.getBoundingClientRect();
      const boxes = Array.from(svg.querySelectorAll('text'), (t) => [t.textContent, t.getBoundingClientRect()]);
      for (const [text, box] of boxes)
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) answer.outside.push(text);
      for (let i = 0; i < boxes.length; ++i)
        for (let k = i + 1; k < boxes.length; ++k) {
          const a = boxes[i][1], b = boxes[k][1];
          if (a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom) answer.overlaps.push(boxes[i][0] + ' / ' + boxes[k][0]);
        }
    }
    const first = charts[0];
    answer.width = first.getBoundingClientRect().width;
    answer.lines = first.querySelectorAll('path.stroke').length;
    answer.color = getComputedStyle(first.querySelector('path.stroke')).stroke;
    answer.font = getComputedStyle(first.querySelector('text')).fontSize;
    answer.wide = document.documentElement.scrollWidth <= innerWidth;
    answer.tables = document.querySelectorAll('table').length;
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("charts"), 8);
  EXPECT_EQ(answer.at("overlaps"), nlohmann::json::array());
  EXPECT_EQ(answer.at("outside"), nlohmann::json::array());
  EXPECT_GT(answer.at("width").get<double>(), 400);
  EXPECT_EQ(answer.at("lines"), 2 * 10);  // ten series, drawn and in the legend
  EXPECT_NE(answer.at("color"), "none");
  EXPECT_EQ(answer.at("wide"), true);
  EXPECT_EQ(answer.at("tables"), 7);
}

TEST_F(ProbePageInABrowser, AFileIsAPicture) {
  const std::vector<LogChart> charts = survey_charts(made_up_survey());
  const nlohmann::json answer =
      ask("<!DOCTYPE html><script></script><body>" + to_svg(charts[2], SvgUse::file), R"(
    const svg = document.querySelector('svg');
    answer.size = [svg.getBoundingClientRect().width, svg.getBoundingClientRect().height];
    answer.ground = getComputedStyle(svg.querySelector('.ground')).fill;
    answer.texts = Array.from(svg.querySelectorAll('text'), (t) => t.textContent);
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("size").at(0), 880);
  EXPECT_EQ(answer.at("ground"), "rgb(255, 255, 255)");
  EXPECT_THAT(answer.at("texts").get<std::vector<std::string>>(),
              ::testing::IsSupersetOf({"rows and columns", "rate (FLOP/s)", "8192", "1 TFLOP/s",
                                       "GPU, library", "CPU, three loops", "GPU's ceiling, 51.0 TFLOP/s",
                                       "GPU's peak, 67.0 TFLOP/s"}));
}

}  // namespace
}  // namespace plimsoll::report
