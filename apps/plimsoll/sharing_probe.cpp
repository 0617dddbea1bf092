#include "sharing_probe.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/sharing_figures_file.hpp"
#include "interruption.hpp"
#include "nvml/library.hpp"
#include "probe/gpu_survey.hpp"
#include "probe/sharing_run.hpp"
#include "progress_line.hpp"
#include "report/paragraph.hpp"
#include "sharing_figures_file.hpp"

namespace plimsoll {
namespace {

using probe::SharingFigure;
using probe::SharingStudy;

constexpr double kExpectedSeconds = 45;  ///< a guess for the progress line

/// A figure that is measured here with small programs. What they find is not quite what networks meet, whose
/// kernels and data are not alike: `beside` takes the built-in figure, which was found with networks on an
/// H200, times what was measured here over what the same programs found there
/// (docs/figures/sharing_probe_h200.json).
struct Meaning {
  std::string_view name;
  double on_h200;
  std::string_view words;
  bool seconds = true;
};
constexpr std::array kMeanings = {
    Meaning{"slice", 2.0908e-3, "a process has the GPU for, while another wants it"},
    Meaning{"change", 1.528e-4, "from one process's turn to the next one's"},
    Meaning{"client_launch", 8.85e-8, "more for each kernel of a client of MPS"},
    Meaning{"crowded_launch", 8.98e-8, "more where another client launches, too"},
    Meaning{"crowding_memory", 0.750, "longer, reading the L2, times the others' share of the bandwidth",
            false},
    Meaning{"crowding_compute", 0.0935, "longer, computing, times the others' share of the bandwidth", false},
};

Result<SharingStudy> measured_sharing(const SharingTask& task, Interruption& interruption) {
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  const auto program = probe::cuda_program_of(
      {.library = nvml ? nvml->get() : nullptr, .no_driver = nvml ? "" : nvml.error().text()});
  PLIMSOLL_TRY(program);
  ProgressLine line(1, kExpectedSeconds);
  line.begin_row("sharing");
  return probe::study_sharing(
      *program, task.device,
      [&](std::string_view what, double done) { line.show({std::string(what), done, {}}); },
      [&] { return interruption.came(); });
}

/// What `beside` takes of it.
double for_beside(const SharingFigure& figure) {
  const double built_in = hardware::sharing_figures_json({}).at(std::string(figure.name)).get<double>();
  const auto meaning = std::ranges::find(kMeanings, figure.name, &Meaning::name);
  constexpr double kMostApart = 10;  // beyond that the programs do not measure the same there
  return meaning == kMeanings.end()
             ? figure.value
             : built_in * std::clamp(figure.value / meaning->on_h200, 1 / kMostApart, kMostApart);
}

/// As the file has it.
nlohmann::ordered_json figures_json(const SharingStudy& study, const std::string& date) {
  nlohmann::ordered_json out = {{"device", printable(study.device.name, 96)}, {"date", date}};
  for (const SharingFigure& figure : study.findings.figures)
    out[std::string(figure.name)] = for_beside(figure);
  return out;
}

nlohmann::ordered_json study_json(const SharingStudy& study, const std::string& date) {
  const nlohmann::ordered_json known = hardware::sharing_figures_json({});
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const SharingFigure& figure : study.findings.figures)
    figures.push_back({{"name", figure.name},
                       {"value", figure.value},
                       {"for_beside", for_beside(figure)},
                       {"built_in", known.at(std::string(figure.name))}});
  nlohmann::ordered_json remarks = nlohmann::ordered_json::array();
  for (const std::string& remark : study.findings.remarks) remarks.push_back(printable(remark, 400));
  return {{"device", printable(study.device.name, 96)},
          {"date", date},
          {"figures", std::move(figures)},
          {"remarks", std::move(remarks)}};
}

std::string study_text(const SharingStudy& study, const report::TextStyle& style) {
  const nlohmann::ordered_json known = hardware::sharing_figures_json({});
  report::Table table{
      .columns =
          {{.title = "Figure", .importance = report::Importance::always},
           {.title = "Measured", .align = report::Align::right, .importance = report::Importance::always},
           {.title = "On an H200", .align = report::Align::right},
           {.title = "For beside", .align = report::Align::right, .importance = report::Importance::telling},
           {.title = "What it is", .wraps = true}},
      .rows = {}};
  const auto said = [](const Meaning& meaning, double value) {
    return meaning.seconds ? text(Seconds(value)) : fmt::format("{:.2f}", value);
  };
  for (const Meaning& meaning : kMeanings) {
    const auto& figures = study.findings.figures;
    const auto found = std::ranges::find(figures, meaning.name, &SharingFigure::name);
    table.rows.push_back(
        {std::string(meaning.name), found == figures.end() ? "–" : said(meaning, found->value),
         said(meaning, meaning.on_h200),
         said(meaning, found == figures.end() ? known.at(std::string(meaning.name)).get<double>()
                                              : for_beside(*found)),
         std::string(meaning.words)});
  }
  std::string out = fmt::format("What sharing costs on {}\n", printable(study.device.name, 96));
  out += report::to_text(table, style);
  for (const std::string& remark : study.findings.remarks)
    out += report::hanging("note: ", printable(remark, 400), style);
  return out;
}

/// Where the figures go: the file that is named, else where `beside` looks for those of this machine.
Result<std::filesystem::path> figures_file(const SharingTask& task, const std::string& device_name) {
  if (!task.output.empty()) return std::filesystem::path(task.output);
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  const hardware::Device* device = catalogue->reported_as(device_name);
  const auto own = device != nullptr ? own_sharing_file(*device) : std::nullopt;
  if (!own)
    return std::unexpected(Error{"no place is known for the figures of this GPU", printable(device_name, 96),
                                 "name a file with -o"});
  std::error_code failed;
  std::filesystem::create_directories(own->parent_path(), failed);
  return *own;
}

Status check_figures_folder(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code failed;
  if (output.empty() || folder.empty() || std::filesystem::is_directory(folder, failed)) return {};
  return std::unexpected(Error{"there is no such folder", folder.string()});
}

}  // namespace

Result<int> probe_sharing(const SharingTask& task, const report::TextStyle& style) {
  PLIMSOLL_TRY(check_figures_folder(task.output));  // before the minute that it takes
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(std::move(*signals));
  const Result<SharingStudy> study = measured_sharing(task, interruption);
  if (interruption.signal() != 0) {
    fmt::print(stderr, "plimsoll: interrupted; plimsoll-cuda and MPS were ended\n");
    return 128 + interruption.signal();
  }
  PLIMSOLL_TRY(study);
  if (task.json)
    fmt::print("{}\n", study_json(*study, task.date).dump());
  else
    fmt::print("{}", study_text(*study, style));
  if (study->findings.figures.empty()) {
    fmt::print(stderr, "plimsoll: nothing of what sharing costs could be measured here\n");
    return 3;
  }
  const auto file = figures_file(task, study->device.name);
  PLIMSOLL_TRY(file);
  PLIMSOLL_TRY(write_file(*file, figures_json(*study, task.date).dump(2) + "\n"));
  fmt::print(stderr, "the figures are in {}; `plimsoll beside` reads them{}\n", printable(file->string()),
             task.output.empty() ? "" : " with --figures");
  return 0;
}

}  // namespace plimsoll
