#include "hardware/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::hardware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Catalogue& catalogue() {
  static const Catalogue empty = *Catalogue::from({});
  const auto& loaded = built_in_catalogue();
  EXPECT_TRUE(loaded) << loaded.error().text();
  return loaded ? *loaded : empty;
}

const Device& device(std::string_view id) {
  const auto found = catalogue().find(id);
  if (found) return **found;
  ADD_FAILURE() << id << ": " << found.error().text();
  static const Device none{};
  return none;
}

TEST(Catalogue, HoldsEveryDevice) {
  std::vector<std::string> ids;
  for (const Device& d : catalogue().devices()) ids.push_back(d.id);
  EXPECT_THAT(ids, ElementsAre("a10", "a100-40-sxm", "a100-80-sxm", "a30", "b200", "coral-dev-micro",
                               "coral-dev-mini", "coral-usb-rpi3", "cortex-m7-300", "h100-pcie", "h100-sxm",
                               "h200", "jetson-nano", "k80", "l4", "l40s", "mi250x", "mi300x", "ncs2-rpi3",
                               "p100-sxm2", "rtx-3090", "rtx-4090", "rtx-8000", "stm32h747", "stm32mp157",
                               "stm32n6", "t4", "v100-16-sxm2", "v100-32-sxm2"));
}

// FP64, FP32, TF32, FP16, BF16, INT8, FP8 in T/s (0: none), memory GB, GB/s, link GB/s, W, SMs, year: typed
// in again from the table of datasheets that the files were made from, so that a slip in either shows.
struct Row {
  std::string_view id;
  double rates[kArithmetics];
  double memory, bandwidth, link, power, multiprocessors;
  int year;
};
constexpr Row kRows[] = {
    {"k80", {1.45, 4.35, 0, 0, 0, 0, 0}, 12, 240, 0, 150, 13, 2014},
    {"p100-sxm2", {5.3, 10.6, 0, 21.2, 0, 0, 0}, 16, 732, 160, 300, 56, 2016},
    {"v100-16-sxm2", {7.8, 15.7, 0, 125, 0, 0, 0}, 16, 900, 300, 300, 80, 2017},
    {"v100-32-sxm2", {7.8, 15.7, 0, 125, 0, 0, 0}, 32, 900, 300, 300, 80, 2017},
    {"t4", {0.25, 8.1, 0, 65, 0, 130, 0}, 16, 320, 0, 70, 40, 2018},
    {"rtx-8000", {0.5, 16.3, 0, 130, 0, 261, 0}, 48, 672, 100, 260, 72, 2018},
    {"a10", {1, 31.2, 62.5, 125, 125, 250, 0}, 24, 600, 0, 150, 72, 2021},
    {"a30", {5.2, 10.3, 82, 165, 165, 330, 0}, 24, 933, 200, 165, 56, 2021},
    {"a100-40-sxm", {9.7, 19.5, 156, 312, 312, 624, 0}, 40, 1555, 600, 400, 108, 2020},
    {"a100-80-sxm", {9.7, 19.5, 156, 312, 312, 624, 0}, 80, 2039, 600, 400, 108, 2020},
    {"l4", {0.5, 30.3, 60, 121, 121, 242, 242}, 24, 300, 0, 72, 58, 2023},
    {"l40s", {1.4, 91.6, 183, 362, 362, 733, 733}, 48, 864, 0, 350, 142, 2023},
    {"rtx-3090", {0.56, 35.6, 35.6, 71, 71, 284, 0}, 24, 936, 112, 350, 82, 2020},
    {"rtx-4090", {1.3, 82.6, 82.6, 165, 165, 661, 330}, 24, 1008, 0, 450, 128, 2022},
    {"h100-pcie", {25.6, 51.2, 378, 756, 756, 1513, 1513}, 80, 2000, 600, 350, 114, 2022},
    {"h100-sxm", {34, 67, 495, 989, 989, 1979, 1979}, 80, 3350, 900, 700, 132, 2022},
    {"h200", {34, 67, 495, 989, 989, 1979, 1979}, 141, 4800, 900, 700, 132, 2024},
    {"b200", {40, 80, 1125, 2250, 2250, 4500, 4500}, 192, 8000, 1800, 1000, 148, 2024},
    {"mi250x", {23.95, 23.95, 0, 191.5, 191.5, 191.5, 0}, 64, 1638.5, 400, 280, 110, 2021},
    {"mi300x", {81.7, 163.4, 654, 1307, 1307, 2614, 2614}, 192, 5300, 896, 750, 304, 2023},
};

