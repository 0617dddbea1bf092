#include "serve/mlflow/batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kPlain =
    R"({"run_id":"r","metrics":[{"key":"a","value":1.5,"timestamp":7,"step":3},{"key":"b","value":2,"timestamp":8},)"
    R"({"key":"a","value":-1e3,"timestamp":9,"step":4,"model_id":"m-1","dataset_name":"d","dataset_digest":"x"}],)"
    R"("params":[{"key":"p","value":"1"},{"key":"q"}],"tags":[]})";

TEST(Batch, TheQuickReaderReadsWhatTheOtherReads) {
  const Outcome<LoggedBatch> slow = read_batch(kPlain);
  const std::optional<LoggedBatch> quick = read_plain_batch(kPlain);
  ASSERT_TRUE(slow);
  ASSERT_TRUE(quick);
  EXPECT_EQ(*slow, *quick);
  EXPECT_THAT(quick->metrics, SizeIs(3));
  EXPECT_EQ(quick->metrics[2].model, "m-1");
}

TEST(Batch, WhatIsNotPlainIsLeftToTheOtherReader) {
  for (const char* json :
       {R"({"run_id":"r","metrics":[{"key":"a","value":"NaN","timestamp":1}]})", R"({"runId":"r"})",
        R"({"run_uuid":"r"})", R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":"1"}]})",
        R"({"run_id":"r","metrics":null})", R"({"run_id":"r","extra":1})", R"("{\"run_id\":\"r\"}")"}) {
    EXPECT_FALSE(read_plain_batch(json)) << json;
    EXPECT_TRUE(read_batch(json)) << json;
  }
}

TEST(Batch, WhatIsWrongIsWrongToBoth) {
  for (const char* json :
       {"", "{", "[]", R"({"metrics":[]})", R"({"run_id":""})",
        R"({"run_id":"r","metrics":[{"value":1,"timestamp":1}]})",
        R"({"run_id":"r","metrics":[{"key":"a","timestamp":1}]})",
        R"({"run_id":"r","metrics":[{"key":"a","value":1}]})",
        R"({"run_id":"r","metrics":[{"key":1,"value":1,"timestamp":1}]})", R"({"run_id":"r","metrics":{}})",
        R"({"run_id":"r","metrics":[[]]})", R"({"run_id":"r","tags":[{"value":"x"}]})", R"({"run_id":"r"}x)",
        R"({"run_id":"r","metrics":[{"key":"a","value":1,"timestamp":9223372036854775808}]})"}) {
    EXPECT_FALSE(read_plain_batch(json)) << json;
    EXPECT_FALSE(read_batch(json)) << json;
  }
}

TEST(Batch, PointsOfAMetricGoTogether) {
  const Outcome<std::vector<store::Batch>> batches =
      batches_of("r", {{"a", 1, 10, 1}, {"b", 2, 10, 1}, {"a", 3, 11, 2}}, "metrics");
  ASSERT_TRUE(batches);
  ASSERT_THAT(*batches, SizeIs(2));
  EXPECT_EQ((*batches)[0].metric, "a");
  EXPECT_EQ((*batches)[0].points, (std::vector<store::Point>{{10'000, 1, 1}, {11'000, 2, 3}}));
  EXPECT_EQ((*batches)[1].run, "r");
}

TEST(Batch, ErrorsNameTheMetric) {
  EXPECT_THAT(batches_of("r", {{"a", 1, 1, 1}, {"../b", 1, 1, 1}}, "metrics").error().message,
              HasSubstr("parameter 'metrics[1].name'"));
  EXPECT_THAT(batches_of("r", {{"a", 1, -1, 1}}, "metrics").error().message,
              HasSubstr("Invalid value -1 for parameter 'metrics[0].timestamp'"));
  EXPECT_THAT(batches_of("r", {{"a\n", 1, 1, 1}}, {}).error().message, HasSubstr("parameter 'name'"));
}

TEST(Batch, LongValuesAreCut) {
  const std::string umlaut = "ä";
  std::string param, tag;
  for (int i = 0; i < 9000; ++i) param += umlaut, tag += umlaut;
  const Outcome<store::Change> change =
      change_of({.run = "r", .params = {{"p", param}}, .tags = {{"t", tag}, {"short", "x"}}});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->params.at("p"), param.substr(0, 6000 * umlaut.size()));
  EXPECT_EQ(change->tags.at("t"), tag.substr(0, 8000 * umlaut.size()));
  EXPECT_EQ(change->tags.at("short"), "x");
  EXPECT_FALSE(change_of({.run = "r", .params = {{std::string(251, 'k'), "v"}}}));
}

TEST(Batch, ParamsComeOnce) {
  EXPECT_THAT(change_of({.run = "r", .params = {{"p", "1"}, {"q", "1"}, {"p", "2"}}}).error().message,
              HasSubstr("Duplicate parameter keys have been submitted: ['p']"));
  EXPECT_EQ(change_of({.run = "r", .tags = {{"mlflow.runName", "n"}}})->name, "n");
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
