#include "report/measurement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using testing::HasSubstr;
using testing::Not;

measure::Row row_of(std::int64_t batch) {
  measure::Row row;
  row.batch = batch;
  row.loaded.emplace();
  row.loaded->seconds = 0.5;
  row.loaded->bytes = 1 << 20;
  row.measured.emplace();
  row.measured->samples = {0.001, 0.002, 0.003};
  row.measured->memory.peak_allocated_bytes = 3 << 20;
  row.seconds = Quantile{0.002, 0.001, 0.003};
  return row;
}

measure::Measurement measurement(std::vector<measure::Row> rows) {
  measure::Measurement m;
  m.model = "net";
  m.device = "cuda:0";
  m.rows = std::move(rows);
  return m;
}

TEST(MeasurementReport, ARowPerModelAndDeviceAColumnPerBatch) {
  measure::Row tight;
  tight.batch = 4;
  tight.does_not_fit.emplace();
  measure::Row broken;
  broken.batch = 8;
  broken.failure = Error{"crashed"};
  const std::vector measurements = {measurement({row_of(1), tight}), measurement({row_of(2), broken})};
  const Table table = measurement_table(measurements);
  ASSERT_EQ(table.columns.size(), 7U);
  EXPECT_EQ(table.columns[3].title, "Batch 1");
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"net", "cuda:0", "1.00 MiB (500 ms)",
                                                     "3.00 MiB (2.00 ms)", "does not fit", "", ""}));
  EXPECT_EQ(table.rows[1][5], "3.00 MiB (2.00 ms)");
  EXPECT_EQ(table.rows[1][6], "failed");
}

TEST(MeasurementReport, TheEstimateStandsBesideWithItsError) {
  measure::Row row = row_of(1);
  row.estimate = measure::RowEstimate{Bytes(2 << 20), Bytes(1), Bytes(2), Bytes(4 << 20), {}};
  const auto json = to_json(measurement({row}));
  EXPECT_DOUBLE_EQ(json["rows"][0]["error"]["peak_allocated"].get<double>(), 2.0 / 3 - 1) << "too low";
  EXPECT_TRUE(json["rows"][0]["error"]["device_used"].is_null()) << "not known for this device";
  EXPECT_TRUE(json["rows"][0]["error"]["peak_reserved"].is_null()) << "the engine did not tell";
  const std::vector all = {measurement({row})};
  EXPECT_THAT(measurement_text(all, {}), HasSubstr("-33.3 %"));
}

TEST(MeasurementReport, WhatIsUnknownIsNullAndItsColumnLeftOut) {
  const auto row = to_json(measurement({row_of(1)}))["rows"][0];
  for (const char* key :
       {"joules", "energy", "estimate", "error", "device_used_bytes", "peak_reserved_bytes"})
    EXPECT_TRUE(row[key].is_null()) << key;
  EXPECT_EQ(row["seconds"]["samples"].size(), 3U);
  const std::vector all = {measurement({row_of(1)})};
  EXPECT_THAT(measurement_text(all, {}), Not(HasSubstr("Energy")));
}

TEST(MeasurementReport, WhoElseIsOnTheGpuIsNamedWhereItDoesNotFit) {
  measure::Row row;
  row.batch = 4;
  row.does_not_fit = job::DoesNotFit{"running", 1 << 30, 1 << 20, 16LL << 30, {}, {}, "CUDA out of memory"};
  row.conditions.gpu.emplace();
  row.conditions.gpu->others = {{.pid = 7, .name = "py\x1bthon", .bytes = Bytes(12LL << 30)}, {.pid = 8}};
  EXPECT_EQ(
      does_not_fit_text(row),
      "batch 4 does not fit (while running): asked for 1.00 GiB; 1.00 MiB of 16.0 GiB were free; on the "
      "GPU beside it: py\\x1bthon (pid 7) with 12.0 GiB, a process (pid 8) with an unknown amount");
}

TEST(MeasurementReport, ForeignTextIsFitForATerminal) {
  measure::Row row = row_of(1);
  row.hello.emplace();
  row.hello->device_name = "\x1b[2JGPU";
  row.layers = job::Layers{{{"a\x1b", "Conv\x1b", 0.001}}, 0.001, 0.001, 0, 3};
  measure::Measurement m = measurement({row});
  m.model = "net\x1b";
  m.notes = {"note\x1b"};
  const std::vector all = {m};
  EXPECT_THAT(measurement_text(all, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_csv(measurement_csv(all)), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_json(m).dump(), Not(HasSubstr("\\u001b")));
}

}  // namespace
}  // namespace plimsoll::report