TEST(Catalogue, FiguresAreThoseOfTheTable) {
  const auto value = [](const std::optional<DeviceFigure>& figure) { return figure ? figure->value : 0; };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.id);
    const Device& d = device(row.id);
    for (int i = 0; i < kArithmetics; ++i)
      EXPECT_DOUBLE_EQ(value(d.peak[static_cast<std::size_t>(i)]), row.rates[i] * 1e12)
          << name(static_cast<Arithmetic>(i));
    EXPECT_DOUBLE_EQ(value(d.memory), row.memory * 0x1p30);
    EXPECT_DOUBLE_EQ(value(d.memory_bandwidth), row.bandwidth * 1e9);
    EXPECT_DOUBLE_EQ(value(d.link_bandwidth), row.link * 1e9);
    EXPECT_DOUBLE_EQ(value(d.power), row.power);
    EXPECT_DOUBLE_EQ(value(d.multiprocessors), row.multiprocessors);
    EXPECT_EQ(d.year, row.year);
    EXPECT_EQ(d.kind, DeviceKind::gpu);
  }
}

TEST(Catalogue, ProvenanceSaysWhichFiguresToTrust) {
  EXPECT_EQ(device("b200").peak_of(Arithmetic::fp32)->provenance, Provenance::assumed);
  EXPECT_EQ(device("b200").peak_of(Arithmetic::fp16)->provenance, Provenance::datasheet);
  EXPECT_EQ(device("h200").usable_memory->provenance, Provenance::measured);
  EXPECT_EQ(device("h200").l2_cache->value, 60 * 0x1p20);
  EXPECT_NEAR(*capacity(device("h200")) / kGiB, 139.8, 0.001);
  EXPECT_NEAR(*capacity(device("t4")) / kGiB, 14.56, 0.001);
  for (const Device& d : catalogue().devices())
    for (const auto& peak : d.peak) EXPECT_TRUE(!peak || !peak->source.empty()) << d.id;
}

TEST(Catalogue, MemoryIsWhatSoftwareSees) {
  for (const Device& d : catalogue().devices()) {
    if (d.kind != DeviceKind::gpu) continue;
    SCOPED_TRACE(d.id);
    ASSERT_TRUE(d.memory && d.usable_memory);
    EXPECT_EQ(d.usable_memory->provenance, Provenance::measured);
    // ECC takes a sixteenth of what has no memory of its own for it, the driver and the B200's spare stacks
    // the rest.
    EXPECT_LT(d.usable_memory->value, d.memory->value);
    EXPECT_GT(d.usable_memory->value, 0.9 * d.memory->value);
  }
  EXPECT_NEAR(*capacity(device("a100-80-sxm")) / kGiB, 79.25, 0.001);
  EXPECT_NEAR(*capacity(device("mi250x")) / kGiB, 63.98, 0.01) << "one of the module's two";
}

