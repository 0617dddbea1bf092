#include "report/run_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/test_browser.hpp"
#include "report/test_runs.hpp"

namespace plimsoll::report {
namespace {

using ::testing::HasSubstr;

RunReport reported(TestRecording made) {
  return report_of(made.take(), {});
}

/// Four of a workload that shared a GPU, each with another trouble.
std::vector<RunReport> workload() {
  std::vector<RunReport> out;
  const auto add = [&](const MadeUp& m, const std::string& name, const std::string& id,
                       const std::string& outcome) {
    TestRecording made = made_up_run(m, name);
    made.id(id + "00000000000000000000000000")
        .tag("plimsoll.workload", "sweep")
        .tag("plimsoll.outcome", outcome);
    if (outcome == "cuda-out-of-memory")
      made.tag("plimsoll.reason",
               "  File \"train.py\", line 41, in <module>\ntorch.OutOfMemoryError: CUDA out of memory. Tried "
               "to allocate 2.00 GiB.");
    out.push_back(reported(std::move(made)));
  };
  add({.seconds = 120, .sm = 0.35, .kernels = 0.45, .cpu = 15.4}, "resnet50 batch 64", "a10000", "finished");
  add({.seconds = 150, .sm = 0.2, .kernels = 0.95, .cpu = 1.1, .watts = 250}, "resnet50 batch 8", "b20000",
      "finished");
  add({.seconds = 90, .sm = 0.85, .kernels = 0.98, .memory = 70e9, .watts = 650, .throttle = 4},
      "resnet50 batch 512", "c30000", "finished");
  add({.seconds = 60, .sm = 0.9, .kernels = 0.98, .memory = 84.5e9, .watts = 690}, "resnet50 batch 1024",
      "d40000", "cuda-out-of-memory");
  return out;
}

nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view kBegin = "id=\"data\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
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

TEST(RunPage, UtilizationAndActivityShareAChart) {
  const auto charts = data_of(run_page(workload())).at("charts");
  EXPECT_EQ(charts.at(0).at("title"), "SM activity and utilization");
  EXPECT_EQ(charts.at(0).at("lines").size(), 8u);
  EXPECT_EQ(charts.at(0).at("lines").at(4).at("metric"), "system/gpu/0/utilization");
  EXPECT_EQ(charts.at(0).at("lines").at(4).at("faint"), true);
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
  const auto times = data.at("charts").at(0).at("lines").at(0).at("t");
  EXPECT_NEAR(times.at(0).get<double>(), 30000, 110);
  EXPECT_LE(times.size(), 101u);
}

class RunPageInABrowser : public PageInABrowser {
 protected:
  static constexpr const char* kTools = R"(
    const later = (then) => setTimeout(then, 100);
    const mean = (metric, run) => document.querySelector(`#averages tr[data-metric="${metric}"]`).cells[run + 1].firstElementChild.textContent;
    const svg = (chart) => document.querySelector(`[data-chart="${chart}"] svg`);
    const point = (chart, kind, share) => {
      const box = svg(chart).getBoundingClientRect(), width = svg(chart).viewBox.baseVal.width;
      const x = box.left + (62 + share * (width - 70)) / width * box.width;
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
    answer.lines = svg(0).querySelectorAll('path.line').length;
    point(0, 'pointermove', 0.5);
    answer.readouts = Array.from(document.querySelectorAll('[data-chart="0"] .legend b'), (b) => b.textContent);
    point(0, 'pointerdown', 0.2); point(0, 'pointermove', 0.3); point(0, 'pointerup', 0.3);
    later(() => {
      answer.span = document.getElementById('span').textContent;
      answer.zoomed = mean('system/gpu/0/sm_activity', 0);
      answer.part = mean('system/gpu/0/energy', 0);
      answer.rows = csv().split('\r\n').length;
      answer.first = csv().split('\r\n')[1];
      svg(0).dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
      later(() => { answer.again = mean('system/gpu/0/sm_activity', 0); answer.disabled = document.getElementById('reset').disabled; say(); });
    });)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("scripted"), true);
  EXPECT_EQ(answer.at("whole"), "31 %");  // 0.35 for 105 of 120 seconds, as the page says without scripts
  EXPECT_TRUE(has(page, "<b>31 %</b>"));
  EXPECT_EQ(answer.at("lines"), 8);
  EXPECT_EQ(answer.at("energy"), "43.5 kJ in all");
  EXPECT_EQ(answer.at("span"), "30 s – 45 s");
  EXPECT_EQ(answer.at("zoomed"), "35 %");
  EXPECT_EQ(answer.at("part"), "6.00 kJ in all");
  EXPECT_EQ(answer.at("readouts").size(), 8u);
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
    const loss = data.charts.findIndex((chart) => chart.title === 'loss');
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
        press(0, '+'); press(0, 'ArrowRight', true);
        later(() => {
          answer.span = document.getElementById('span').textContent;
          press(0, 'Home');
          answer.where = document.querySelector('[data-chart="0"] figcaption small').textContent;
          press(0, 'Escape');
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

/// Three hours on two GPUs with a pause for evaluation every half hour, and half an hour that was not
/// sampled.
TestRecording for_hours() {
  TestRecording made(3 * 3600, "gpt2 on two GPUs");
  std::uint32_t noise = 1;
  const auto random = [&noise] {
    noise = noise * 1664525 + 1013904223;
    return static_cast<double>(noise >> 8) / 0x1p24;
  };
  const auto pauses = [](double t) { return std::fmod(t, 1800) > 1650; };
  const auto missing = [](double t) { return t > 6000 && t < 7800; };
  made.tag("plimsoll.devices", "0,1")
      .tag("plimsoll.host.cores", "64")
      .tag("plimsoll.command", "torchrun --nproc-per-node 2 train.py");
  for (const unsigned gpu : {0U, 1U}) {
    const std::string tagged = "plimsoll.device." + std::to_string(gpu);
    made.tag(tagged + ".name", "NVIDIA A100-SXM4-80GB").tag(tagged + ".memory_bytes", "85899345920");
    const auto sampled = [&](std::string_view what, double value, double idle, double swing) {
      made.sampled(
          gpu_series(gpu, what),
          [&](double t) {
            return missing(t) ? std::nan("") : (pauses(t) ? idle : value * (1 + swing * (random() - 0.5)));
          },
          2);
    };
    sampled("sm_activity", 0.62 - 0.1 * gpu, 0.02, 0.5);
    sampled("utilization", 0.97, 0.3, 0.05);
    sampled("graphics_activity", 0.95, 0.1, 0.05);
    sampled("memory_used", 61e9, 61e9, 0);
    sampled("power", 340 - 30 * gpu, 90, 0.2);
    made.sampled(gpu_series(gpu, "energy"), [&](double t) { return 300 * t; }, 2);
  }
  made.sampled("system/run/cpu", [&](double t) { return missing(t) ? std::nan("") : 4 + 3 * random(); }, 2);
  std::vector<std::pair<double, double>> loss;
  for (int i = 1; i <= 20000; ++i)
    loss.emplace_back(60 + i * 0.53, 3 + 7 * std::exp(-i / 3000.0) + 0.4 * random());
  return std::move(made.own("train/loss", loss));
}

TEST_F(RunPageInABrowser, LongRunsShowTheirExtremesUntilSmoothed) {
  const std::string page = run_page(std::vector<RunReport>{reported(for_hours())});
  EXPECT_LT(page.size(), 2'000'000u);
  const nlohmann::json answer = ask(page, std::string(kTools) + R"(
    answer.lines = svg(0).querySelectorAll('path.line').length;
    answer.bands = svg(0).querySelectorAll('path.band').length;
    answer.points = svg(0).querySelector('path.line').getAttribute('d').split('L').length;
    answer.labels = Array.from(document.querySelectorAll('[data-chart="0"] .legend li'), (li) => li.firstChild.textContent.trim());
    const slider = document.getElementById('smoothing');
    slider.value = 50; slider.dispatchEvent(new Event('input'));
    later(() => { answer.smoothed = svg(0).querySelectorAll('path.band').length; say(); });)");
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
    answer.pieces = svg(0).querySelector('path.line').getAttribute('d').split('M').length - 1;
    point(0, 'pointermove', 0.5);
    answer.gap = document.querySelector('[data-chart="0"] .legend b').textContent;
    point(0, 'pointermove', 0.2);
    answer.known = document.querySelector('[data-chart="0"] .legend b').textContent;
    answer.images = document.querySelectorAll('img').length;
    answer.own = document.querySelector('[data-chart="1"] figcaption').firstChild.textContent;
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer;
  EXPECT_EQ(answer.value("error", ""), "");
  EXPECT_EQ(answer.at("pieces"), 2);
  EXPECT_EQ(answer.at("gap"), "–");
  EXPECT_EQ(answer.at("known"), "50 %");
  EXPECT_EQ(answer.at("images"), 0);
  EXPECT_EQ(answer.at("own"), "<b>loss</b>");
}

}  // namespace
}  // namespace plimsoll::report
