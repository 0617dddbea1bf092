#include "report/table.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

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