TEST(Catalogue, EdgeBoardsKeepVerdictsAsBounds) {
  const Device& nano = device("jetson-nano");
  ASSERT_TRUE(nano.board && nano.board->peak_power);
  EXPECT_EQ(nano.board->peak_power->bound, Bound::more_than);
  EXPECT_EQ(nano.board->peak_power->value, 5);
  EXPECT_EQ(nano.board->most_at_once, 16);
  EXPECT_DOUBLE_EQ(nano.peak_of(Arithmetic::fp16)->value, 0.472e12);
  EXPECT_EQ(device("coral-usb-rpi3").board->peak_power->bound, Bound::at_most);
  EXPECT_FALSE(device("coral-dev-micro").board->peak_power) << "nobody's verdict: unknown";
  EXPECT_FALSE(device("coral-dev-mini").board->mass);
  EXPECT_EQ(device("cortex-m7-300").kind, DeviceKind::microcontroller);
  EXPECT_TRUE(device("cortex-m7-300").board->latencies.empty()) << "none was measured; they are derived";
  EXPECT_EQ(device("cortex-m7-300").board->clock->value, 300e6);
  EXPECT_FALSE(nano.board->updates_in_place) << "nobody says";
}

TEST(Catalogue, EdgeLatenciesAreThoseMeasured) {
  const Device& measured = device("stm32h747");
  EXPECT_EQ(measured.board->core, device("cortex-m7-300").board->core);
  EXPECT_EQ(measured.board->clock->value, 400e6);
  const std::pair<const char*, std::vector<double>> table[] = {
      {"stm32h747", {163.8, 485.8, 1641.8}}, {"stm32n6", {2.83, 6.06, 16.94}}, {"stm32mp157", {34.0, 91.4}}};
  for (const auto& [id, milliseconds] : table) {
    const auto& latencies = device(id).board->latencies;
    ASSERT_EQ(latencies.size(), milliseconds.size()) << id;
    for (std::size_t i = 0; i < latencies.size(); ++i) {
      EXPECT_DOUBLE_EQ(latencies[i].seconds.value, milliseconds[i] * 1e-3) << id;
      EXPECT_EQ(latencies[i].seconds.provenance, Provenance::measured);
    }
  }
  for (const char* id : {"coral-dev-mini", "coral-usb-rpi3"}) {
    const Latency& latency = device(id).board->latencies.at(2);
    EXPECT_EQ(latency.network, "mobilenet_v1_1.0");
    EXPECT_DOUBLE_EQ(latency.seconds.value, 4.42 / 400);
    EXPECT_EQ(latency.seconds.bound, Bound::at_most) << "the verdict of a study, no measured time";
  }
}

TEST(Catalogue, FindsByAnyOfItsNames) {
  EXPECT_EQ(device("H200").id, "h200");
  EXPECT_EQ(device(" rtx 4090 ").id, "rtx-4090");
  EXPECT_EQ(device("RTX_3090").id, "rtx-3090");
  EXPECT_EQ(device("NVIDIA A100-SXM4-80GB").id, "a100-80-sxm");
  EXPECT_EQ(device("a100-80gb").id, "a100-80-sxm");
  EXPECT_EQ(device("a100-80").id, "a100-80-sxm") << "the only id that begins so";
  EXPECT_EQ(device("jetson").id, "jetson-nano");
  EXPECT_EQ(device("a10").id, "a10") << "not a beginning of a100: a whole name";
}

TEST(Catalogue, RefusesWhatFitsSeveral) {
  const std::pair<const char*, const char*> table[] = {{"a100", "a100-40-sxm, a100-80-sxm"},
                                                       {"V100", "v100-16-sxm2, v100-32-sxm2"},
                                                       {"h100", "h100-pcie, h100-sxm"},
                                                       {"coral-dev", "coral-dev-micro, coral-dev-mini"}};
  for (const auto& [asked, list] : table) {
    const auto found = catalogue().find(asked);
    ASSERT_FALSE(found) << asked;
    EXPECT_THAT(found.error().message, HasSubstr(list));
    EXPECT_THAT(found.error().message, HasSubstr("fits several"));
  }
}

