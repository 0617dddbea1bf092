#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/run_page.hpp"
#include "report/test_browser.hpp"
#include "report/test_reports.hpp"

namespace plimsoll::report {
namespace {

using diagnose::made_up_run;
using diagnose::TestRecording;

using ::testing::HasSubstr;

class RunPageInABrowser : public PageInABrowser {
 protected:
  static constexpr const char* kTools = R"(
    const later = (then) => setTimeout(then, 100);
    const mean = (metric, run) => document.querySelector(`#averages tr[data-metric="${metric}"]`).cells[run + 1].firstElementChild.textContent;
    const chartOf = (title) => data.charts.findIndex((chart) => chart.title === title);
    const svg = (chart) => document.querySelector(`[data-chart="${chart}"] svg`);
    const point = (chart, kind, share) => {
      const box = svg(chart).getBoundingClientRect(), width = svg(chart).viewBox.baseVal.width;
      const left = Number(svg(chart).dataset.left);
      const x = box.left + (left + share * (width - left - 8)) / width * box.width;
      svg(chart).dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: box.top + 50, bubbles: true, pointerId: 1 }));
    };
    Element.prototype.setPointerCapture = () => {};
  )";
};

TEST_F(RunPageInABrowser, ZoomsAndAveragesOverWhatIsShown) {
  const std::vector<RunReport> reports = workload();
  const std::string page = run_page(reports);
  const nlohmann::json answer = ask(page, std::string(kTools) + R"(
    answer.scripted = document.documentElement.classList.contains('scripted');
    answer.whole = mean('system/gpu/0/sm_activity', 0);
    answer.energy = mean('system/gpu/0/energy', 0);
    const sm = chartOf('SM activity');
    answer.lines = svg(sm).querySelectorAll('path.line').length;
    point(sm, 'pointermove', 0.5);
    answer.readouts = Array.from(document.querySelectorAll(`[data-chart="${sm}"] .legend b`), (b) => b.textContent);
    point(sm, 'pointerdown', 0.2); point(sm, 'pointermove', 0.3); point(sm, 'pointerup', 0.3);
    later(() => {
      answer.span = document.getElementById('span').textContent;
      answer.zoomed = mean('system/gpu/0/sm_activity', 0);
      answer.part = mean('system/gpu/0/energy', 0);
      answer.rows = csv().split('\r\n').length;
      answer.first = csv().split('\r\n').find((row) => row.includes('sm_activity'));
      svg(sm).dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
      later(() => { answer.again = mean('system/gpu/0/sm_activity', 0); answer.disabled = document.getElementById('reset').disabled; say(); });
    });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("scripted"), true);
  EXPECT_EQ(answer.at("whole"), "31 %");  // 0.35 for 105 of 120 seconds, as the page says without scripts
  EXPECT_TRUE(page.contains("<b>31 %</b>"));
  EXPECT_EQ(answer.at("lines"), 4);
  EXPECT_EQ(answer.at("energy"), "43.5 kJ in all");
  EXPECT_EQ(answer.at("span"), "30 s – 45 s");
  EXPECT_EQ(answer.at("zoomed"), "35 %");
  EXPECT_EQ(answer.at("part"), "6.00 kJ in all");
  EXPECT_EQ(answer.at("readouts").size(), 4u);
  EXPECT_THAT(answer.at("readouts").at(0).get<std::string>(), HasSubstr(" %"));
  EXPECT_EQ(answer.at("readouts").at(3), "–");  // the run was over by then
  EXPECT_GT(answer.at("rows").get<int>(), 1000);
  EXPECT_THAT(answer.at("first").get<std::string>(),
              ::testing::StartsWith("a1000000,resnet50 batch 64,system/gpu/0/sm_activity,share,30"));
  EXPECT_EQ(answer.at("again"), "31 %");
  EXPECT_EQ(answer.at("disabled"), true);
}

