#include "store/filter.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

Comparison one(std::string_view text) {
  const Result<Filter> filter = parse_filter(text);
  if (!filter || filter->size() != 1) {
    ADD_FAILURE() << text << ": " << (filter ? "not one comparison" : filter.error().text());
    return {};
  }
  return filter->front();
}

TEST(Filter, OfNothingAsksNothing) {
  for (const char* text : {"", "  \t\n"}) EXPECT_EQ(parse_filter(text)->size(), 0U);
}

TEST(Filter, ReadsEveryKindOfField) {
  using Kind = Field::Kind;
  using Attribute = Field::Attribute;
  EXPECT_EQ(one("metrics.loss < 0.1"), (Comparison{{Kind::metric, "loss"}, Comparator::less, {0.1}}));
  EXPECT_EQ(one("metric.`val loss`>=-1e3"),
            (Comparison{{Kind::metric, "val loss"}, Comparator::greater_equal, {-1e3}}));
  EXPECT_EQ(one("params.\"my \"\"key\"\"\" != 'it''s'"),
            (Comparison{{Kind::param, "my \"key\""}, Comparator::not_equal, {"it's"}}));
  EXPECT_EQ(one("tags.mlflow.source.name ILIKE \"%.py\""),
            (Comparison{{Kind::tag, "mlflow.source.name"}, Comparator::ilike, {"%.py"}}));
  EXPECT_EQ(one("metrics.system/gpu_0-power = +.5"),
            (Comparison{{Kind::metric, "system/gpu_0-power"}, Comparator::equal, {.5}}));
  EXPECT_EQ(one("metrics.1 = 2"), (Comparison{{Kind::metric, "1"}, Comparator::equal, {2.0}}));
  EXPECT_EQ(one("attributes.status = 'finished'"),
            (Comparison{{Kind::attribute, "", Attribute::status}, Comparator::equal, {"FINISHED"}}));
  EXPECT_EQ(one("Run_Name LIKE 'a_%'"),
            (Comparison{{Kind::attribute, "", Attribute::run_name}, Comparator::like, {"a_%"}}));
  EXPECT_EQ(one("attr.duration > 60"),
            (Comparison{{Kind::attribute, "", Attribute::duration}, Comparator::greater, {60.0}}));
  EXPECT_EQ(one("attributes.run_id NOT IN ('a', 'b')"),
            (Comparison{{Kind::attribute, "", Attribute::run_id}, Comparator::not_in, {"a", "b"}}));
  EXPECT_EQ(one("params.lr IS NULL"), (Comparison{{Kind::param, "lr"}, Comparator::is_null, {}}));
  EXPECT_EQ(one("end_time is not null"),
            (Comparison{{Kind::attribute, "", Attribute::end_time}, Comparator::is_not_null, {}}));
}

TEST(Filter, TakesDatesAndMilliseconds) {
  EXPECT_EQ(one("start_time > 1700000000000").values.at(0), (std::variant<double, std::string>(1.7e12)));
  EXPECT_EQ(one("created >= '1970-01-02'").values.at(0), (std::variant<double, std::string>(86'400'000.0)));
}

TEST(Filter, JoinsByAndOnly) {
  const Result<Filter> filter = parse_filter("metrics.a=1 AND params.b='2' and tags.c LIKE 'x'");
  ASSERT_TRUE(filter) << filter.error().text();
  EXPECT_EQ(filter->size(), 3U);
}

struct Wrong {
  const char* text;
  const char* where;
  const char* message;
};

