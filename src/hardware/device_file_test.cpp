#include "hardware/device_file.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::hardware {
namespace {

using testing::HasSubstr;

constexpr std::string_view kStart =
    R"({"version": 1, "id": "own", "name": "Own", "vendor": "Me", "kind": "gpu", "sources": {"sheet":
        {"provenance": "datasheet", "source": "a sheet", "date": "2024"}})";

/// A file that is right up to here, with more keys.
std::string with(std::string_view more) {
  return fmt::format("{}, {}}}", kStart, more);
}

TEST(DeviceFile, ReadsFiguresInBaseUnits) {
  const auto device = parse_device(
      with(
          R"("memory": {"value": 24, "unit": "GiB", "source": "sheet"}, "peak": {"int8": {"value": 4, "unit": "TOP/s",
              "source": "sheet"}}, "compute_capability": "10.3", "year": 2025,
              "board": {"mass": {"value": 150, "unit": "g", "source": "sheet", "bound": "at-most"},
                        "size": {"value": [10, 80, 70], "unit": "mm", "source": "sheet"}, "precisions": ["int8", "fp16"], "core": "Cortex-M7",
                        "updates_in_place": {"value": false, "source": "sheet"},
                        "clock": {"value": 300, "unit": "MHz", "source": "sheet"},
                        "latencies": [{"network": "n", "precision": "int8", "time": {"value": 2, "unit": "ms",
                                       "source": "sheet"}}]})"),
      "own.json");
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ(device->memory, (DeviceFigure{24 * 0x1p30, Provenance::datasheet, "a sheet", "2024"}));
  EXPECT_EQ(capacity(*device), 24 * kGiB);
  EXPECT_EQ(peak_rate(*device, Arithmetic::int8), FlopsPerSecond(4e12));
  EXPECT_EQ(peak_rate(*device, Arithmetic::fp32), std::nullopt) << "absent is unknown";
  EXPECT_EQ(device->compute_capability, (nvml::ComputeCapability{10, 3}));
  ASSERT_TRUE(device->board && device->board->mass && device->board->size);
  EXPECT_DOUBLE_EQ(device->board->mass->value, 0.150);
  EXPECT_EQ(device->board->mass->bound, Bound::at_most);
  EXPECT_DOUBLE_EQ((*device->board->size)[0].value, 0.080) << "the longest side first";
  EXPECT_DOUBLE_EQ((*device->board->size)[2].value, 0.010);
  EXPECT_DOUBLE_EQ(device->board->latencies.at(0).seconds.value, 0.002);
  EXPECT_EQ(device->board->updates_in_place, (Claim{false, Provenance::datasheet, "a sheet", "2024"}));
  EXPECT_DOUBLE_EQ(device->board->clock->value, 300e6);
}

struct Wrong {
  std::string text;
  std::string where;    // part of Error::where
  std::string message;  // part of Error::message
};

