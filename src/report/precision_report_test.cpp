#include "report/precision_report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PrecisionForm form(std::string format, double depth, double seconds, std::int64_t bytes, std::int64_t right) {
  PrecisionForm f{.depth = depth, .format = std::move(format)};
  f.bytes = bytes;
  f.seconds = Quantile{seconds, seconds * 0.9, seconds * 1.1};
  f.accuracy = learn::share_of(right, 1000);
  f.lost = learn::PairedLoss{
      .examples = 1000, .lost = 4, .won = 1, .value = 0.003, .low = -0.001, .high = 0.007, .most = 0.006};
  return f;
}

PrecisionStudy study() {
  PrecisionStudy s{.model = "net<1>",
                   .data = "images",
                   .device = "cpu",
                   .calibration = 512,
                   .selecting = 1000,
                   .held_out = 1000};
  s.limit = 0.005;
  s.forms = {form("fp32", 1, 4e-3, 4000, 900), form("int8", 1, 1e-3, 1000, 897),
             form("fp32", 0.5, 2e-3, 2000, 880)};
  s.forms[1].kept_promise = true;
  s.forms[1].layers = s.forms[1].eight_bit_layers = 7;
  PrecisionForm missing{.depth = 0.5, .format = "fp16"};
  missing.missing = "not here";
  s.forms.push_back(missing);
  s.layers.push_back({.depth = 1,
                      .name = "conv1",
                      .kind = "Conv",
                      .parameters = 99,
                      .loss_rise = 0.01,
                      .lost = *s.forms[1].lost});
  mark_fronts(s);
  return s;
}

TEST(PrecisionReport, MarksWhatNothingBeats) {
  const PrecisionStudy s = study();
  EXPECT_TRUE(s.forms[0].front_time);  // the most accurate
  EXPECT_TRUE(s.forms[1].front_time);
  EXPECT_FALSE(s.forms[2].front_time);  // slower and less accurate than int8
  EXPECT_FALSE(s.forms[3].front_time);
  EXPECT_FALSE(s.forms[0].front_energy);  // unknown is no front
}

TEST(PrecisionReport, TextTellsPromisesAndWhatIsMissing) {
  const std::string text = precision_text(study(), {.width = 160});
  EXPECT_THAT(text, HasSubstr("-0.30 (-0.70 to +0.10)"));
  EXPECT_THAT(text, HasSubstr("int8 at 1 keeps it: -0.30 points"));
  EXPECT_THAT(text, HasSubstr("fp16 at 0.5: not here"));
  EXPECT_THAT(text, HasSubstr("7 of 7 layers in 8 bits"));
  EXPECT_THAT(text, Not(HasSubstr("-0.00")));
}

TEST(PrecisionReport, JsonHasUnknownAsNull) {
  const auto json = precision_json(study());
  EXPECT_TRUE(json["forms"][0]["joules"].is_null());
  EXPECT_FALSE(json["forms"][3]["supported"]);
  EXPECT_EQ(json["forms"][3]["reason"], "not here");
  EXPECT_EQ(json["forms"][1]["lost"]["lost"], 4);
  EXPECT_EQ(json["layers"][0]["cross_entropy_rise"], 0.01);
  EXPECT_THAT(precision_csv(study()), HasSubstr("1,int8,1000,,0.001"));
}

TEST(PrecisionReport, PageEscapesNamesAndDrawsWhatIsKnown) {
  const std::string page = precision_page(study());
  EXPECT_THAT(page, HasSubstr("net&lt;1&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("net<1>")));
  EXPECT_THAT(page, HasSubstr("Time of a pass against accuracy"));
  EXPECT_THAT(page, Not(HasSubstr("Energy of a pass against accuracy")));
}

}  // namespace
}  // namespace plimsoll::report
