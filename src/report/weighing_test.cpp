#include "report/weighing.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "network/builder.hpp"
#include "report/weighing_page.hpp"
#include "report/weighing_words.hpp"

namespace plimsoll::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Bytes gib(std::int64_t n) {
  return n * kGiB;
}

/// What a weighing points to: a network of one operator over images.
struct Held {
  network::Network network;
  network::Shapes shapes;
  program::Counts counts;
  program::Conventions conventions;

  Held() {
    network::Builder b("m");
    b.opset("", 17);
    using network::Dim;
    b.output(b.add(
        "Relu", "relu",
        {b.input("x", network::DataType::float32, {b.symbol("batch"), Dim::of(3), Dim::of(8), Dim::of(8)})}));
    network = std::move(b).finish();
    network::BindingRequest request;
    request.batch = 8;
    shapes = network::infer(network, network::bind(network, request).value()).value();
    counts = program::count(network, shapes, conventions);
  }
  [[nodiscard]] Weighing weighing(std::vector<WeighedDevice> devices) const {
    return {.inspection = {"m", network, shapes, counts, conventions, {}},
            .setting = {.mode = network::Mode::train, .optimizer = network::Optimizer::adam},
            .needs = {},
            .batch = 8,
            .work = {1000, "1,000 steps"},
            .devices = std::move(devices),
            .next = "plimsoll run -- python train.py"};
  }
};

estimate::MemoryEstimate twelve_of(Bytes capacity) {
  estimate::MemoryEstimate e;
  e.peak_allocated = gib(10);
  e.low = gib(9);
  e.high = gib(11);
  e.peak_reserved = e.minimum_reserved = gib(11);
  e.context = gib(1);
  e.capacity = capacity;
  e.fits = e.minimum_device() <= capacity;
  e.peak_phase = program::Phase::backward;
  e.peak_operator = "Conv 'layer1'";
  e.by_purpose = {{program::Purpose::saved, gib(9)}, {program::Purpose::weight, gib(1)}};
  return e;
}

estimate::TimeEstimate takes(double seconds) {
  estimate::TimeEstimate t;
  t.seconds = t.eager = Seconds(seconds);
  t.low = Seconds(seconds * 0.9);
  t.high = Seconds(seconds * 1.1);
  t.joules = Joules(2);
  t.provenance = Provenance::calibrated;
  t.layers.push_back({.op = 0, .forward = Seconds(seconds)});
  return t;
}

WeighedDevice device(std::string id, Bytes capacity, double seconds) {
  WeighedDevice d{.device = {.id = id, .name = "Device " + id}};
  d.memory = twelve_of(capacity);
  d.time = takes(seconds);
  d.largest = estimate::LargestBatch{.batch = 16, .minimum_device = gib(14), .capacity = capacity};
  return d;
}

