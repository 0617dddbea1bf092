#include "report/memory_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "network/builder.hpp"
#include "report/estimate_table.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using estimate::MemoryEstimate;
using program::Purpose;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Bytes gib(std::int64_t n) {
  return n * kGiB;
}

/// What a report points to: a network of one operator, whose batch nobody gave.
struct Held {
  network::Network network;
  network::Shapes shapes;
  program::Counts counts;
  program::Conventions conventions;

  Held() {
    network::Builder b("m");
    b.opset("", 17);
    b.output(b.add("Relu", "relu",
                   {b.input("x", network::DataType::float32, {b.symbol("batch"), network::Dim::of(3)})}));
    network = std::move(b).finish();
    shapes = network::infer(network, network::bind(network, {}).value()).value();
    counts = program::count(network, shapes, conventions);
  }
  [[nodiscard]] MemoryReport report(MemoryEstimate estimate, std::string model = "m") const {
    hardware::Device device{.id = "d16", .name = "Device 16"};
    network::Setting setting;
    setting.mode = network::Mode::train;
    return {{std::move(model), network, shapes, counts, conventions, {}},
            setting,
            8,
            device,
            std::move(estimate)};
  }
};

/// 4 GiB of weights, 6 of saved activations, 1 of context, and 1 that the allocator cannot fill: 12 of
/// `capacity`; where there is room it takes 13.
MemoryEstimate thirteen(std::optional<Bytes> capacity) {
  MemoryEstimate e;
  e.weights = gib(4);
  e.peak_allocated = gib(10);
  e.low = gib(9);
  e.high = gib(11);
  e.peak_reserved = gib(12);
  e.minimum_reserved = gib(11);
  e.context = gib(1);
  e.capacity = capacity;
  if (capacity) e.fits = e.minimum_device() <= *capacity;
  e.peak_phase = program::Phase::backward;
  e.peak_operator = "Conv 'layer1'";
  e.by_purpose = {{Purpose::saved, gib(6)}, {Purpose::weight, gib(4)}};
  for (int i = 0; i < 60; ++i)
    e.at_peak.push_back({"tensor" + std::to_string(i), Purpose::saved, Bytes(100 - i)});
  return e;
}

