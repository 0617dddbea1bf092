#include "report/top_view.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/table.hpp"

namespace plimsoll::report {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::ResultOf;
using testing::SizeIs;

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TopView example() {
  TopView view;
  view.time = 1'700'000'000'000'000;
  view.watched = Seconds(3725);
  view.driver = "580.65.06";
  view.host = {.name = "node7",
               .cores = 64,
               .cpu = 16.0,
               .memory_used = kGiB * 128,
               .memory_total = kGiB * 512,
               .swap_used = kGiB * 2,
               .cpu_pressure = 0.04,
               .memory_pressure = 0.0,
               .cgroup_memory = kGiB * 90,
               .cgroup_memory_limit = kGiB * 100};
  view.gpus.push_back(
      {.number = 0,
       .name = "NVIDIA H200",
       .memory_used = kGiB * 57,
       .memory_total = kGiB * 140,
       .sm_activity = 0.31,
       .utilization = 1.0,
       .tensor_activity = 0.12,
       .dram_activity = 0.22,
       .history = {0, 0.01, 0.25, 0.5, 1.0, 0.31},
       .power = Watts(412.5),
       .power_limit = Watts(700),
       .energy = Joules(1.25e6),
       .temperature = 54,
       .sm_clock = 1.98e9,
       .throttle = 0x4,
       .processes = {{.pid = 4242, .command = "python3 train.py", .memory = kGiB * 38, .time_share = 0.7},
                     {.pid = 5000}}});
  view.gpus.push_back({.number = 1,
                       .name = "Tesla T4",
                       .memory_used = Bytes(0),
                       .memory_total = kGiB * 15,
                       .utilization = 0.0,
                       .power = Watts(9)});
  view.runs.push_back({.id = "0123456789abcdef0123456789abcdef",
                       .name = "resnet50 lr=0.1",
                       .elapsed = Seconds(90061),
                       .cpu = 4.25,
                       .memory = kGiB * 5,
                       .gpu_memory = kGiB * 38,
                       .sm_activity = 0.22,
                       .energy = Joules(9e5)});
  view.runs.push_back({.id = "fedcba98765432100123456789abcdef", .name = "second"});
  return view;
}

TEST(TopView, ShowsWhatIsKnown) {
  EXPECT_EQ(joined(top_lines(example(), {.width = 90})),
            R"(plimsoll top  node7  driver 580.65.06  watched 1:02:05
! GPU 0: its clocks are held down: power limit
  CPU          █████▌                 16.0 of 64 cores
  memory       █████▌                 128 GiB of 512 GiB  swap 2.00 GiB
  waiting for  CPU 4 %   memory 0 %   disk -   group 90.0 GiB of 100 GiB allowed
GPU 0  NVIDIA H200  412 W of 700 W  1.25 MJ so far  54 °C  1.98 GHz  slowed: power limit
  SM activity  ██████▉                 31 %   ▁▂▄█▃
  utilisation  ██████████████████████ 100 %  tensor 12 %  DRAM 22 %
  memory       █████████              57.0 GiB of 140 GiB
       4242   38.0 GiB   70 % of the time  python3 train.py
       5000          -      - of the time  (not of this container)
GPU 1  Tesla T4  9 W
  SM activity  this GPU does not count it (Hopper and later do)
  utilisation                           0 %
  memory                              0 B of 15.0 GiB
Runs          elapsed         CPU     memory     on GPU    SMs     energy  name
  01234567  1 d 01:01   4.2 cores   5.00 GiB   38.0 GiB   22 %     900 kJ  resnet50 lr=0.1
  fedcba98          -           -          -          -      -          -  second
)");
}

TEST(TopView, IsReadAtFortyColumns) {
  TopView view = example();
  view.runs[0].metric = TopMetric{.name = "val/accuracy", .value = 0.9125, .step = 500};
  view.runs[0].history = {0.1, 0.5, 0.8, 0.9125};
  view.runs[0].progress = TopProgress{.share = 0.5, .source = "params.epochs"};
  view.runs[0].expected_end = view.time + 600'000'000;
  view.runs[0].gpus = {0};
  EXPECT_EQ(joined(top_lines(view, {.width = 40, .selected = view.runs[0].id, .note = "Stop this run? y/n"})),
            R"(plimsoll top  node7  watched 1:02:05
! GPU 0: its clocks are held down: power
  CPU     ██       16.0 of 64 cores
  memory  ██       128 GiB of 512 GiB  s
  waits CPU 4 % memory 0 % disk - group
GPU 0  NVIDIA H200
  412 W of 700 W  54 °C  slowed: power l
  SMs     ██▌       31 %   ▁▂▄█▃
  util.   ████████ 100 %  tensor 12 %  D
  memory  ███▎     57.0 GiB of 140 GiB
  4242 38.0 GiB 70 % python3 train.py
  5000 - - (not of this container)
GPU 1  Tesla T4
  9 W
  SM activity  this GPU does not count i
  util.              0 %
  memory           0 B of 15.0 GiB
Runs
> 01234567 resnet50 lr=0.1
    1 d 01:01  SMs 22 %  38.0 GiB  900 k
    val/accuracy 0.9125  ▁▅██  50 % 0:10
  fedcba98 second
    -
Stop this run? y/n
)");
}

TEST(TopView, TellsTheNewestMetricOfEachRun) {
  TopView view = example();
  view.runs[0].metric = TopMetric{.name = "loss", .value = 0.25, .step = 500};
  view.runs[0].step = 500;
  view.runs[0].history = {4, 2, 1, 0.25};
  view.runs[0].progress = TopProgress{.share = 0.5, .source = "params.epochs"};
  view.runs[0].expected_end = view.time + 600'000'000;
  view.runs[0].gpus = {0, 1};
  EXPECT_THAT(
      joined(top_lines(view, {.width = 100})),
      HasSubstr("          loss 0.25 at step 500  █▅▃▁  50 % by params.epochs, 0:10:00 left  GPU 0, 1\n"));
}

TEST(TopView, TheMarkedRunIsSeenHoweverManyThereAre) {
  TopView view = example();
  for (int i = 0; i < 98; ++i)
    view.runs.push_back({.id = fmt::format("{:032}", i), .name = fmt::format("run {}", i)});
  for (const std::size_t marked : {0, 50, 99})
    EXPECT_THAT(joined(top_lines(view, {.width = 90, .height = 32, .selected = view.runs[marked].id})),
                HasSubstr("> " + view.runs[marked].id.substr(0, 8)));
}

TEST(TopView, FitsEveryScreen) {
  TopView view = example();
  view.no_gpu =
      "NVML: cannot open libnvidia-ml.so.1: no such file or directory, and a very long reason beside";
  for (std::uint32_t pid = 1; pid < 100; ++pid) view.gpus[0].processes.push_back({.pid = pid});
  for (int i = 0; i < 100; ++i) view.runs.push_back({.id = fmt::format("{:032}", i), .name = "many"});
  for (const int width : {1, 20, 33, 80, 300})
    for (const int height : {1, 2, 5, 17, 24, 60, 1000}) {
      const auto lines = top_lines(view, {.width = width, .height = height, .keys = true});
      EXPECT_THAT(lines, SizeIs(Le(static_cast<std::size_t>(height)))) << width << "x" << height;
      EXPECT_THAT(lines, Each(ResultOf([](const std::string& line) { return display_width(line); },
                                       Le(static_cast<std::size_t>(std::max(width, 20))))))
          << width << "x" << height;
    }
}

TEST(TopView, ShortScreensSayWhatIsLeftOut) {
  TopView view = example();
  for (std::uint32_t pid = 1; pid < 100; ++pid) view.gpus[0].processes.push_back({.pid = pid});
  for (int i = 0; i < 98; ++i) view.runs.push_back({.id = fmt::format("{:032}", i), .name = "many"});
  const auto lines = top_lines(view, {.width = 90, .height = 32});
  EXPECT_THAT(lines, SizeIs(32));
  EXPECT_THAT(joined(lines), HasSubstr("more processes"));
  EXPECT_THAT(lines.back(), HasSubstr(" more"));
}

TEST(TopView, SaysWhyThereIsNoGpuAndNoRun) {
  TopView view;
  view.no_gpu = "NVML: cannot open libnvidia-ml.so.1";
  view.no_runs = "the disk is full";
  const std::string text = joined(top_lines(view, {}));
  EXPECT_THAT(text, HasSubstr("no GPU: NVML: cannot open libnvidia-ml.so.1\n"));
  EXPECT_THAT(text, HasSubstr("Runs  the disk is full\n"));
}

TEST(TopView, ShowsTheQueueWhereThereIsOne) {
  TopView view = example();
  EXPECT_THAT(joined(top_lines(view, {.width = 100})), Not(HasSubstr("Queue")));
  EXPECT_TRUE(top_json(view)["queue"].is_null());
  view.queue =
      TopQueue{.running = 2,
               .waiting = 5,
               .held = 1,
               .next = {{.number = 12, .name = "sweep", .why = "GPU 0 has 3 GiB left"}, {}, {}, {}, {}}};
  const std::string text = joined(top_lines(view, {.width = 100}));
  EXPECT_THAT(text,
              HasSubstr("Queue  2 running, 5 waiting, 1 held\n  12      sweep  GPU 0 has 3 GiB left\n"));
  EXPECT_EQ(top_json(view)["queue"]["next"].size(), 5);
  EXPECT_THAT(top_lines(view, {.width = 40, .height = 12}), SizeIs(Le(12U)));
}

TEST(TopView, ForeignTextCannotDriveTheTerminal) {
  TopView view = example();
  view.gpus[0].name = "evil\x1b[2J";
  view.gpus[0].processes[0].command = "a\x1b]0;title\x07\n";
  view.runs[0].name = "b\r\x1b[31m";
  view.host.name = "h\x1b[1m";
  EXPECT_THAT(joined(top_lines(view, {.width = 200})), Not(HasSubstr("\x1b")));
  EXPECT_THAT(top_json(view).dump(), Not(HasSubstr("\x1b")));
}

TEST(TopView, JsonHasEveryFigureOrNull) {
  const auto json = top_json(example());
  EXPECT_EQ(json["gpus"][0]["sm_activity"], 0.31);
  EXPECT_EQ(json["gpus"][0]["clocks_low_because"][0], "power limit");
  EXPECT_EQ(json["gpus"][0]["processes"][0]["memory_bytes"], (kGiB * 38).count());
  EXPECT_TRUE(json["gpus"][0]["processes"][1]["memory_bytes"].is_null());
  EXPECT_TRUE(json["gpus"][1]["sm_activity"].is_null()) << "unknown is not zero";
  EXPECT_EQ(json["host"]["cpu_cores"], 16.0);
  EXPECT_EQ(json["runs"].size(), 2U);
  EXPECT_TRUE(json["runs"][1]["energy_joules"].is_null());
}

TEST(TopView, AStoredRunShowsItsLatestOverAllItsGpus) {
  store::Run run{.id = "abc", .experiment = "Default", .name = "n"};
  run.start = 1'000'000;
  run.metrics["system/run/cpu"] = {.latest = {.value = 2.5}};
  run.metrics["system/run/gpu/0/memory"] = {.latest = {.value = 100}};
  run.metrics["system/run/gpu/1/memory"] = {.latest = {.value = 50}};
  run.metrics["system/run/gpu/0/energy"] = {.latest = {.value = 7}};
  const TopRun shown = top_run(run, 3'000'000);
  EXPECT_EQ(shown.elapsed, Seconds(2));
  EXPECT_EQ(shown.cpu, 2.5);
  EXPECT_EQ(shown.gpu_memory, Bytes(150));
  EXPECT_EQ(shown.energy, Joules(7));
  EXPECT_FALSE(shown.memory);
  EXPECT_FALSE(shown.sm_activity);
  // Another host's count too.
  run.metrics["system/on/node8/run/cpu"] = {.latest = {.value = 1.5}};
  run.metrics["system/on/node8/run/gpu/0/memory"] = {.latest = {.value = 10}};
  run.metrics["system/on/node8/gpu/0/memory_used"] = {.latest = {.value = 1000}};
  EXPECT_EQ(top_run(run, 3'000'000).cpu, 4);
  EXPECT_EQ(top_run(run, 3'000'000).gpu_memory, Bytes(160));
}

}  // namespace
}  // namespace plimsoll::report
