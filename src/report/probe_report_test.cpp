#include "report/probe_report.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/probe_words.hpp"
#include "report/test_survey.hpp"

namespace plimsoll::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProbeWords, FiguresHaveTheirUnits) {
  EXPECT_EQ(figure_text(4.8e12, "B/s"), "4.80 TB/s");
  EXPECT_EQ(figure_text(1.23e-3, "s"), "1.23 ms");
  EXPECT_EQ(figure_text(8.8e-13, "J/FLOP"), "0.88 pJ/FLOP");
  EXPECT_EQ(figure_text(3e-9, "J/B"), "3.00 nJ/B");
  EXPECT_EQ(percent_text(0.9312), "93.1 %");
  EXPECT_EQ(percent_text(0.00123), "0.12 %");
}

TEST(ProbeReport, PartsOfASumSideBySide) {
  const Table table = vector_add_table(made_up_survey());
  ASSERT_EQ(table.rows.size(), 10u + 5 * 9);
  EXPECT_THAT(table.rows[0], ElementsAre("CPU", "one thread", "1.00 M", "4.00 ms", "–", "800 µs", "–",
                                         "4.80 ms", "15.0 GB/s", "right"));
  EXPECT_THAT(table.rows[10], ElementsAre("GPU, copies", "one thread", "1.00 M", "300 µs", "150 µs", "150 ms",
                                          "75.0 µs", "151 ms", "80.0 MB/s", "right"));
}

TEST(ProbeReport, SumsAreHeldAgainstMemoryInTheSameRun) {
  EXPECT_THAT(
      vector_add_notes(made_up_survey()),
      ElementsAre(
          "Of 100 M elements, all threads of the CPU add at 190 GB/s, 95.0 % of a STREAM triad over "
          "the same arrays in the same run (200 GB/s).",
          "Of 100 M elements, many blocks of the GPU add at 4.04 TB/s, 96.3 % of a copy from device to "
          "device in the same run (4.20 TB/s)."));
}

TEST(ProbeReport, ProductsAgainstTheBest) {
  const Table table = product_table(made_up_survey());
  EXPECT_THAT(table.rows[0], ElementsAre("CPU", "three loops", "256", "59.8 ms", "561 MFLOP/s", "0.02 %",
                                         "128 MiB", "0.25", "right"));
  EXPECT_THAT(table.rows.back(), ElementsAre("GPU", "library", "8192", "25.0 ms", "44.0 TFLOP/s", "86.2 %",
                                             "768 MiB", "1.37e+03", "right"));
}

TEST(ProbeReport, CeilingsWithTheirShareOfThePeak) {
  const Table table = ceiling_table(*made_up_survey().gpu);
  EXPECT_THAT(table.rows, Contains(ElementsAre("product-bf16", "790 TFLOP/s", "2.00 %", "768 MiB",
                                               "989 TFLOP/s", "79.9 %")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("launch-kernel", "2.20 µs", "2.00 %", "–", "–", "–")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("idle-power", "75 W", "–", "–", "–", "–")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("load-power", "690 W", "–", "–", "700 W", "98.6 %")));
  EXPECT_THAT(table.rows, Contains(ElementsAre("energy-product-bf16", "0.885 pJ/FLOP", "–", "–", "–", "–")));
  std::set<std::string> names;
  for (const auto& row : table.rows) EXPECT_TRUE(names.insert(row[0]).second) << row[0];
}

TEST(ProbeReport, CurvesByWorkingSet) {
  const probe::Survey survey = made_up_survey();
  const Table table = curve_table(*survey.cpu, "memory-");
  EXPECT_EQ(table.columns[1].title, "read");
  EXPECT_EQ(table.columns[2].title, "read one thread");
  EXPECT_EQ(table.rows.front()[0], "32.0 KiB");
  EXPECT_EQ(table.rows.back()[0], "1.00 GiB");
  EXPECT_EQ(curve_table(*survey.gpu, "copy-").rows.size(), 10u);
  EXPECT_TRUE(curve_table(*survey.cpu, "copy-").rows.empty());
}

TEST(ProbeReport, WrongResultsAndWhatWasLeftOutAreSaid) {
  probe::Survey survey = made_up_survey();
  survey.cpu->findings.vector_adds[3].right = false;
  const std::string text = survey_text(survey, {});
  EXPECT_THAT(text, HasSubstr("WRONG"));
  EXPECT_THAT(text, HasSubstr("doubtful: python (process 71) was on the GPU, too, 2.00 GiB of its memory\n"));
  EXPECT_THAT(text, HasSubstr("note: product-fp4 was left out: the chip has none\n"));
  EXPECT_THAT(text, HasSubstr("CPU: Made Up CPU (16 threads)\nGPU: Made Up GPU (CUDA 13.0"));
}

