#include "diagnose/recording_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "diagnose/averages.hpp"
#include "diagnose/run_figures.hpp"
#include "diagnose/series_catalogue.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

using ::testing::DoubleEq;
using ::testing::Optional;

constexpr store::Time kStart = 1'700'000'000'000'000;

class RecordingReader : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    auto opened = store::open((folder_->path() / "runs.db").string());
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
  }
  std::string create(const std::map<std::string, std::string>& tags) {
    const Result<std::string> id = store_->create({.name = "read", .start = kStart, .tags = tags});
    EXPECT_TRUE(id);
    return id.value_or("");
  }
  void append(const std::string& run, const std::string& metric, const std::string& unit, int points,
              double value) {
    store::Batch batch{run, metric, {unit, "a test"}, {}};
    for (int i = 1; i <= points; ++i) batch.points.push_back({kStart + std::int64_t{i} * 100'000, i, value});
    ASSERT_TRUE(store_->append(std::span(&batch, 1)));
  }
  Recording read(const std::string& run, const ReadLimits& limits = {}) {
    Result<store::Run> found = store_->find(run);
    EXPECT_TRUE(found);
    Result<Recording> recording = read_recording(*store_, std::move(*found), limits);
    EXPECT_TRUE(recording);
    return recording.value_or(Recording{});
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make("plimsoll_reader");
  std::unique_ptr<store::Store> store_;
};

TEST_F(RecordingReader, ReadsSeriesWithTheirUnitsOnTheRunsClock) {
  const std::string run = create({{"plimsoll.gaps", "[[1700000000300000, 1700000000500000], [9], \"x\"]"}});
  append(run, "system/gpu/0/sm_activity", "1", 10, 0.4);
  append(run, "system/host/io_pressure", "%", 10, 50);
  append(run, "loss", "", 10, 2);
  append(run, "system/unheard_of", "1", 10, 1);
  append(run, "summary/seconds", "s", 1, 12);
  const Recording recording = read(run);
  EXPECT_EQ(recording.series.size(), 3u);
  EXPECT_DOUBLE_EQ(recording.series.at("system/gpu/0/sm_activity").samples.back().span.to, 1.0);
  EXPECT_EQ(recording.series.at("system/gpu/0/sm_activity").source, "a test");
  EXPECT_DOUBLE_EQ(recording.series.at("system/host/io_pressure").samples.front().value, 0.5);
  EXPECT_EQ(recording.series.at("loss").kind, SeriesKind::own);
  EXPECT_EQ(recording.gaps.size(), 1u);
  EXPECT_FALSE(recording.ended);
  EXPECT_DOUBLE_EQ(recording.seconds, 1.0);  // the last that is known
}

TEST_F(RecordingReader, AnEndedRunHasItsOwnLength) {
  const std::string run = create({});
  append(run, "loss", "", 3, 1);
  ASSERT_TRUE(store_->change(run, {.status = store::RunStatus::finished, .end = kStart + 7'000'000}));
  const Recording recording = read(run);
  EXPECT_TRUE(recording.ended);
  EXPECT_DOUBLE_EQ(recording.seconds, 7);
  EXPECT_EQ(outcome_of(recording), "finished");
}

TEST_F(RecordingReader, APointThatWasLoggedTwiceIsOne) {
  const std::string run = create({});
  append(run, "loss", "", 3, 1);
  append(run, "loss", "", 3, 1);
  append(run, "loss", "", 4, 1);
  Result<store::Run> found = store_->find(run);
  ASSERT_TRUE(found);
  count_points(*store_, *found);
  EXPECT_EQ(found->metrics.at("loss").points, 4);
}

/// The sampler reads once more after the command has ended: by then the GPU rests.
TEST_F(RecordingReader, WhatWasReadAfterTheEndIsNotTheRuns) {
  const auto powered = [&](const std::vector<std::pair<double, double>>& values) {
    const std::string run = create({});
    store::Batch batch{run, "system/gpu/0/power", {"W", "a test"}, {}};
    for (const auto& [seconds, watts] : values)
      batch.points.push_back({kStart + static_cast<store::Time>(seconds * 1e6), 0, watts});
    EXPECT_TRUE(store_->append(std::span(&batch, 1)));
    EXPECT_TRUE(store_->change(run, {.status = store::RunStatus::finished, .end = kStart + 4'000'000}));
    return read(run);
  };
  const Recording usual = powered({{0.5, 400}, {1.5, 400}, {2.5, 400}, {3.5, 400}, {4.5, 60}});
  const std::optional<Average> mean = average(usual.series.at("system/gpu/0/power"), usual.whole());
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 400);
  EXPECT_EQ(mean->low, 400);
  EXPECT_DOUBLE_EQ(mean->seconds, 3.5);
  EXPECT_EQ(figures_of(usual, usual.whole()).gpus.at(0).watts, 400);
  EXPECT_TRUE(spans_below(usual.series.at("system/gpu/0/power"), 100, usual.whole()).empty());
  const Recording brief = powered({{4.2, 300}, {5.2, 60}});
  EXPECT_TRUE(average(brief.series.at("system/gpu/0/power"), brief.whole())) << "it is all that is known";
}

TEST_F(RecordingReader, StaysWithinItsLimits) {
  const std::string run = create({});
  append(run, "system/gpu/0/power", "W", 5000, 300);
  for (const char* metric : {"a", "b", "c"}) append(run, metric, "", 2, 1);
  const Recording recording = read(run, {.samples = 100, .own_metrics = 2});
  EXPECT_EQ(recording.metrics_left_out, 1u);
  EXPECT_EQ(recording.series.at("system/gpu/0/power").samples.size(),
            1000u);  // the least that is worth drawing
  EXPECT_EQ(recording.series.at("system/gpu/0/power").points, 5000);
  EXPECT_FALSE(recording.series.contains("c"));
}

TEST_F(RecordingReader, GpusByTagOrBySamples) {
  const std::string run = create({{"plimsoll.devices", "1"}});
  append(run, "system/gpu/0/power", "W", 5, 300);
  append(run, "system/gpu/1/power", "W", 5, 300);
  EXPECT_THAT(gpus_of(read(run)), ::testing::ElementsAre(Gpu{{}, 1}));
  const std::string other = create({{"plimsoll.devices", "GPU-6f5e"}});
  append(other, "system/run/gpu/3/memory", "B", 5, 300);
  EXPECT_THAT(gpus_of(read(other)), ::testing::ElementsAre(Gpu{{}, 3}));
}

TEST_F(RecordingReader, SeriesOfOtherHostsAreKnownAndDoNotMix) {
  const std::string run = create({{"plimsoll.devices", "0"}, {"plimsoll.host", "node7"}});
  append(run, "system/gpu/0/power", "W", 50, 300);
  append(run, "system/gpu/1/power", "W", 50, 300);
  // A host may be called by a number, and by what is none of MLflow's characters.
  for (const char* host : {"8", "node/9"}) {
    append(run, store::host_series_name(host, "system/gpu/0/power"), "W", 50, 100);
    append(run, store::host_series_name(host, "system/run/cpu"), "cores", 50, 2);
  }
  append(run, "system/run/cpu", "cores", 50, 1);
  const Recording recording = read(run);
  EXPECT_THAT(gpus_of(recording), ::testing::ElementsAre(Gpu{{}, 0}, Gpu{"8", 0}, Gpu{"node/9", 0}));
  const RunFigures figures = figures_of(recording, recording.whole());
  ASSERT_EQ(figures.gpus.size(), 3U);
  EXPECT_THAT(figures.gpus[0].watts, Optional(DoubleEq(300)));
  EXPECT_THAT(figures.gpus[1].watts, Optional(DoubleEq(100)));
  EXPECT_EQ(figures.gpus[2].gpu.host, "node/9");
  EXPECT_EQ(gpu_text(figures.gpus[1].gpu), "GPU 0 of 8");
  EXPECT_EQ(figures.host.cpu, 1) << "of the run's own host";
  const std::string power = gpu_series({"8", 0}, "power");
  EXPECT_EQ(find_series(power), find_series("system/gpu/0/power"));
  EXPECT_EQ(series_number(power), 0U);
  EXPECT_TRUE(is_of_machine(power));
  EXPECT_FALSE(store::is_own_metric(power));
  std::vector<std::string> labels;
  for (const AverageRow& row : averages_of(recording, recording.whole(), recording.whole()))
    labels.push_back(row.label);
  EXPECT_THAT(labels, ::testing::ElementsAre("GPU power, GPU 0", "GPU power, GPU 1", "GPU power, GPU 0 of 8",
                                             "GPU power, GPU 0 of node/9", "cores of the run",
                                             "cores of the run of 8", "cores of the run of node/9"));
}

TEST_F(RecordingReader, TheEndOfItsOutputInWholeLines) {
  const std::string run = create({});
  EXPECT_EQ(read(run).log_tail, "");
  const Result<std::filesystem::path> folder = store_->artifacts(run);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file(*folder / "output.log", "one\ntwo\n"));
  EXPECT_EQ(read(run).log_tail, "one\ntwo\n");
  ASSERT_TRUE(write_file(*folder / "output.log",
                         std::string(10000, 'x') + "\n" + std::string(3000, 'y') + "\nlast\n"));
  EXPECT_EQ(read(run).log_tail, std::string(3000, 'y') + "\nlast\n");
}

TEST_F(RecordingReader, TagsThatAreNoNumbersAreUnknown) {
  const Recording recording = read(create({{"plimsoll.host.cores", "many"}, {"b", "1e999"}, {"c", "12"}}));
  EXPECT_EQ(recording.number_tag("plimsoll.host.cores"), std::nullopt);
  EXPECT_EQ(recording.number_tag("b"), std::nullopt);
  EXPECT_THAT(recording.number_tag("c"), Optional(DoubleEq(12)));
}

}  // namespace
}  // namespace plimsoll::diagnose