/// A GPU of this machine of 40 GiB, of which two others use 20.
WeighedDevice shared_gpu() {
  WeighedDevice d = device("g40", gib(20), 0.062);
  d.here = d.in_full = true;
  d.use = GpuUse{.number = 0, .total = gib(40), .used = gib(20), .free = gib(20)};
  d.use->users = {{11, "python", gib(15)}, {12, "", std::nullopt}};
  d.use->sm_activity = 0.31;
  d.use->utilization = 1;
  return d;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(WeighingText, ThisMachineFirstWithWhoUsesIt) {
  const Held held;
  const std::vector<std::string> page = lines(weighing_text(held.weighing({shared_gpu()}), {}));
  ASSERT_GE(page.size(), 9u);
  EXPECT_THAT(page[0], ::testing::StartsWith("m · training · adam · fp32"));
  EXPECT_THAT(page[0], ::testing::EndsWith("batch 8"));
  EXPECT_THAT(page[2], HasSubstr("GPU 0  Device g40, 40.0 GiB"));
  EXPECT_THAT(page[2], HasSubstr("SM activity 31 % (nvidia-smi says 100 %)"));
  EXPECT_EQ(page[3], "  in use   20.0 GiB: python 15.0 GiB · process 12 unknown");
  EXPECT_EQ(page[4], "  memory   12.0 GiB ±8 %   ░░░░░░░░░█████▍   ┆  fits beside them; largest batch 16");
  EXPECT_EQ(page[5], "           saved for backward 75.0 % · weights 8.3 % · reserved, unused 8.3 %");
  EXPECT_EQ(page[6], "           peak in backward at Conv 'layer1'");
  EXPECT_THAT(page[7], HasSubstr("62.0 ms a step · 129 images/s · 2 J a step · bound by memory"));
  EXPECT_THAT(page[7], ::testing::EndsWith("[calibrated ±10 %]"));
}

TEST(WeighingText, KeepsToTheTerminalsWidth) {
  const Held held;
  WeighedDevice there = device("t24", gib(24), 0.1);
  WeighedDevice small = device("t8", gib(8), 0.2);
  small.remedies = {{"--precision bf16", gib(5), true}, {"--precision amp-bf16", gib(7), true}};
  Weighing w = held.weighing({shared_gpu(), there, small});
  for (const int width : {60, 80, 100})
    for (const std::string& line : lines(weighing_text(w, {.width = width})))
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
}

TEST(WeighingText, OthersInShort) {
  const Held held;
  WeighedDevice fits = device("wide", gib(40), 0.1), tight = device("tight", gib(13), 0.05);
  WeighedDevice small = device("small", gib(8), 0.2), none = device("none", gib(4), 0.2);
  small.remedies = {{"--precision bf16", gib(5), true}, {"--precision amp-bf16", gib(7), true}};
  none.largest->batch = 0;
  const Elsewhere e = elsewhere(held.weighing({fits, tight, small, none}));
  EXPECT_THAT(e.fits, ElementsAre("wide 100 ms*"));
  EXPECT_THAT(e.tight, ElementsAre("tight 50.0 ms* (largest batch 16)"));
  EXPECT_THAT(e.too_small, ElementsAre("small → amp-bf16 does", "none"));
  EXPECT_EQ(e.basis, "* calibrated");
}

TEST(WeighingText, UnknownIsSaid) {
  const Held held;
  WeighedDevice d{.device = {.id = "d", .name = "D"}, .in_full = true};
  d.no_time = "it has no figures";
  const std::string page = weighing_text(held.weighing({d}), {});
  EXPECT_THAT(page, HasSubstr("memory   unknown  unknown whether it fits"));
  EXPECT_THAT(page, HasSubstr("time     unknown: it has no figures"));
  EXPECT_THAT(page, Not(HasSubstr("cost")));
}

TEST(WeighingText, TheMeasurementStandsBesideTheEstimate) {
  const Held held;
  WeighedDevice d = shared_gpu();
  d.measured.emplace();
  d.measured->seconds = Quantile{0.05, 0.049, 0.051};
  d.measured->measured.emplace();
  d.measured->measured->captured = true;
  d.measured->measured->memory.peak_allocated_bytes = gib(8).count();
  d.measured->doubts = {"clocks moved"};
  const std::string page = weighing_text(held.weighing({d}), {});
  EXPECT_THAT(
      page, HasSubstr("measured 50.0 ms a step (estimate +24.0 %) · 8.00 GiB allocated (estimate +25.0 %)"));
  EXPECT_THAT(page, HasSubstr("doubtful: clocks moved"));
  // Run call by call it is another time that counts.
  d.measured->measured->captured = false;
  d.time->eager = Seconds(0.1);
  EXPECT_NEAR(*time_error(d), 1, 1e-12);
}

TEST(WeighingText, CostsOfHereTheCheapestAndTheQuickest) {
  const Held held;
  const auto with_cost = [](WeighedDevice d, double money, double seconds) {
    estimate::HourlyRate rate;
    rate.source = "list";
    rate.date = "2025";
    d.cost = WeighedCost{"offer-" + d.device.id, 8, rate, Money(money), Seconds(seconds)};
    return d;
  };
  const Weighing w = held.weighing(
      {with_cost(shared_gpu(), 3, 60), with_cost(device("a", gib(40), 0.1), 1, 90),
       with_cost(device("b", gib(40), 0.1), 2, 50), with_cost(device("c", gib(4), 0.1), 0.1, 1)});
  std::vector<std::string> told;
  for (const CostLine& line : cost_lines(w)) told.push_back(line.device->device.id + " " + line.what);
  EXPECT_THAT(told, ElementsAre("g40 as here", "a cheapest", "b quickest")) << "c does not fit";
  EXPECT_THAT(weighing_text(w, {}), HasSubstr("$1.00 on a (offer-a / 8), cheapest"));
  EXPECT_THAT(weighing_text(w, {}), HasSubstr("list, 2025"));
}

TEST(WeighingJson, UnknownIsNull) {
  const Held held;
  const WeighedDevice nothing{.device = {.id = "d", .name = "D"}};
  const auto json = to_json(held.weighing({nothing, shared_gpu()}));
  for (const char* key : {"time", "energy", "cost", "measured", "memory", "fits", "in_use"})
    EXPECT_TRUE(json["devices"][0].at(key).is_null()) << key;
  EXPECT_EQ(json["devices"][1]["time"]["seconds"], 0.062);
  EXPECT_EQ(json["devices"][1]["energy"]["joules"], 2);
  EXPECT_EQ(json["devices"][1]["in_use"]["processes"][1]["bytes"], nullptr);
}

TEST(WeighingPage, HasChartsAndPutsFirstWhatFitsAndIsQuick) {
  const Held held;
  WeighedDevice slow = device("slow", gib(40), 0.1), quick = device("quick", gib(40), 0.02),
                small = device("small", gib(4), 0.001), unknown = device("unknown", gib(40), 0.1);
  unknown.time.reset();
  quick.in_full = true;
  quick.memory->by_purpose = {{program::Purpose::weight, gib(2)}, {program::Purpose::saved, gib(3)}};
  quick.memory->at_peak = {{"w1", program::Purpose::weight, gib(2)}};
  const std::string page = weighing_page(held.weighing({unknown, small, slow, quick}));
  const std::string chart = page.substr(page.find("<h2>Time by device</h2>"));
  EXPECT_LT(chart.find(">quick<"), chart.find(">slow<"));
  EXPECT_LT(chart.find(">slow<"), chart.find(">small<")) << "quick, but it does not fit";
  const std::string table = page.substr(page.find("<h2>Devices</h2>"));
  EXPECT_LT(table.find(">slow<"), table.find(">unknown<"));
  EXPECT_LT(table.find(">unknown<"), table.find(">small<"));
  EXPECT_TRUE(page.contains("Memory by part"));
  EXPECT_TRUE(page.contains("class=\"over\"")) << "what does not fit looks so";
  EXPECT_FALSE(page.contains("By its"));
}

TEST(WeighingPage, StandsAloneAndKeepsHostileTextText) {
  const Held held;
  const std::string evil = "</style><script>alert(1)</script><img onerror=x>\x1b[31m\xff";
  WeighedDevice d = shared_gpu();
  d.device.name = d.device.id = evil;
  d.use->users[0].name = evil;
  d.memory->peak_operator = evil;
  d.memory->at_peak = {{evil, program::Purpose::saved, gib(1)}};
  d.notes = {evil};
  Weighing w = held.weighing({d});
  w.inspection.model = w.next = w.work.words = evil;
  const std::string page = weighing_page(w);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const char* bad :
       {"http:", "https:", "src=", "@import", "url(", "href=", "<script", "<img", "\x1b", "\xff"})
    EXPECT_FALSE(page.contains(bad)) << bad;
  EXPECT_TRUE(page.contains("<h2>Floors</h2>"));
  const std::string text = weighing_text(w, {});
  EXPECT_FALSE(text.contains("\x1b"));
}

}  // namespace
}  // namespace plimsoll::report
