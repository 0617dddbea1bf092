#include "report/table.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

Table small() {
  return {{{"Name", Align::left, true}, {"Count", Align::right}}, {{"conv", "12"}, {"größer", "1,234"}}};
}

TEST(Table, Text) {
  EXPECT_EQ(to_text(small(), {}),
            "Name    Count\n"
            "conv       12\n"
            "größer  1,234\n");
}

TEST(Table, TextWithoutRowsIsItsHeading) {
  EXPECT_EQ(to_text({{{"A"}, {"B"}}, {}}, {}), "A  B\n");
}

TEST(Table, HeadingIsBoldOnATerminal) {
  EXPECT_TRUE(to_text(small(), {.color = true}).starts_with("\x1b[1mName    Count\x1b[0m\n"));
  EXPECT_EQ(to_text(small(), {}).find('\x1b'), std::string::npos);
}

TEST(Table, LongNamesAreCutInTheMiddle) {
  const Table table{{{"Layer", Align::left, true}, {"MACs", Align::right}},
                    {{"/backbone/layer4/layer4.2/conv3/Conv", "1.0 G"}, {"/fc/Gemm", "2.0 M"}}};
  const std::string text = to_text(table, {.width = 30});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 30u) << line;
  EXPECT_NE(text.find("/backbone/l…/conv3/Conv  1.0 G"), std::string::npos) << text;
  EXPECT_NE(text.find("/fc/Gemm"), std::string::npos);
}

TEST(Table, ANarrowTerminalLosesNoFigure) {
  const Table table{{{"Layer", Align::left, true}, {"MACs", Align::right}},
                    {{"a long name of a layer", "123,456,789"}}};
  const std::string text = to_text(table, {.width = 5});
  EXPECT_NE(text.find("123,456,789"), std::string::npos) << text;
}

Table wide() {
  return {{{"Device", Align::left, true},
           {"Needs", Align::right, false, Importance::telling},
           {"Largest batch", Align::right},
           {"Energy", Align::right, false, Importance::detail},
           {"Bound"},
           {"Source", Align::left, false, Importance::ordinary, true}},
          {{"a100-80-sxm", "10.2 GiB", "1,024", "113 J", "compute", "the maker's datasheet of that year"},
           {"h200", "10.2 GiB", "2,048", "57.5 J", "memory", "read on one"}}};
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, display_width(line));
  return longest;
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  for (int width = 30; width <= 120; ++width)
    EXPECT_LE(longest_line(to_text(wide(), {.width = width})), static_cast<std::size_t>(width))
        << to_text(wide(), {.width = width});
}

TEST(Table, WithRoomNothingIsLeftOut) {
  EXPECT_EQ(to_text(wide(), {.width = 200}), to_text(wide(), {}));
  EXPECT_EQ(to_text(wide(), {}).find("Left out"), std::string::npos);
}

TEST(Table, TextsWrapAndTitlesBreakBeforeAColumnGoes) {
  EXPECT_EQ(to_text(wide(), {.width = 70}),
            "                       Largest\n"
            "Device          Needs    batch  Energy  Bound    Source\n"
            "a100-80-sxm  10.2 GiB    1,024   113 J  compute  the maker's datasheet\n"
            "                                                 of that year\n"
            "h200         10.2 GiB    2,048  57.5 J  memory   read on one\n");
}

TEST(Table, TheLeastImportantGoFirstAndAreNamed) {
  const std::string text = to_text(wide(), {.width = 40});
  EXPECT_EQ(text,
            "                       Largest\n"
            "Device          Needs    batch  Bound\n"
            "a100-80-sxm  10.2 GiB    1,024  compute\n"
            "h200         10.2 GiB    2,048  memory\n"
            "Left out at 40 columns: Energy, Source;\n"
            "a wider terminal or --json shows them.\n");
}

TEST(Table, WhatIsAlwaysKeptIsCutRatherThanTooWide) {
  const Table table{{{"Name"}, {"Id", Align::left, false, Importance::always}, {"Count", Align::right}},
                    {{"a name that does not end so soon", "an-id-that-does-not-end-either", "12"}}};
  const std::string text = to_text(table, {.width = 40});
  EXPECT_LE(longest_line(text), 40u) << text;
  EXPECT_NE(text.find("…"), std::string::npos) << text;
}

TEST(ShortPath, IsTheLastFolderAndTheName) {
  EXPECT_EQ(short_path("/home/somebody/models/net.onnx"), "…/models/net.onnx");
  EXPECT_EQ(short_path("/models/net.onnx"), "/models/net.onnx");
  EXPECT_EQ(short_path("/net.onnx"), "/net.onnx");
  EXPECT_EQ(short_path("../models/net.onnx"), "../models/net.onnx");
  EXPECT_EQ(short_path("resnet50"), "resnet50");
}

TEST(Wrap, PartsAPathThatIsLongerThanALine) {
  EXPECT_EQ(wrap("in /home/somebody/projects/vision/models/resnet50.onnx", 24, "  "),
            "  in\n"
            "  /home/somebody/\n"
            "  projects/vision/\n"
            "  models/resnet50.onnx\n");
  EXPECT_LE(longest_line(wrap(std::string(100, 'x') + " größer", 30, "    ")), 30u);
}

TEST(Table, Csv) {
  EXPECT_EQ(to_csv({{{"Name"}, {"a \"quote\""}}, {{"x,y", "1"}, {"two\nlines", ""}}}),
            "Name,\"a \"\"quote\"\"\"\r\n"
            "\"x,y\",1\r\n"
            "\"two\nlines\",\r\n");
}

TEST(Table, Markdown) {
  EXPECT_EQ(to_markdown({{{"Name"}, {"Count", Align::right}}, {{"a|b_c", "*1*"}}}),
            "| Name | Count |\n"
            "|---|---:|\n"
            "| a\\|b\\_c | \\*1\\* |\n");
}

TEST(Printable, ShowsWhatATerminalWouldActOn) {
  EXPECT_EQ(printable("plain, größer, 層"), "plain, größer, 層");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1: the same as ESC [
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // turns the direction of what follows
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");           // no UTF-8
  EXPECT_EQ(printable("\xe5\xb1"), "\\xe5\\xb1");           // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("größer"), 6u);
}

}  // namespace
}  // namespace plimsoll::report