TEST(Filter, SaysWhereItIsWrong) {
  const Wrong cases[] = {
      {"metrics.loss 0.1", "character 14", "expected =, !=, <, <=, >, >= or IS NULL, but found '0.1'"},
      {"metrics.loss <", "character 15", "expected a number, but the text ends"},
      {"metrics.loss < 'a'", "character 16", "expected a number, but found 'a'"},
      {"metrics.loss LIKE 'a'", "character 14", "expected ="},
      {"params.lr < '1'", "character 11", "texts are compared by"},
      {"params.lr = 0.1", "character 13", "expected a text in quotes, but found '0.1'"},
      {"params.é = 'x' or tags.b = 'y'", "character 16", "not by OR"},
      {"colour = 'x'", "character 1", "no attribute 'colour'"},
      {"metrcs.loss = 1", "character 1", "none of metrics"},
      {"metrics. = 1", "character 10", "a name after the dot"},
      {"tags.x = 'y", "character 10", "never closed"},
      {"metrics.x = 1 metrics.y = 2", "character 15", "expected AND"},
      {"run_id IN 'a'", "character 11", "( after IN"},
      {"run_id IN ('a'", "character 15", ", or )"},
      {"run_id IN ()", "character 12", "a text in quotes"},
      {"metrics.x = 1;", "character 14", "has no meaning"},
      {"metrics.x = 1x", "character 13", "not a number"},
      {"metrics.x = 1e999", "character 13", "not a number"},
      {"start_time > 'yesterday'", "character 14", "not a date"},
      {"metrics.`` = 1", "character 9", "1 to 250"},
      {"tags.x IS 'y'", "character 11", "expected NULL"},
  };
  for (const Wrong& wrong : cases) {
    const Result<Filter> filter = parse_filter(wrong.text);
    ASSERT_FALSE(filter) << wrong.text;
    EXPECT_TRUE(filter.error().where.ends_with(wrong.where)) << wrong.text << ": " << filter.error().text();
    EXPECT_NE(filter.error().message.find(wrong.message), std::string::npos)
        << wrong.text << ": " << filter.error().text();
  }
  EXPECT_EQ(parse_filter("attributes.statu = 'x'").error().hint, "Did you mean status?");
}

TEST(Filter, HasLimits) {
  std::string many = "metrics.a = 1";
  for (int i = 0; i < 99; ++i) many += " and metrics.a = 1";
  EXPECT_TRUE(parse_filter(many));
  EXPECT_FALSE(parse_filter(many + " and metrics.a = 1"));
  EXPECT_FALSE(parse_filter(std::string(70'000, ' ')));
  EXPECT_FALSE(parse_filter(std::string(5000, '(')));
}

TEST(Order, ReadsFieldAndDirection) {
  EXPECT_EQ(*parse_order("metrics.loss"), (Order{{Field::Kind::metric, "loss"}, false}));
  EXPECT_EQ(*parse_order("params.`a b` asc"), (Order{{Field::Kind::param, "a b"}, false}));
  EXPECT_EQ(*parse_order("attributes.end_time DESC"),
            (Order{{Field::Kind::attribute, "", Field::Attribute::end_time}, true}));
  for (const char* wrong : {"", "metrics.loss DOWN", "metrics.loss DESC, params.x", "loss"}) {
    ASSERT_FALSE(parse_order(wrong)) << wrong;
    EXPECT_TRUE(parse_order(wrong).error().where.starts_with("order, character"))
        << parse_order(wrong).error().text();
  }
}

TEST(Like, MatchesAsSqlDoes) {
  EXPECT_TRUE(like("resnet50", "res%", false));
  EXPECT_TRUE(like("resnet50", "%50", false));
  EXPECT_TRUE(like("resnet50", "r%n%5_", false));
  EXPECT_TRUE(like("", "%", false));
  EXPECT_TRUE(like("né", "n_", false));
  EXPECT_TRUE(like("ResNet", "rES%", true));
  EXPECT_FALSE(like("ResNet", "res%", false));
  EXPECT_FALSE(like("resnet", "net", false));
  EXPECT_FALSE(like("n", "n_", false));
  EXPECT_FALSE(like("abc", "", false));
}

TEST(Like, OfManyStarsEnds) {
  std::string stars;
  for (int i = 0; i < 2000; ++i) stars += "%a";
  EXPECT_FALSE(like(std::string(20'000, 'a'), stars + "b", false));
}

TEST(Timestamp, ReadsWhatItWrites) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_text(1'763'202'605'250'001), "2025-11-15T10:30:05.250001Z");
  for (const Time time : {Time{0}, Time{951'782'399'999'999}, Time{1'763'202'605'250'001}})
    EXPECT_EQ(parse_time(time_text(time)), time);
  EXPECT_EQ(time_text(-1), "-1 us");
  EXPECT_EQ(time_text(std::numeric_limits<Time>::max()), "9223372036854775807 us");
}

TEST(Timestamp, ReadsShorterForms) {
  EXPECT_EQ(parse_time("2025-11-15 10:30"), 1'763'202'600'000'000);
  EXPECT_EQ(parse_time("2025-11-15T10:30:05.25"), 1'763'202'605'250'000);
  for (const char* wrong :
       {"", "2025", "2025-02-29", "2025-13-01", "1969-12-31", "2025-11-15T", "2025-11-15T24:00",
        "2025-11-15T10:30:05.", "2025-11-15T10:30:05.1234567", "2025-11-15 10:30+01:00", "-025-11-15"})
    EXPECT_FALSE(parse_time(wrong)) << wrong;
}

}  // namespace
}  // namespace plimsoll::store