TEST(DeviceFile, SaysWhatIsWrongAndWhere) {
  const auto memory = [](std::string_view body) { return with(fmt::format(R"("memory": {{{}}})", body)); };
  const std::vector<Wrong> table = {
      {"", "own.json", "not JSON"},
      {"{", "own.json", "not JSON"},
      {"[]", "own.json", "is not an object"},
      {"null", "own.json", "is not an object"},
      {R"({"version": 2})", "version", "is not 1"},
      {R"({"version": 1})", "id", "is missing"},
      {R"({"version": 1, "id": "Ab", "name": "n", "vendor": "v", "kind": "gpu"})", "id", "lower-case"},
      {R"({"version": 1, "id": "this", "name": "n", "vendor": "v", "kind": "gpu"})", "id", "machine at hand"},
      {R"({"version": 1, "id": "a", "name": "n", "vendor": "v", "kind": "toaster"})", "kind", "not one of"},
      {R"({"version": 1, "id": "a", "name": 3, "vendor": "v", "kind": "gpu"})", "name", "is not text"},
      {R"({"version": 1, "id": "a", "name": "\u001b[2J", "vendor": "v", "kind": "gpu"})", "name",
       "control characters"},
      {with(R"("memoryy": 3)"), "memoryy", "not a known key"},
      {with(R"("id": "other")"), "own.json", "stands twice"},
      {with(R"("memory": 80)"), "memory", "is not an object"},
      {memory(R"("value": 80, "unit": "GB/s", "source": "sheet")"), "memory.unit", "does not fit"},
      {memory(R"("value": 80, "unit": "furlong", "source": "sheet")"), "memory.unit", "does not fit"},
      {memory(R"("value": 80, "source": "sheet")"), "memory.unit", "is missing"},
      {memory(R"("value": -80, "unit": "GB", "source": "sheet")"), "memory.value", "not above zero"},
      {memory(R"("value": 0, "unit": "GB", "source": "sheet")"), "memory.value", "not above zero"},
      {memory(R"("value": "80", "unit": "GB", "source": "sheet")"), "memory.value", "is not a number"},
      {memory(R"("value": NaN, "unit": "GB", "source": "sheet")"), "own.json", "not JSON"},
      {memory(R"("value": 1e999, "unit": "GB", "source": "sheet")"), "own.json", "not JSON"},
      {memory(R"("value": 1e307, "unit": "GB", "source": "sheet")"), "memory.value", "is not a number"},
      {memory(R"("unit": "GB", "source": "sheet")"), "memory.value", "is missing"},
      {memory(R"("value": 80, "unit": "GB", "source": "hearsay")"), "memory.source", "is not declared"},
      {memory(R"("value": 80, "unit": "GB", "source": "sheet", "bound": "at-most")"), "memory.bound",
       "not a known key"},
      {with(R"("peak": {"int8": {"value": 1, "unit": "TFLOP/s", "source": "sheet"}})"), "peak.int8.unit",
       "does not fit"},
      {with(R"("peak": {"fp12": {"value": 1, "unit": "TFLOP/s", "source": "sheet"}})"), "peak.fp12",
       "not a known key"},
      {with(R"("multiprocessors": {"value": 1.5, "unit": "1", "source": "sheet"})"), "multiprocessors.value",
       "whole"},
      {with(R"("compute_capability": "nine")"), "compute_capability", "form"},
      {with(R"("compute_capability": "99999999999.0")"), "compute_capability", "form"},
      {with(R"("year": 20240)"), "year", "whole number"},
      {with(R"("year": 18446744073709551615)"), "year", "whole number"},
      {with(R"("well_known": 1)"), "well_known", "neither"},
      {with(R"("aliases": "a")"), "aliases", "list"},
      {with(R"("aliases": [1])"), "aliases", "is not text"},
      {with(R"("board": {"size": {"value": [1, 2], "unit": "mm", "source": "sheet"}})"), "board.size.value",
       "three"},
      {with(R"("board": {"peak_power": {"value": 5, "unit": "W", "source": "sheet", "bound": "about"}})"),
       "board.peak_power.bound", "not one of"},
      {with(R"("board": {"precisions": ["int9"]})"), "board.precisions", "not one of"},
      {with(R"("board": {"latencies": [{"network": "n", "precision": "int8"}]})"), "board.latencies[0].time",
       "missing"},
      {with(R"("board": {"updates_in_place": {"value": "yes", "source": "sheet"}})"),
       "board.updates_in_place.value", "neither"},
      {with(R"("board": {"updates_in_place": {"value": true, "source": "hearsay"}})"),
       "board.updates_in_place.source", "not declared"},
      {with(R"("board": {"clock": {"value": 300, "unit": "ms", "source": "sheet"}})"), "board.clock.unit",
       "does not fit"},
      {with(R"("x": [[[[[[[[]]]]]]]])"), "own.json", "deeper"},
      {std::string(100'000, '['), "own.json", ""},
      {std::string(5 << 20, ' '), "own.json", "4 MiB"},
  };
  for (const Wrong& wrong : table) {
    const auto device = parse_device(wrong.text, "own.json");
    ASSERT_FALSE(device) << wrong.text;
    EXPECT_THAT(device.error().where, HasSubstr(wrong.where)) << wrong.text.substr(0, 300);
    EXPECT_THAT(device.error().message, HasSubstr(wrong.message)) << wrong.text.substr(0, 300);
    EXPECT_TRUE(device.error().where.starts_with("own.json")) << device.error().where;
    EXPECT_EQ(device.error().kind, Error::Kind::bad_input);
    EXPECT_LT(device.error().text().size(), 500U);
  }
}

TEST(DeviceFile, HintsAtTheNearestKey) {
  const auto device = parse_device(with(R"("memory_bandwith": 3)"), "own.json");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().hint, "Did you mean \"memory_bandwidth\"?");
}

TEST(DeviceFile, LoadsAFileAndRefusesWhatIsNone) {
  const std::filesystem::path folder = testing::TempDir();
  const auto path = folder / "own_device.json";
  std::ofstream(path) << kStart << "}";
  const auto device = load_file(path);
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ(device->id, "own");

  std::ofstream(path) << std::string((4 << 20) + 1, ' ');
  EXPECT_THAT(load_file(path).error().text(), HasSubstr("own_device.json: larger than 4 MiB"));
  EXPECT_FALSE(load_file(folder));
  EXPECT_FALSE(load_file("/dev/zero"));
  EXPECT_THAT(load_file(folder / "absent.json").error().text(), HasSubstr("absent.json: no such file"));
}

}  // namespace
}  // namespace plimsoll::hardware