TEST_F(RunPageInABrowser, TogglesSmoothingStepsAndKeys) {
  const nlohmann::json answer = ask(run_page(workload()), std::string(kTools) + R"(
    const box = document.querySelector('[name=group][value=activity]');
    box.click();
    answer.hidden = document.querySelector('.group[data-group=activity]').hidden;
    box.click();
    const loss = chartOf('loss'), sm = chartOf('SM activity');
    const before = svg(loss).querySelector('path.line').getAttribute('d');
    const slider = document.getElementById('smoothing');
    slider.value = 60; slider.dispatchEvent(new Event('input'));
    later(() => {
      answer.smoother = svg(loss).querySelector('path.line').getAttribute('d') !== before;
      answer.said = document.getElementById('smoothed').textContent;
      document.querySelector('[name=axis][value=step]').click();
      later(() => {
        answer.marks = Array.from(svg(loss).querySelectorAll('text'), (t) => t.textContent).filter((t) => /^\d+$/.test(t));
        const press = (chart, key, shiftKey) => svg(chart).dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true }));
        press(sm, '+'); press(sm, 'ArrowRight', true);
        later(() => {
          answer.span = document.getElementById('span').textContent;
          press(sm, 'Home');
          answer.where = document.querySelector(`[data-chart="${sm}"] figcaption .where`).textContent;
          press(sm, 'Escape');
          later(() => { answer.whole = document.getElementById('span').textContent; say(); });
        });
      });
    });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("hidden"), true);
  EXPECT_EQ(answer.at("smoother"), true);
  EXPECT_THAT(answer.at("said").get<std::string>(), HasSubstr("points"));
  EXPECT_THAT(answer.at("marks"), ::testing::Contains("100"));
  EXPECT_EQ(answer.at("span"), "52.5 s – 2.125 min");  // the middle half, and a fifth of it on
  EXPECT_EQ(answer.at("where"), " at 52.5 s");
  EXPECT_EQ(answer.at("whole"), "0 s – 2.5 min");
}

TEST_F(RunPageInABrowser, LongRunsShowTheirExtremesUntilSmoothed) {
  const std::string page = run_page(std::vector<RunReport>{reported(for_hours())});
  EXPECT_LT(page.size(), 2'000'000u);
  const nlohmann::json answer = ask(page, std::string(kTools) + R"(
    const sm = chartOf('SM activity and utilization');
    answer.lines = svg(sm).querySelectorAll('path.line').length;
    answer.bands = svg(sm).querySelectorAll('path.band').length;
    answer.points = svg(sm).querySelector('path.line').getAttribute('d').split('L').length;
    answer.labels = Array.from(document.querySelectorAll(`[data-chart="${sm}"] .legend li`), (li) => li.textContent.trim());
    const slider = document.getElementById('smoothing');
    slider.value = 50; slider.dispatchEvent(new Event('input'));
    later(() => { answer.smoothed = svg(sm).querySelectorAll('path.band').length; say(); });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("lines"), 4);
  EXPECT_EQ(answer.at("bands"), 2);
  EXPECT_LT(answer.at("points").get<int>(), 1200);  // no more than there are pixels
  EXPECT_EQ(answer.at("labels").at(0), "SM activity, GPU 0");
  EXPECT_EQ(answer.at("smoothed"), 0);
}

TEST_F(RunPageInABrowser, GapsStayGapsAndHostileNamesText) {
  TestRecording made(100, "<img src=x onerror=alert(1)>");
  made.sampled("system/gpu/0/sm_activity", [](double t) { return t > 40 && t < 60 ? std::nan("") : 0.5; });
  made.own("<b>loss</b>", {{10, 1}, {20, 2}, {30, 3}});
  const nlohmann::json answer =
      ask(run_page(std::vector<RunReport>{reported(std::move(made))}), std::string(kTools) + R"(
    const sm = chartOf('SM activity and utilization');
    const readout = () => document.querySelector(`[data-chart="${sm}"] .legend b`).textContent;
    answer.pieces = svg(sm).querySelector('path.line').getAttribute('d').split('M').length - 1;
    point(sm, 'pointermove', 0.5);
    answer.gap = readout();
    point(sm, 'pointermove', 0.2);
    answer.known = readout();
    answer.images = document.querySelectorAll('img').length;
    answer.own = document.querySelector('[data-chart="0"] figcaption').firstChild.textContent;
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("pieces"), 2);
  EXPECT_EQ(answer.at("gap"), "–");
  EXPECT_EQ(answer.at("known"), "50 %");
  EXPECT_EQ(answer.at("images"), 0);
  EXPECT_EQ(answer.at("own"), "<b>loss</b>");
}

TEST_F(RunPageInABrowser, AveragesOfOwnMetricsHoldTheirFirstPointAlsoWhereZoomed) {
  TestRecording made(100);
  made.own("accuracy", {{20, 0.5}, {30, 0.65}, {60, 0.8}}).sampled("system/run/cpu", 1);
  const nlohmann::json answer =
      ask(run_page(std::vector<RunReport>{reported(std::move(made))}), std::string(kTools) + R"(
    const both = () => document.querySelector('#averages tr[data-metric="accuracy"]').cells[1].textContent;
    answer.whole = both();
    zoom('time', 10, 40);
    later(() => { answer.zoomed = both(); say(); });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("whole"), "0.65 0.5 – 0.8");
  EXPECT_EQ(answer.at("zoomed"), "0.575 0.5 – 0.65");
}

