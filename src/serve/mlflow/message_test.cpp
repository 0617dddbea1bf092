#include "serve/mlflow/message.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr Field kFields[] = {{"run_id", Type::text, true}, {"key", Type::text, true},
                             {"value", Type::number},      {"timestamp", Type::integer},
                             {"tags", Type::list},         {"order_by", Type::texts},
                             {"flag", Type::boolean},      {"view_type", Type::choice}};

std::string refusal(std::string_view json) {
  const Outcome<Document> document = Document::parse(json, kFields);
  return document ? "taken" : document.error().message;
}

Request query(Pairs pairs) {
  Request request;
  request.method = "GET";
  request.query = std::move(pairs);
  return request;
}

TEST(Message, TakesWhatMlflowsClientSends) {
  const Outcome<Document> document = Document::parse(
      R"({"run_id":"r","key":"k","value":1.5,"timestamp":1234567890123,"order_by":["a DESC"],"unknown":{"x":[1]}})",
      kFields);
  ASSERT_TRUE(document);
  const Message message = document->message();
  EXPECT_EQ(message.text("run_id"), "r");
  EXPECT_EQ(message.number("value"), 1.5);
  EXPECT_EQ(message.integer("timestamp"), 1234567890123);
  EXPECT_THAT(message.texts("order_by"), ElementsAre("a DESC"));
  EXPECT_EQ(message.boolean("flag"), std::nullopt);
}

TEST(Message, IntegersMayBeTextAndFieldsCamelCase) {
  const Outcome<Document> document =
      Document::parse(R"({"runId":"r","key":"k","timestamp":"42","orderBy":["a"],"value":"1e3"})", kFields);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->message().text("run_id"), "r");
  EXPECT_EQ(document->message().integer("timestamp"), 42);
  EXPECT_EQ(document->message().number("value"), 1000);
  EXPECT_THAT(document->message().texts("order_by"), ElementsAre("a"));
}

TEST(Message, NumbersThatJsonLacksComeAsWords) {
  const auto value = [](const char* json) {
    const Outcome<Document> document = Document::parse(json, kFields);
    return document ? document->message().number("value") : std::nullopt;
  };
  EXPECT_TRUE(std::isnan(value(R"({"run_id":"r","key":"k","value":"NaN"})").value_or(0)));
  EXPECT_EQ(value(R"({"run_id":"r","key":"k","value":"Infinity"})"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value(R"({"run_id":"r","key":"k","value":"-Infinity"})"),
            -std::numeric_limits<double>::infinity());
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","value":"nan"})"),
              HasSubstr("Invalid value \"nan\" for parameter 'value' supplied"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","value":NaN})"), HasSubstr("not a JSON object"));
}

TEST(Message, WrongTypesAreRefusedInMlflowsWords) {
  EXPECT_THAT(refusal(R"({"run_id":31,"key":"k"})"),
              "Invalid value 31 for parameter 'run_id' supplied:  Hint: Value was of type 'int'. See the API "
              "docs for "
              "more information about request parameters.");
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","timestamp":"foo"})"),
              HasSubstr("Invalid value \"foo\" for parameter 'timestamp' supplied"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":9.0})"), HasSubstr("Invalid value 9.0 for parameter 'key'"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","timestamp":1.5})"), HasSubstr("Invalid value 1.5"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","timestamp":true})"), HasSubstr("type 'bool'"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","timestamp":9223372036854775808})"),
              HasSubstr("Invalid value"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","tags":"5"})"),
              HasSubstr("Invalid value \"5\" for parameter 'tags' supplied"));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","order_by":[1]})"), HasSubstr("parameter 'order_by'"));
}

TEST(Message, WhatIsMissingIsNamed) {
  EXPECT_THAT(refusal("{}"), HasSubstr("Missing value for required parameter 'run_id'."));
  EXPECT_THAT(refusal(R"({"run_id":null,"key":"k"})"),
              HasSubstr("Missing value for required parameter 'run_id'."));
  EXPECT_THAT(refusal(R"({"run_id":"r","key":""})"),
              HasSubstr("Missing value for required parameter 'key'."));
  EXPECT_EQ(refusal(R"({"run_uuid":"r","key":"k"})"), "taken");
}

