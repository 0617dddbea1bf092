#include "report/figure_writing.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

Figure peak() {
  return {.name = "peak allocated",
          .value = 2048,
          .unit = Unit::bytes,
          .low = 1024,
          .high = 4096,
          .source = "simulated"};
}

Figure joules() {
  return {.value = 2,
          .unit = Unit::joules,
          .low = 1.5,
          .high = 2.5,
          .provenance = Provenance::calibrated,
          .source = "a meter"};
}

TEST(FigureWriting, FieldsOfAnObjectAreNamedByTheFigure) {
  Json out;
  add_figure(out, peak());
  add_figure(out, joules());
  EXPECT_EQ(out.dump(), R"({"peak_allocated_bytes":2048,"low_bytes":1024,"high_bytes":4096,)"
                        R"("joules":2.0,"low_joules":1.5,"high_joules":2.5})");
}

TEST(FigureWriting, AValueAloneHasNoInterval) {
  Json out;
  add_value(out, peak());
  EXPECT_EQ(out.dump(), R"({"peak_allocated_bytes":2048})");
}

TEST(FigureWriting, WhatIsUnknownIsNull) {
  Json out;
  add_figure(out, {.unit = Unit::joules});
  EXPECT_EQ(out.dump(), R"({"joules":null,"low_joules":null,"high_joules":null})");
  EXPECT_EQ(value_text({.unit = Unit::joules}), "unknown");
  EXPECT_THAT(csv_cells({.unit = Unit::joules}), ElementsAre("", "", ""));
}

TEST(FigureWriting, ABytesCountStaysWholeHoweverLarge) {
  Json out;
  add_value(out, {.name = "weights", .value = 0x1p52 + 1, .unit = Unit::bytes});
  EXPECT_EQ(out["weights_bytes"].get<std::int64_t>(), (std::int64_t{1} << 52) + 1);
}

TEST(FigureWriting, AFigureAsAnObjectSaysWhereItComesFrom) {
  EXPECT_EQ(figure_json(joules()).dump(),
            R"({"value":2.0,"unit":"J","low":1.5,"high":2.5,"provenance":"calibrated","source":"a meter"})");
}

TEST(FigureWriting, AnOpenEndHasNoNumber) {
  Figure open = joules();
  open.high = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(figure_json(open)["high"].is_null());
  EXPECT_THAT(csv_cells(open), ElementsAre("2.0", "1.5", ""));
}

TEST(FigureWriting, ColumnsAreNamedAsTheFieldsAre) {
  EXPECT_THAT(csv_titles(peak()), ElementsAre("peak_allocated_bytes", "low_bytes", "high_bytes"));
  EXPECT_THAT(csv_cells(peak()), ElementsAre("2048", "1024", "4096"));
  EXPECT_THAT(csv_titles({.name = "accuracy"}), ElementsAre("accuracy", "low_accuracy", "high_accuracy"));
}

TEST(FigureWriting, PeopleReadTheirUnitsAndShares) {
  EXPECT_EQ(figure_text(joules()), "2 J (±25 %)");
  EXPECT_EQ(figure_text(peak()), "2.00 KiB (-50 % +100 %)");
  EXPECT_EQ(interval_cell(peak()), "-50 +100 %");
  EXPECT_EQ(figure_text({.value = 1e-3, .unit = Unit::seconds}), "1.00 ms") << "no interval";
}

}  // namespace
}  // namespace plimsoll::report
