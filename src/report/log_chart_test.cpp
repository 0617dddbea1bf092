#include "report/log_chart.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

LogChart sample() {
  return {
      .name = "sample",
      .title = "Latency",
      .x = {.title = "batch", .unit = "", .binary = true},
      .y = {.title = "time (s)", .unit = "s", .binary = false},
      .series =
          {{.label = "one", .points = {{1, 1e-3}, {4, 1e-2}, {16, 1e-1}}, .color = 0, .mark = LogMark::line},
           {.label = "limit", .points = {{1, 5e-2}, {16, 5e-2}}, .color = 9, .mark = LogMark::limit}},
      .note = "a note"};
}

TEST(LogChart, DecadesArePlacedEvenly) {
  const std::string svg = to_svg(sample(), SvgUse::page);
  // The line goes from corner to corner: 1 to 16 by two decades, the middle in the middle.
  EXPECT_THAT(svg, HasSubstr("d=\"M106.0 374.0L351.0 209.0L596.0 44.0\""));
  for (const char* tick : {">1 ms<", ">10 ms<", ">100 ms<", ">1<", ">2<", ">4<", ">8<", ">16<"})
    EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, HasSubstr(">20 ms<"));  // few decades: twos and fives have labels
}

TEST(LogChart, TitlesLegendAndNote) {
  const std::string svg = to_svg(sample(), SvgUse::page);
  for (const char* text : {">Latency<", ">batch<", ">time (s)<", ">one<", ">limit<", ">a note<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, HasSubstr("<title>one: 4, 10.0 ms</title>"));
  EXPECT_EQ(count(svg, "<circle class=\"dot\""), 3u + 1);  // a limit has no points
  EXPECT_THAT(svg, HasSubstr("<g class=\"line-1\">"));     // colors begin again
  EXPECT_THAT(svg, Not(HasSubstr("xmlns")));
}

TEST(LogChart, AFileStandsAlone) {
  const std::string svg = to_svg(sample(), SvgUse::file);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\""));
  EXPECT_THAT(svg, HasSubstr(".log-chart .stroke"));
  EXPECT_THAT(svg, HasSubstr("class=\"ground\""));
}

TEST(LogChart, BytesInPowersOfTwo) {
  LogChart chart = sample();
  chart.x = {.title = "size", .unit = "B", .binary = true};
  chart.series.resize(1);
  chart.series[0].points = {{0x1p14, 1}, {0x1p30, 1}};
  const std::string svg = to_svg(chart, SvgUse::page);
  EXPECT_THAT(svg, HasSubstr(">16 KiB<"));
  EXPECT_THAT(svg, HasSubstr(">1 GiB<"));
  EXPECT_THAT(svg, HasSubstr("16.0 KiB, 1 s</title>"));
}

TEST(LogChart, WhatCannotBeDrawnIsLeftOut) {
  LogChart chart = sample();
  chart.series = {{.label = "a",
                   .points = {{0, 1}, {1, 0}, {-1, 2}, {NAN, 1}, {1, INFINITY}},
                   .color = 0,
                   .mark = LogMark::line}};
  const std::string svg = to_svg(chart, SvgUse::page);
  EXPECT_EQ(count(svg, "<title>"), 0u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  chart.series.clear();
  EXPECT_THAT(to_svg(chart, SvgUse::page), HasSubstr("</svg>"));
  // A single value has an axis, too; and one of many orders of magnitude few labels.
  chart.series = {{.label = "a", .points = {{8, 3}}, .color = 0, .mark = LogMark::points}};
  EXPECT_EQ(count(to_svg(chart, SvgUse::page), "<title>"), 1u);
  chart.series = {{.label = "a", .points = {{1, 1e-300}, {8, 1e300}}, .color = 0, .mark = LogMark::line}};
  EXPECT_LT(count(to_svg(chart, SvgUse::page), "class=\"tick\""), 20u);
}

TEST(LogChart, CurvesHaveNoPointsAndEndAtABar) {
  LogChart chart = sample();
  chart.series = {
      {.label = "a", .points = {{1, 1e-3}, {4, 1e-2}}, .color = 9, .mark = LogMark::curve},
      {.label = "a", .points = {{4, 1e-2}, {16, 1e-1}}, .color = 9, .mark = LogMark::beyond, .part = true},
      {.label = "a stops", .points = {{4, 1e-2}}, .color = 9, .mark = LogMark::stop, .part = true}};
  const std::string svg = to_svg(chart, SvgUse::page);
  EXPECT_EQ(count(svg, "<circle"), 0u);
  EXPECT_THAT(svg, HasSubstr("<path class=\"stroke dash-1\" d=\"M106.0 374.0L351.0 209.0\"/>"));
  EXPECT_THAT(svg, HasSubstr("<path class=\"stroke beyond dash-1\" d=\"M351.0 209.0L596.0 44.0\"/>"));
  EXPECT_THAT(svg,
              HasSubstr("<path class=\"stop\" d=\"M351.0 202.0v14\"><title>a stops: 4, 10.0 ms</title>"));
  EXPECT_EQ(count(svg, "key-text"), 1u);  // parts have no key of their own
}

TEST(LogChart, SeveralStandBelowEachOther) {
  const std::vector<LogChart> charts = {sample(), sample()};
  const std::string svg = to_svg(charts);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\" height=\"900\""));
  EXPECT_EQ(count(svg, "<svg"), 3u);
  EXPECT_EQ(count(svg, "</svg>"), 3u);
  EXPECT_EQ(count(svg, "<style>"), 1u);
  EXPECT_THAT(svg, HasSubstr("<svg y=\"0\" width=\"880\" height=\"450\""));
  EXPECT_THAT(svg, HasSubstr("<svg y=\"450\" width=\"880\" height=\"450\""));
}

TEST(LogChart, TextsStayText) {
  LogChart chart = sample();
  chart.title = chart.note = chart.x.title = chart.y.title = chart.series[0].label = "<script>\"'&";
  const std::string svg = to_svg(chart, SvgUse::file);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace plimsoll::report