TEST_F(RunPageInABrowser, LabelsAreWithinTheirChartsAndCountersAreSteps) {
  TestRecording made = made_up_run({});
  made.own("tiny", {{20, -1.2345e-12}, {30, -1.2311e-12}, {60, -1.21e-12}});
  made.own("huge", {{20, 123456789012.0}, {30, 123456999012.5}, {60, 123456889012.0}});
  const nlohmann::json answer =
      ask(run_page(std::vector<RunReport>{reported(std::move(made))}), std::string(kTools) + R"(
    const outside = () => {
      const out = [];
      for (const chart of data.charts) for (const text of chart.svg.querySelectorAll('text')) {
        const box = text.getBBox(), width = chart.svg.viewBox.baseVal.width;
        if (box.width > 0 && (box.x < 0 || box.x + box.width > width)) out.push(`${chart.title}: ${text.textContent}`);
      }
      return out;
    };
    answer.texts = document.querySelectorAll('figure text').length;
    answer.time = outside();
    answer.steps = svg(chartOf('epoch')).querySelector('path.line').getAttribute('d');
    answer.energy = svg(chartOf('GPU energy since the start')).querySelector('path.line').getAttribute('d').slice(0, 200);
    document.querySelector('[name=axis][value=step]').click();
    later(() => { answer.step = outside(); say(); });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_GT(answer.at("texts").get<int>(), 50);
  EXPECT_EQ(answer.at("time"), nlohmann::json::array());
  EXPECT_EQ(answer.at("step"), nlohmann::json::array());
  for (const char* stepped : {"steps", "energy"}) {
    EXPECT_THAT(answer.at(stepped).get<std::string>(), HasSubstr("V")) << stepped;
    EXPECT_THAT(answer.at(stepped).get<std::string>(), ::testing::Not(HasSubstr("L"))) << stepped;
  }
}

TEST_F(RunPageInABrowser, FewPointsAndSingleSamplesAreSeen) {
  TestRecording made(100);
  made.own("accuracy", {{20, 0.5}, {30, 0.65}, {60, 0.8}}).own("once", {{20, 1.5}});
  made.sampled("system/host/disk_read", [](double t) { return t == 50 ? 1e6 : std::nan(""); }, 1);
  const std::string page = run_page(std::vector<RunReport>{reported(std::move(made))});
  const nlohmann::json answer = ask(page, std::string(kTools) + R"(
    const dots = (title) => svg(chartOf(title)).querySelector('path.dots').getAttribute('d').split('M').length - 1;
    answer.dots = ['accuracy', 'once', 'Storage'].map(dots);
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("dots").at(0), 3);
  EXPECT_EQ(answer.at("dots").at(1), 1);
  EXPECT_GE(answer.at("dots").at(2), 1);
  EXPECT_TRUE(page.contains("<path class=\"dots run-0\"")) << "without scripts, too";
}

TEST_F(RunPageInABrowser, FitsAPhone) {
  std::vector<RunReport> reports = workload();
  reports[0].recording.run.name = "train.py --learning-rate 0.1 --output " + std::string(80, 'x');
  for (const std::string& page : {run_page(reports), run_page(std::span(reports).first(1))}) {
    const nlohmann::json answer = ask(page, std::string(kTools) + R"(
      answer.overflow = document.documentElement.scrollWidth - innerWidth;
      answer.wide = data.charts.filter((chart) => chart.svg.getBoundingClientRect().right > innerWidth + 1).length;
      say();)",
                                      390);
    ASSERT_TRUE(answer.is_object()) << answer;
    EXPECT_EQ(answer.value("error", ""), "");
    EXPECT_LE(answer.at("overflow").get<int>(), 0);
    EXPECT_EQ(answer.at("wide"), 0);
  }
}

TEST_F(RunPageInABrowser, ZeroChartsAreDrawnWhereTheyAreUnfolded) {
  TestRecording made = made_up_run({});
  made.sampled("system/host/swap_used", 0, 1);
  const nlohmann::json answer =
      ask(run_page(std::vector<RunReport>{reported(std::move(made))}), std::string(kTools) + R"(
    const swap = chartOf('Swap'), folded = svg(swap).closest('details');
    answer.open = folded.open;
    folded.open = true;
    later(() => {
      answer.same = svg(swap).viewBox.baseVal.width === svg(chartOf('GPU memory')).viewBox.baseVal.width;
      say();
    });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("open"), false);
  EXPECT_EQ(answer.at("same"), true);
}

}  // namespace
}  // namespace plimsoll::report