TEST(Message, EntriesOfListsAreHeldAgainstTheirFields) {
  const Outcome<Document> document =
      Document::parse(R"({"run_id":"r","key":"k","tags":[{"key":"a","value":"1"},{"value":"2"}]})", kFields);
  ASSERT_TRUE(document);
  const auto pairs = document->message().pairs("tags");
  ASSERT_FALSE(pairs);
  EXPECT_THAT(pairs.error().message, HasSubstr("Missing value for required parameter 'tags[1].key'"));

  const Outcome<Document> good = Document::parse(
      R"({"run_id":"r","key":"k","tags":[{"key":"a","value":"1"},{"key":"a","value":"2"}]})", kFields);
  ASSERT_TRUE(good);
  EXPECT_THAT(*good->message().pairs("tags"), ElementsAre(Pair("a", "2")));
  EXPECT_FALSE(Document::parse(R"({"run_id":"r","key":"k","tags":[1]})", kFields)->message().pairs("tags"));
}

TEST(Message, ChoicesComeByNameOrNumber) {
  static constexpr std::pair<std::string_view, std::int64_t> kViews[] = {{"ACTIVE_ONLY", 1}, {"ALL", 3}};
  const auto chosen = [](const char* json) {
    const Outcome<Document> document = Document::parse(json, kFields);
    const auto choice = document->message().choice("view_type", kViews);
    return choice ? choice->value_or(0) : -1;
  };
  EXPECT_EQ(chosen(R"({"run_id":"r","key":"k","view_type":"ALL"})"), 3);
  EXPECT_EQ(chosen(R"({"run_id":"r","key":"k","view_type":3})"), 3);
  EXPECT_EQ(chosen(R"({"run_id":"r","key":"k"})"), 0);
  EXPECT_EQ(chosen(R"({"run_id":"r","key":"k","view_type":"all"})"), -1);
  EXPECT_EQ(chosen(R"({"run_id":"r","key":"k","view_type":9})"), -1);
}

TEST(Message, WhatIsNoObjectIsRefused) {
  for (const char* json :
       {"[]", "5", "{\"run_id\":", "nonsense", "\"5\"", "{\"run_id\":\"r\",\"key\":\"k\"}x"})
    EXPECT_THAT(refusal(json), HasSubstr("not a JSON object")) << json;
  EXPECT_EQ(refusal(R"("{\"run_id\":\"r\",\"key\":\"k\"}")"), "taken");  // encoded once more by old clients
}

TEST(Message, DepthIsBounded) {
  const std::string deep = R"({"run_id":"r","key":"k","x":)" + std::string(100'000, '[');
  EXPECT_THAT(refusal(deep), HasSubstr("levels deep"));
  EXPECT_EQ(refusal(R"({"run_id":"r","key":"k","x":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})"), "taken");
  EXPECT_THAT(refusal(R"({"run_id":"r","key":"k","x":"\"[","y":)" + std::string(40, '{')),
              HasSubstr("levels deep"));
}

TEST(Message, LongValuesAreCutInMessages) {
  const std::string message = refusal(R"({"run_id":"r","key":["a)" + std::string(100'000, 'x') + "\"]}");
  EXPECT_LT(message.size(), 1000U);
}

TEST(Document, ReadsAQueryInPlaceOfABody) {
  const Outcome<Document> document = Document::read(query({{"run_id", "r"},
                                                           {"key", "k"},
                                                           {"timestamp", "7"},
                                                           {"order_by", "a"},
                                                           {"order_by", "b"},
                                                           {"flag", "true"}}),
                                                    kFields);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->message().integer("timestamp"), 7);
  EXPECT_EQ(document->message().boolean("flag"), true);
  EXPECT_THAT(document->message().texts("order_by"), ElementsAre("a", "b"));
  EXPECT_FALSE(Document::read(query({{"run_id", "r"}, {"key", "k"}, {"flag", "perhaps"}}), kFields));
}

TEST(Document, ABodyMustSayThatItIsJson) {
  Request request;
  request.method = "POST";
  request.body = R"({"run_id":"r","key":"k"})";
  EXPECT_FALSE(Document::read(request, kFields));
  request.headers.add("content-type", "application/json; charset=utf-8");
  EXPECT_TRUE(Document::read(request, kFields));
  request.headers = {{"content-type", "text/plain"}};
  EXPECT_FALSE(Document::read(request, kFields));
}

TEST(Message, TooManyValuesAreRefusedBeforeTheyAreParsed) {
  const auto with = [](std::size_t values) {
    std::string out = R"({"run_id":"r","key":"k","tags":[{})";
    for (std::size_t i = 0; i < values; ++i) out += ",{}";
    return out + "]}";
  };
  EXPECT_EQ(refusal(with(10'000)), "taken");
  EXPECT_EQ(refusal(with(300'000)), "The request's JSON has more than 500000 values.");
  EXPECT_EQ(refusal(R"({"run_id":"r","key":")" + std::string(600'000, ',') + R"("})"), "taken");
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
