// Several machines that record one run: each one's hardware is in series of its own.
#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "run/recorder.hpp"
#include "run/summary.hpp"
#include "store/timestamp.hpp"
#include "telemetry/test_root.hpp"

namespace plimsoll::running {
namespace {

using namespace std::chrono_literals;

/// A machine with a recorder of its own, which samples what a folder says.
class RecordingHost {
 public:
  RecordingHost(const std::string& name, double gibibytes, const std::string& store) {
    root_.write("proc/sys/kernel/hostname", name + "\n");
    const auto kilobytes = static_cast<std::int64_t>(gibibytes * 1024 * 1024);
    root_.write("proc/meminfo", fmt::format("MemTotal: {} kB\nMemAvailable: 0 kB\n", kilobytes));
    sampling_ = std::make_unique<telemetry::SamplingThread>(telemetry::Sampler(root_.options(100)), 100);
    recorder_ = std::make_unique<Recorder>(*store::open(store), sampling_.get(),
                                           RecorderOptions{.frames_interval = 20ms});
  }
  Recorder& recorder() { return *recorder_; }

 private:
  telemetry::TestRoot root_;
  std::unique_ptr<telemetry::SamplingThread> sampling_;
  std::unique_ptr<Recorder> recorder_;
};

bool comes_true(const std::function<bool()>& condition) {
  // However slow the machine is; what never comes fails in the end.
  const auto end = std::chrono::steady_clock::now() + 5min;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
  return condition();
}

TEST(RecorderHosts, WriteSeriesOfTheirOwnToOneRun) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const std::string path = (directory->path() / "s.db").string();
  const std::unique_ptr<store::Store> store = *store::open(path);
  const std::string id = *store->create({.start = store::now(), .tags = {{"plimsoll.host", "node7"}}});
  const std::string own = "system/host/memory_used", other = "system/on/node8/host/memory_used";
  {
    RecordingHost home("node7", 1, path), elsewhere("node8", 2, path);
    home.recorder().begin(1, id, {}, {}, "node7");
    elsewhere.recorder().begin(1, id, {}, {}, "node7");
    ASSERT_TRUE(comes_true([&] {
      const Result<store::Run> run = store->find(id);
      return run && run->metrics.contains(own) && run->metrics.contains(other) &&
             run->metrics.at(own).points > 1 && run->metrics.at(other).points > 1;
    }));
  }
  const Result<store::Run> run = store->find(id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->metrics.at(own).description.host, "node7");
  EXPECT_EQ(run->metrics.at(other).description.host, "node8");
  EXPECT_EQ(run->metrics.at(own).description.unit, "B");
  const auto all_are = [&](const std::string& metric, double value) {
    const Result<std::vector<store::Point>> points = store->history(id, metric);
    return points && std::ranges::all_of(*points, [&](const store::Point& p) { return p.value == value; });
  };
  EXPECT_TRUE(all_are(own, 0x1p30));
  EXPECT_TRUE(all_are(other, 0x1p31));
}

TEST(RecorderHosts, AreAddedUpInTheSummary) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const std::unique_ptr<store::Store> store = *store::open((directory->path() / "s.db").string());
  const std::string id = *store->create({.start = 1'000'000});
  for (const auto& [name, joules] :
       {std::pair{"system/gpu/0/energy", 100.0}, std::pair{"system/gpu/1/energy", 50.0},
        std::pair{"system/on/node8/gpu/0/energy", 7.0}})
    ASSERT_TRUE(
        store->append({{store::Batch{id, name, {}, {{1'000'000, 0, 1}, {2'000'000, 0, 1 + joules}}}}}));
  const Result<store::Run> run = store->find(id);
  ASSERT_TRUE(run);
  const auto summary = summarise(*store, *run, 3'000'000);
  ASSERT_TRUE(summary);
  const auto energy = std::ranges::find(*summary, "summary/gpu_energy", &store::Batch::metric);
  ASSERT_NE(energy, summary->end());
  EXPECT_EQ(energy->points.front().value, 157);
}

}  // namespace
}  // namespace plimsoll::running
