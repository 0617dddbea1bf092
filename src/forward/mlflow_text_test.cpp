#include "forward/mlflow_text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace plimsoll::forward {
namespace {

TEST(MlflowText, KeysAreWhatServersTake) {
  EXPECT_EQ(mlflow_key("system/gpu/0/power"), "system/gpu/0/power");
  EXPECT_EQ(mlflow_key("precision@10 (%)"), "precision_10 ___");
  EXPECT_EQ(mlflow_key("größe"), "gr__e");
  EXPECT_EQ(mlflow_key("../a//b/./c/"), "__/a/_/b/_/c/_");
  EXPECT_EQ(mlflow_key("a..b"), "a..b");
  EXPECT_EQ(mlflow_key("a\nb"), "a_b");
}

TEST(MlflowText, JsonAsProtobufWritesIt) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(json_text("a\"\n"), R"("a\"\n")");
  EXPECT_EQ(json_text("a\xFF"), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace plimsoll::forward