std::string line_of(const std::string& text, std::size_t n) {
  std::size_t at = 0;
  for (; n > 0; --n) at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(MemoryText, BeginsWithWhetherItFits) {
  const Held held;
  EXPECT_EQ(line_of(memory_text(held.report(thirteen(gib(16))), {}), 0),
            "m fits on Device 16 (d16): needs 12.0 GiB of 16.0 GiB, 4.00 GiB (25 %) to spare");
  EXPECT_EQ(line_of(memory_text(held.report(thirteen(gib(8))), {}), 0),
            "m does not fit on Device 16 (d16): needs 12.0 GiB of 8.00 GiB, 4.00 GiB (50 %) too much");
  EXPECT_EQ(line_of(memory_text(held.report(thirteen({})), {}), 0),
            "m needs 12.0 GiB on Device 16 (d16), whose memory is not known");
}

TEST(MemoryBar, IsToTheScaleOfTheDevice) {
  // 32 columns for 16 GiB: 2 for each.
  const std::string bar = memory_bar(memory_parts(thirteen(gib(16))), gib(16), {.width = 35});
  EXPECT_EQ(line_of(bar, 0), "  ########============..::        |");
  EXPECT_EQ(line_of(bar, 1), "  0                        16.0 GiB");
  EXPECT_THAT(bar, HasSubstr("  # weights              4.00 GiB   33.3 %\n"));
  EXPECT_THAT(bar, HasSubstr("  : CUDA context         1.00 GiB    8.3 %\n"));
}

TEST(MemoryBar, PassesTheLineOnlyWhereItDoesNotFit) {
  // What it cannot do without is 12 GiB: two thirds of the bar are on the device.
  const std::string over = memory_bar(memory_parts(thirteen(gib(8))), gib(8), {.width = 27});
  EXPECT_EQ(line_of(over, 0), "  ########========|====..::");
  // 13 GiB would be taken, 12 suffice: it fits, and the bar ends at the line.
  const std::string tight = memory_bar(memory_parts(thirteen(gib(12))), gib(12), {.width = 27});
  EXPECT_EQ(line_of(tight, 0), "  ########============..::|");
}

TEST(MemoryBar, WithoutACapacityHasNoLine) {
  EXPECT_THAT(line_of(memory_bar(memory_parts(thirteen({})), {}, {}), 0), Not(HasSubstr("|")));
  EXPECT_EQ(memory_bar({}, {}, {}), "  \n");
}

TEST(MemoryParts, MakeUpTheSmallestCapacity) {
  MemoryEstimate e = thirteen(gib(16));
  const auto sum = [](const MemoryEstimate& of) {
    Bytes all;
    for (const BarPart& part : memory_parts(of)) all += part.bytes;
    return all;
  };
  EXPECT_EQ(sum(e), e.minimum_device());
  // Libraries do without a part of their workspaces where there is no room for them.
  e.by_purpose = {{Purpose::saved, gib(6)}, {Purpose::workspace, gib(4)}, {Purpose::weight, gib(4)}};
  e.peak_allocated = gib(14);
  EXPECT_EQ(sum(e), e.minimum_device());
  double shares = 0;
  for (const auto& part : parts_json(e)) shares += part["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-12);
}

TEST(MemoryText, HeadlineBarAndListSayTheSame) {
  const Held held;
  const std::string text = memory_text(held.report(thirteen(gib(16))), {.width = 200});
  EXPECT_THAT(text, HasSubstr("needs 12.0 GiB of 16.0 GiB"));
  EXPECT_THAT(text,
              HasSubstr("needs at least     12.0 GiB on the device: 11.0 GiB of the allocator's, 1.00 GiB"));
  EXPECT_THAT(text, HasSubstr("with room to spare 13.0 GiB on the device"));
}

TEST(MemoryText, TheLargestBatchHasItsTime) {
  const Held held;
  MemoryReport report = held.report(thirteen(gib(16)));
  report.largest = estimate::LargestBatch{12, gib(15), gib(16), true};
  report.largest_time.emplace().seconds = Seconds(0.024);
  EXPECT_THAT(memory_text(report, {.width = 200}),
              HasSubstr("its time           24.0 ms a step, 500 samples/s\n"));
  EXPECT_EQ(to_json(report)["largest_batch"]["time"]["seconds"], 0.024);
}

TEST(MemoryText, FitsTheTerminalAndColoursOnlyThere) {
  const Held held;
  MemoryReport report = held.report(thirteen(gib(16)));
  report.estimate.at_peak[0].tensor = std::string(300, 'x');
  report.largest = estimate::LargestBatch{12, gib(15), gib(16), true};
  report.remedies = {{"--precision bf16", gib(6), true}, {"no use", gib(13), true}};
  for (const int width : {50, 80, 120}) {
    const std::string text = memory_text(report, {.width = width});
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      EXPECT_LE(display_width(text.substr(at, text.find('\n', at) - at)), static_cast<std::size_t>(width))
          << text;
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
  EXPECT_THAT(memory_text(report, {.color = true}), HasSubstr("\x1b[32mfits"));
}

TEST(MemoryText, SaysTheFiguresTheMeasuresAndTheNotes) {
  const Held held;
  MemoryReport report = held.report(thirteen(gib(8)));
  report.estimate.context_assumed = true;
  report.estimate.unruled = {"Mystery"};
  report.largest = estimate::LargestBatch{0, {}, gib(8), true};
  report.remedies = {
      {"--precision bf16", gib(6), true}, {"--checkpoint", gib(9), false}, {"no use", gib(13), false}};
  report.others = {{4711, "python", gib(3)}, {12, "", {}}};
  const std::string text = memory_text(report, {.width = 200});
  EXPECT_THAT(text, HasSubstr("peak allocated     10.0 GiB; 95 % of runs: 9.00 GiB to 11.0 GiB\n"));
  EXPECT_THAT(text, HasSubstr("peak               in the backward pass, at Conv 'layer1'\n"));
  EXPECT_THAT(text, HasSubstr("largest batch      none: not even a batch of 1 fits into 8.00 GiB\n"));
  EXPECT_THAT(text, HasSubstr("--precision bf16     6.00 GiB     50 %   yes\n"));
  EXPECT_THAT(text, HasSubstr("--checkpoint         9.00 GiB     25 %    NO\n"));
  EXPECT_THAT(text, Not(HasSubstr("no use")));
  EXPECT_THAT(text, HasSubstr("note: batch was not given; 1 is assumed\n"));
  EXPECT_THAT(text, HasSubstr("measured on another GPU"));
  EXPECT_THAT(text, HasSubstr("no memory rule for Mystery"));
  EXPECT_THAT(text, HasSubstr("python (pid 4711) 3.00 GiB, a process"));
  EXPECT_THAT(text, HasSubstr("tensor9"));
  EXPECT_THAT(text, HasSubstr("and 50 more\n"));
}

TEST(MemoryText, NamesOfAModelAreMadePrintable) {
  const Held held;
  MemoryReport report = held.report(thirteen(gib(8)), "\x1b[31mred");
  report.estimate.at_peak[0].tensor = "\x1b]0;title\x07";
  report.estimate.peak_operator = "\xff";
  report.others = {{1, "\x1b[2J", gib(1)}};
  EXPECT_THAT(memory_text(report, {}), Not(HasSubstr("\x1b")));
  EXPECT_NO_THROW((void)to_json(report).dump());
}

estimate::TimeEstimate in_two_milliseconds() {
  estimate::TimeEstimate e;
  e.seconds = Seconds(2e-3);
  e.low = Seconds(1.8e-3);
  e.high = Seconds(2.4e-3);
  e.joules = Joules(0.5);
  e.bottleneck = estimate::Bottleneck::compute;
  e.provenance = Provenance::calibrated;
  return e;
}

TEST(EstimateTable, HasARowForEach) {
  const Held held;
  const MemoryReport fitting = held.report(thirteen(gib(16))), large = held.report(thirteen(gib(8))),
                     unknown = held.report(thirteen({}));
  const estimate::TimeEstimate time = in_two_milliseconds();
  estimate::TimeEstimate without_energy = time;
  without_energy.joules.reset();
  const std::vector<EstimateRow> rows = {{&fitting, &time}, {&large, &without_energy}, {&unknown, nullptr}};
  const std::string table = estimate_table(rows, {});
  EXPECT_EQ(line_of(table, 0),
            "Batch  Device     Needs  Fits         Step       95 %  Samples/s   Energy  Bound by  From");
  EXPECT_EQ(
      line_of(table, 1),
      "    8  d16     12.0 GiB  yes 75 %  2.00 ms  -10 +20 %      4,000   500 mJ  compute   calibrated");
  EXPECT_EQ(
      line_of(table, 2),
      "    8  d16     12.0 GiB  NO 150 %  2.00 ms  -10 +20 %      4,000  unknown  compute   calibrated");
  EXPECT_EQ(line_of(table, 3),
            "    8  d16     12.0 GiB  unknown   unknown               unknown  unknown  unknown");
  const std::string coloured = estimate_table(rows, {.color = true});
  EXPECT_THAT(coloured, HasSubstr("\x1b[32myes\x1b[0m 75 %"));
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mNO\x1b[0m 150 %"));
}

TEST(EstimateTable, LeavesColumnsOutWhereTheTerminalIsNarrow) {
  const Held held;
  const MemoryReport report = held.report(thirteen(gib(16)));
  const estimate::TimeEstimate time = in_two_milliseconds();
  const std::vector<EstimateRow> rows = {{&report, &time}};
  for (const int width : {100, 80, 70, 60}) {
    const std::string table = estimate_table(rows, {.width = width});
    for (const std::size_t line : {0U, 1U})
      EXPECT_LE(display_width(line_of(table, line)), static_cast<std::size_t>(width));
  }
  EXPECT_THAT(estimate_table(rows, {.width = 100}), HasSubstr("95 %"));
  EXPECT_THAT(estimate_table(rows, {.width = 80}), HasSubstr("Left out at 80 columns: 95 %, Bound by;"));
  EXPECT_THAT(estimate_table(rows, {.width = 80}), HasSubstr("calibrated"));
}

TEST(EstimateTable, NeitherHidesALittleNorRoundsTheAnswerAway) {
  const Held held;
  MemoryEstimate tight = thirteen(gib(12));
  tight.minimum_reserved = gib(11) + Bytes(1);
  tight.fits = false;
  const MemoryReport over = held.report(tight), little = held.report(thirteen(gib(4096)));
  const std::vector<EstimateRow> rows = {{&over, nullptr}, {&little, nullptr}};
  EXPECT_THAT(estimate_table(rows, {}), HasSubstr("NO 101 %"));
  EXPECT_THAT(estimate_table(rows, {}), HasSubstr("yes <1 %"));
}

TEST(MemoryJson, IsTheContract) {
  const Held held;
  MemoryReport report = held.report(thirteen(gib(16)));
  report.remedies = {{"half the batch", gib(6), {}}};
  const auto json = to_json(report);
  EXPECT_EQ(json.at("weights_bytes"), gib(4).count());
  EXPECT_EQ(json.at("peak_allocated_bytes"), gib(10).count());
  EXPECT_EQ(json.at("low_bytes"), gib(9).count());
  EXPECT_EQ(json.at("high_bytes"), gib(11).count());
  EXPECT_EQ(json.at("peak_reserved_bytes"), gib(12).count());
  EXPECT_EQ(json.at("device_used_bytes"), gib(13).count());
  EXPECT_EQ(json.at("minimum_reserved_bytes"), gib(11).count());
  EXPECT_EQ(json.at("minimum_device_bytes"), gib(12).count());
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_EQ(json.at("at_peak").size(), 50u);
  EXPECT_EQ(json.at("at_peak").at(0).at("tensor"), "tensor0");
  EXPECT_EQ(json.at("by_purpose").at("weights"), gib(4).count());
  EXPECT_EQ(json.at("peak").at("phase"), "backward");
  EXPECT_TRUE(json.at("largest_batch").is_null());
  EXPECT_TRUE(json.at("remedies").at(0).at("fits").is_null());
  EXPECT_EQ(json.at("notes").size(), 1u);  // the batch

  MemoryEstimate unknown = thirteen({});
  unknown.context.reset();
  const auto without = to_json(held.report(unknown));
  EXPECT_TRUE(without.at("fits").is_null());
  EXPECT_TRUE(without.at("capacity_bytes").is_null());
  EXPECT_TRUE(without.at("context_bytes").is_null());
}

TEST(Wrap, CountsColumnsNotBytesNorColours) {
  EXPECT_EQ(wrap("ab cd ef", 5, ""), "ab cd\nef\n");
  EXPECT_EQ(wrap("äö üß", 5, ""), "äö üß\n");
  EXPECT_EQ(wrap("\x1b[31mab\x1b[0m cd", 5, ""), "\x1b[31mab\x1b[0m cd\n");
  EXPECT_EQ(wrap("muchlonger a", 4, "  "), "  muchlong\n  er\n  a\n") << "no narrower than eight columns";
}

}  // namespace
}  // namespace plimsoll::report
