#include "forward/log_batch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

TEST(LogBatch, IsWhatMlflowReads) {
  LogBatch batch;
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.add_metric("\"loss\"", {1'234'567, 3, 0.5}));
  EXPECT_TRUE(batch.add_param("lr", "0.1"));
  EXPECT_TRUE(batch.add_tag("note", "\"quoted\""));
  EXPECT_EQ(nlohmann::json::parse(batch.body("r")), nlohmann::json::parse(R"({"run_id": "r",
    "metrics": [{"key": "loss", "value": 0.5, "timestamp": 1234, "step": 3}],
    "params": [{"key": "lr", "value": "0.1"}], "tags": [{"key": "note", "value": "\"quoted\""}]})"));
}

TEST(LogBatch, StaysWithinTheLimits) {
  LogBatch batch;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(batch.add_param("p" + std::to_string(i), "v"));
    EXPECT_TRUE(batch.add_tag("t" + std::to_string(i), "v"));
  }
  EXPECT_FALSE(batch.add_param("p", "v"));
  EXPECT_FALSE(batch.add_tag("t", "v"));
  for (int i = 0; i < 800; ++i) EXPECT_TRUE(batch.add_metric("\"m\"", {i, i, 1}));
  EXPECT_FALSE(batch.add_metric("\"m\"", {0, 0, 1}));
}

TEST(LogBatch, StaysBelowAMegabyte) {
  LogBatch batch;
  const std::string value(8000, '\x01');  // six bytes each in JSON
  int taken = 0;
  while (batch.add_tag("t" + std::to_string(taken), value)) ++taken;
  EXPECT_EQ(taken, 20);
  EXPECT_LT(batch.body("r").size(), 1'000'000U);
}

TEST(LogBatch, MillisecondsAreRoundedDown) {
  EXPECT_EQ(store::milliseconds(1999), 1);
  EXPECT_EQ(store::milliseconds(-1), -1);
  EXPECT_EQ(store::milliseconds(-1000), -1);
}

}  // namespace
}  // namespace plimsoll::forward