TEST(ProbeReport, WithoutAGpuItSaysWhy) {
  probe::Survey survey = made_up_survey();
  survey.gpu.reset();
  survey.no_gpu = Error{"there is no driver", {}, "Install one.", Error::Kind::machine_lacks};
  EXPECT_THAT(survey_text(survey, {}),
              HasSubstr("note: no GPU was studied: there is no driver. Install one.\n"));
  EXPECT_EQ(to_json(survey).at("no_gpu").at("hint"), "Install one.");
  EXPECT_TRUE(to_json(made_up_survey()).at("no_gpu").is_null());
}

TEST(ProbeReport, AStudyAloneHasNoTableOfCeilings) {
  probe::Survey survey = made_up_survey();
  survey.gpu.reset();
  std::erase_if(survey.cpu->findings.rates, [](const probe::Rate& r) { return r.name != "stream-triad"; });
  survey.cpu->findings.products.clear();
  survey.cpu->ceilings.clear();
  complete_ceilings(*survey.cpu, "2026-01-02");
  const std::string text = survey_text(survey, {});
  EXPECT_THAT(text, HasSubstr("Sum of two arrays"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("ceilings")));
}

TEST(ProbeReport, EveryMetricDescribesItself) {
  const nlohmann::ordered_json json = to_json(made_up_survey());
  const auto check = [](const nlohmann::ordered_json& metric) {
    for (const char* key : {"name", "value", "unit", "provenance"})
      EXPECT_TRUE(metric.contains(key)) << metric;
    EXPECT_TRUE(metric.at("value").is_number());
    EXPECT_FALSE(metric.at("unit").get<std::string>().empty());
  };
  for (const char* study : {"vecadd", "matmul"})
    for (const auto& row : json.at(study))
      for (const auto& metric : row.at("metrics")) check(metric);
  for (const auto& row : json.at("ceilings")) check(row);
  const auto& first = json.at("vecadd").at(0);
  EXPECT_EQ(first.at("place"), "cpu");
  EXPECT_EQ(first.at("workers"), "one-thread");
  EXPECT_EQ(first.at("elements"), 1'000'000);
  EXPECT_EQ(first.at("metrics").at(1).at("name"), "kernel");
  EXPECT_EQ(first.at("metrics").at(1).at("unit"), "s");
  EXPECT_EQ(first.at("metrics").at(1).at("samples").size(), 5u);
  EXPECT_EQ(json.at("devices").at(1).at("doubts").size(), 1u);
  EXPECT_EQ(json.at("devices").at(1).at("device"), "gpu");
}

TEST(ProbeReport, OneLinePerFigureAsCsv) {
  const Table csv = survey_csv(made_up_survey());
  EXPECT_THAT(csv.rows,
              Contains(ElementsAre("vecadd", "gpu", "gpu-managed", "many-blocks", "1000000", "elements",
                                   "allocate", "0.0001", "s", ::testing::_, "5", "", "true")));
  EXPECT_THAT(csv.rows, Contains(ElementsAre("ceilings", "gpu", "", "", "", "", "load-power", "690.0", "W",
                                             "0.0", "1", HasSubstr("0.98571"), "")));
  for (const auto& row : csv.rows) ASSERT_EQ(row.size(), csv.columns.size());
}

TEST(ProbeReport, HostileNamesAreHarmless) {
  probe::Survey survey = made_up_survey();
  const std::string evil = "\x1b[31m\xff<b>\n";
  survey.gpu->device.name = survey.gpu->setup = evil;
  survey.gpu->findings.remarks = {evil};
  survey.gpu->doubts = {evil};
  survey.gpu->findings.rates.push_back({evil, evil, 1, {}, {1}, {}});
  survey.gpu->findings.products.front().library = evil;
  survey.gpu->ceilings = ceilings_of(survey.gpu->findings, survey.gpu->device, "", "");
  EXPECT_EQ(survey_text(survey, {}).find('\x1b'), std::string::npos);
  EXPECT_NO_THROW((void)to_json(survey).dump());
  EXPECT_EQ(to_csv(survey_csv(survey)).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