TEST(Catalogue, SuggestsTheNearest) {
  EXPECT_THAT(catalogue().find("h20").error().hint, StartsWith("Did you mean h200"));
  EXPECT_THAT(catalogue().find("rtx-409").error().hint, HasSubstr("rtx-4090"));
  EXPECT_THAT(catalogue().find("").error().message, HasSubstr("no device is called"));
  EXPECT_THAT(catalogue().find("abacus-of-my-grandmother").error().hint, Not(HasSubstr("Did you mean")));
  EXPECT_LT(catalogue().find(std::string(1'000'000, 'x')).error().message.size(), 200U);
}

TEST(Catalogue, MatchesTheNamesThatDriversReport) {
  const std::pair<const char*, const char*> table[] = {{"NVIDIA H200", "h200"},
                                                       {"Tesla T4", "t4"},
                                                       {"NVIDIA A100-SXM4-40GB", "a100-40-sxm"},
                                                       {"A100-SXM4-40GB", "a100-40-sxm"},
                                                       {"Tesla V100-SXM2-32GB", "v100-32-sxm2"},
                                                       {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                                       {"NVIDIA H100 PCIe", "h100-pcie"},
                                                       {"NVIDIA GeForce RTX 3090", "rtx-3090"},
                                                       {"GeForce RTX 3090", "rtx-3090"}};
  for (const auto& [reported, id] : table) {
    const Device* found = catalogue().reported_as(reported);
    ASSERT_NE(found, nullptr) << reported;
    EXPECT_EQ(found->id, id) << reported;
  }
  for (const char* other : {"NVIDIA A10G", "NVIDIA A100-PCIE-40GB", "NVIDIA H200 MIG 1g.18gb", "", "NVIDIA"})
    EXPECT_EQ(catalogue().reported_as(other), nullptr) << other;
}

TEST(Catalogue, ADozenWellKnownOldestFirst) {
  std::vector<std::string> ids;
  for (const Device* d : catalogue().well_known()) ids.push_back(d->id);
  EXPECT_THAT(ids, ElementsAre("v100-16-sxm2", "t4", "a100-80-sxm", "rtx-3090", "a10", "h100-sxm", "rtx-4090",
                               "l4", "l40s", "mi300x", "b200", "h200"));
}

TEST(Catalogue, RefusesNamesGivenTwice) {
  const auto file = [](std::string_view id, std::string_view more) {
    return fmt::format(R"({{"version": 1, "id": "{}", "name": "n", "vendor": "v", "kind": "gpu"{}}})", id,
                       more);
  };
  const auto error_of = [](std::string_view name_a, const std::string& a, std::string_view name_b,
                           const std::string& b) {
    const EmbeddedFile files[] = {{name_a, a}, {name_b, b}};
    const auto loaded = Catalogue::from(files);
    return loaded ? std::string("none") : loaded.error().text();
  };
  EXPECT_EQ(error_of("a.json", file("a", ""), "b.json", file("b", "")), "none");
  EXPECT_EQ(error_of("a.json", file("a", ""), "b.json", file("b", R"(, "aliases": ["A"])")),
            "b.json: aliases: \"A\" is taken by a");
  EXPECT_EQ(
      error_of("a.json", file("a", R"(, "aliases": ["c"])"), "b.json", file("b", R"(, "aliases": ["c"])")),
      "b.json: aliases: \"c\" is taken by a");
  EXPECT_EQ(error_of("a.json", file("a", R"(, "reported_names": ["C"])"), "b.json",
                     file("b", R"(, "reported_names": ["NVIDIA C"])")),
            "b.json: reported_names: \"NVIDIA C\" is taken by a");
  EXPECT_EQ(error_of("a.json", file("a", R"(, "aliases": ["b"])"), "b-2.json", file("b-2", "")),
            "a.json: aliases: \"b\" could be b-2 as well");
  EXPECT_EQ(error_of("a.json", file("a", ""), "b.json", file("a", "")),
            "b.json: id: \"a\" is not the file's name");
}

}  // namespace
}  // namespace plimsoll::hardware
