#include "serve/mlflow/json_writer.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

std::string number(double value) {
  JsonWriter out;
  return out.number(value).take();
}

TEST(JsonWriter, WritesNestedDocuments) {
  JsonWriter out;
  out.begin_object().member("a", "x").key("list").begin_array();
  out.begin_object().integer_member("n", -7).end_object().integer(std::numeric_limits<std::int64_t>::max());
  out.end_array().boolean_member("yes", true).key("none").begin_array().end_array().end_object();
  EXPECT_EQ(out.take(), R"({"a":"x","list":[{"n":-7},9223372036854775807],"yes":true,"none":[]})");
  EXPECT_EQ(out.begin_object().end_object().take(), "{}");  // and begins anew
}

TEST(JsonWriter, DoublesComeBackAsTheyAre) {
  EXPECT_EQ(number(10), "10.0");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(123.456), "123.456");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(std::nan("")), "\"NaN\"");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(JsonWriter, EscapesWhatJsonMayNotHold) {
  JsonWriter out;
  EXPECT_EQ(out.text("a\"b\\c\n\t\x01\x7F"
                     "é")
                .take(),
            "\"a\\\"b\\\\c\\n\\t\\u0001\\u007fé\"");
}

TEST(JsonWriter, RepairsWhatIsNoUtf8) {
  JsonWriter out;
  EXPECT_EQ(out.text("a\xFF"
                     "b\xC3")
                .take(),
            "\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
