#include "report/sweep_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/test_browser.hpp"

namespace plimsoll::report {
namespace {

using estimate::SweepPoint;
using ::testing::HasSubstr;
using ::testing::Not;

SweepPoint point(std::int64_t batch, double milliseconds, std::optional<bool> fits = true) {
  SweepPoint out{.batch = batch,
                 .peak_allocated = Bytes(batch * 1000),
                 .device_used = Bytes(batch * 2000),
                 .fits = fits,
                 .time = std::nullopt};
  if (milliseconds > 0) {
    out.time.emplace();
    out.time->seconds = Seconds(milliseconds * 1e-3);
    out.time->joules = Joules(0.1 * static_cast<double>(batch));
  }
  return out;
}

/// A fast device with room for all, one whose memory ends between 4 and 8, one nobody knows anything of.
struct Sample {
  hardware::Device fast{.id = "fast", .name = "Fast"}, small{.id = "small", .name = "Small"},
      dark{.id = "dark", .name = "Dark"};
  SweepReport report;

  Sample() {
    small.memory = hardware::DeviceFigure{1e4};
    report = {
        .model = "m",
        .setting = {},
        .batches = {1, 2, 4, 8},
        .rows = {
            {&fast, true, {{point(1, 1), point(2, 1.2), point(4, 1.6), point(8, 3)}, ""}},
            {&small, false, {{point(1, 2), point(2, 4), point(4, 8), point(8, 16, false)}, ""}},
            {&dark, false, {{point(1, 0, {}), point(2, 0, {}), point(4, 0, {}), point(8, 0, {})}, "why"}}}};
  }
};

std::string line_of(const std::string& text, std::string_view begin) {
  const std::size_t at = text.find("\n" + std::string(begin)) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(SweepText, HasARowForEachDevice) {
  const std::string text = sweep_text(Sample().report, {});
  EXPECT_THAT(text, ::testing::StartsWith("m · inference in fp32 · 4 batches from 1 to 8\n"));
  EXPECT_EQ(line_of(text, "Device"),
            "Device  Fits to  Batch 1     Knee     Pass     Best  Samples/s   Energy  Bound by  From");
  EXPECT_EQ(line_of(text, "fast"),
            "fast         8+  1.00 ms        4  1.60 ms        8      2,667   100 mJ  memory    datasheet");
  EXPECT_EQ(line_of(text, "small"),
            "small    4 to 7  2.00 ms        1  2.00 ms        1        500   100 mJ  memory    datasheet");
  EXPECT_EQ(line_of(text, "dark"),
            "dark    unknown  unknown  unknown  unknown  unknown    unknown  unknown  unknown");
  EXPECT_THAT(text, HasSubstr("Too few figures are known of dark to tell a time.\n"));
}

TEST(SweepText, SaysWhatIsKnownOfTheLargestBatch) {
  Sample sample;
  const auto fits_to = [&] { return sweep_table(sample.report).rows[1][1]; };
  sample.report.rows[1].swept.points = {point(1, 1), point(2, 1, false)};
  EXPECT_EQ(fits_to(), "1");
  sample.report.rows[1].swept.points = {point(1, 1, false), point(2, 1, false)};
  EXPECT_EQ(fits_to(), "none");
  EXPECT_EQ(sweep_table(sample.report).rows[1][3], "-");  // no knee where nothing fits
  sample.report.rows[1].swept.points = {point(4, 1, false), point(8, 1, false)};
  EXPECT_EQ(fits_to(), "below 4");
  sample.report.rows[1].largest = estimate::LargestBatch{3, Bytes(1), Bytes(2), true};
  EXPECT_EQ(fits_to(), "3");
  sample.report.rows[1].largest = estimate::LargestBatch{1 << 20, Bytes(1), Bytes(2), false};
  EXPECT_EQ(fits_to(), "1048576+");
}

TEST(SweepJson, HasEveryPointAndNullForUnknown) {
  const nlohmann::ordered_json json = sweep_json(Sample().report);
  EXPECT_EQ(json.at("batches").size(), 4u);
  const auto& fast = json.at("devices").at(0);
  EXPECT_EQ(fast.at("device"), "fast");
  EXPECT_EQ(fast.at("provenance"), "calibrated");
  EXPECT_TRUE(fast.at("capacity_bytes").is_null());
  EXPECT_EQ(fast.at("best_batch"), 8);
  EXPECT_EQ(fast.at("knee_batch"), 4);
  EXPECT_TRUE(fast.at("first_batch_too_large").is_null());
  EXPECT_EQ(fast.at("points").size(), 4u);
  EXPECT_EQ(fast.at("points").at(3).at("seconds"), 3e-3);
  EXPECT_EQ(fast.at("points").at(3).at("device_used_bytes"), 16000);
  EXPECT_TRUE(fast.at("points").at(3).at("share_of_peak").is_null());
  const auto& small = json.at("devices").at(1);
  EXPECT_EQ(small.at("last_batch_that_fits"), 4);
  EXPECT_EQ(small.at("first_batch_too_large"), 8);
  EXPECT_EQ(small.at("points").at(3).at("fits"), false);
  const auto& dark = json.at("devices").at(2);
  EXPECT_EQ(dark.at("no_time"), "why");
  for (const char* key : {"best_batch", "knee_batch", "last_batch_that_fits"})
    EXPECT_TRUE(dark.at(key).is_null());
  for (const char* key : {"fits", "seconds", "low_seconds", "samples_per_second", "joules", "bottleneck"})
    EXPECT_TRUE(dark.at("points").at(0).at(key).is_null()) << key;
}

TEST(SweepCharts, LinesEndWhereMemoryDoes) {
  const std::vector<LogChart> charts = sweep_charts(Sample().report);
  ASSERT_EQ(charts.size(), 2u);
  for (const LogChart& chart : charts) {
    ASSERT_EQ(chart.series.size(), 2u + 4u) << chart.name;  // a curve with points; the same with its end
    EXPECT_EQ(chart.series[0].mark, LogMark::curve);
    EXPECT_EQ(chart.series[0].points.size(), 4u);
    EXPECT_EQ(chart.series[2].label, "small");
    EXPECT_EQ(chart.series[2].points.size(), 3u);
    EXPECT_EQ(chart.series[3].mark, LogMark::beyond);
    EXPECT_EQ(chart.series[3].points.front().x, 4);
    EXPECT_EQ(chart.series[3].points.back().x, 8);
    EXPECT_EQ(chart.series[5].mark, LogMark::stop);
    EXPECT_EQ(chart.series[5].points.front().x, 4);
    EXPECT_THAT(chart.note, HasSubstr("memory"));
  }
  EXPECT_DOUBLE_EQ(charts[0].series[0].points[3].y, 3e-3);
  EXPECT_DOUBLE_EQ(charts[1].series[0].points[3].y, 8 / 3e-3);
}

TEST(SweepCharts, MarkPowersOfTwoOfManyBatches) {
  Sample sample;
  sample.report.rows.resize(1);
  auto& points = sample.report.rows[0].swept.points;
  points.clear();
  for (std::int64_t batch = 1; batch <= 256; ++batch) points.push_back(point(batch, 1));
  const LogChart chart = sweep_charts(sample.report).front();
  EXPECT_EQ(chart.series[0].points.size(), 256u);
  EXPECT_EQ(chart.series[1].points.size(), 9u);
  EXPECT_EQ(chart.note, "");
}

TEST(SweepPage, NamesStayText) {
  Sample sample;
  sample.report.model = "<script>alert(1)</script>";
  sample.fast.id = "<b>\"&";
  sample.report.notes = {"<i>"};
  const std::string page = sweep_page(sample.report);
  for (const char* tag : {"<script>alert", "<b>", "<i>"}) EXPECT_THAT(page, Not(HasSubstr(tag)));
  EXPECT_THAT(to_svg(sweep_charts(sample.report)), Not(HasSubstr("<b>")));
  sample.report.model = "\x1b[31m";
  EXPECT_THAT(sweep_text(sample.report, {}), Not(HasSubstr("\x1b")));
}

using SweepPageInABrowser = PageInABrowser;

TEST_F(SweepPageInABrowser, ShowsChartsWithoutOverlapOrOverflow) {
  const nlohmann::json answer = ask(sweep_page(Sample().report) + "<script></script>", R"(
    const boxes = [...document.querySelectorAll('svg text.tick, svg text.key-text')].map((t) =>
      ({svg: t.ownerSVGElement, text: t.textContent, box: t.getBoundingClientRect()}));
    let overlaps = 0;
    for (const a of boxes) for (const b of boxes)
      if (a !== b && a.svg === b.svg && a.box.left < b.box.right && b.box.left < a.box.right &&
          a.box.top < b.box.bottom && b.box.top < a.box.bottom) ++overlaps;
    answer.texts = boxes.length;
    answer.overlaps = overlaps;
    answer.stops = document.querySelectorAll('.stop').length;
    answer.rows = document.querySelectorAll('tbody tr').length;
    answer.wide = document.documentElement.scrollWidth > innerWidth;
    say();)");
  ASSERT_TRUE(answer.is_object()) << answer.dump();
  EXPECT_FALSE(answer.contains("error")) << answer.dump();
  EXPECT_GT(answer.at("texts"), 10);
  EXPECT_EQ(answer.at("overlaps"), 0);
  EXPECT_EQ(answer.at("stops"), 2);
  EXPECT_EQ(answer.at("rows"), 3);
  EXPECT_EQ(answer.at("wide"), false);
}

}  // namespace
}  // namespace plimsoll::report
