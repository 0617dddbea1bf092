#include "calibration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "probe/calibrate.hpp"
#include "progress_line.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsInAll = 240;  ///< a guess for the progress line

probe::CalibrationRequest request_for(const CalibrationTask& task) {
  probe::CalibrationRequest request{.engine = task.engine,
                                    .engine_device = task.engine_device,
                                    .device = task.ceilings.device,
                                    .output = task.output,
                                    .ceilings = task.ceilings.ceilings,
                                    .remarks = task.ceilings.findings.remarks,
                                    .date = task.date,
                                    .nvml = task.nvml};
  request.remarks.insert(request.remarks.end(), task.ceilings.doubts.begin(), task.ceilings.doubts.end());
  if (!task.ceilings.setup.empty()) request.versions.push_back(task.ceilings.setup);
  return request;
}

Json fits_json(const hardware::Calibration& calibration) {
  Json out = Json::array();
  for (const hardware::ClassFit& fit : calibration.fits)
    out.push_back({{"class", name(fit.operator_class)},
                   {"direction", name(fit.direction)},
                   {"arithmetic", name(fit.arithmetic)},
                   {"points", fit.points},
                   {"efficiency", fit.efficiency},
                   {"residual", fit.residual},
                   {"residual_90", fit.residual_90}});
  return out;
}

void print(const CalibrationTask& task, const probe::CalibrationOutcome& outcome) {
  const hardware::Calibration& calibration = outcome.calibration;
  if (task.json) {
    Json remarks = Json::array();
    for (const std::string& remark : calibration.remarks) remarks.push_back(printable(remark));
    fmt::print("{}\n", Json{{"file", printable(task.output.string())},
                            {"device", printable(task.ceilings.device.id)},
                            {"date", calibration.date},
                            {"versions", calibration.versions},
                            {"points", calibration.points.size()},
                            {"continued", outcome.continued},
                            {"failed", outcome.failed},
                            {"ceilings", calibration.ceilings.size()},
                            {"fits", fits_json(calibration)},
                            {"remarks", std::move(remarks)}}
                           .dump());
    return;
  }
  const std::string file = printable(task.output.string());
  fmt::print("{}: {} operators timed, {} ceilings, in {}\n", printable(task.ceilings.device.name, 96),
             calibration.points.size(), calibration.ceilings.size(), file);
  if (outcome.continued > 0) fmt::print("{} of them were there from an earlier start\n", outcome.continued);
  for (const std::string& remark : calibration.remarks) fmt::print("note: {}\n", printable(remark, 400));
  fmt::print("`plimsoll devices {0}` shows it; `--device {0}` estimates with it.\n", file);
}

}  // namespace

Result<std::filesystem::path> calibration_file(const std::string& given, const hardware::Device& device) {
  std::filesystem::path file =
      given.empty() ? std::filesystem::path(device.id + ".json") : std::filesystem::path(given);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return std::unexpected(Error{"there is no such folder", folder.string()});
  return file;
}

Result<int> run_calibration(const CalibrationTask& task, Interruption& interruption) {
  std::optional<ProgressLine> line(std::in_place, 1, kSecondsInAll);
  line->begin_row(fmt::format("operators on {}", task.engine_device));
  const Result<std::optional<probe::CalibrationOutcome>> outcome = probe::calibrate(
      request_for(task),
      {.on_progress =
           [&](const probe::CalibrationProgress& p) {
             line->show({fmt::format("{} of {}", p.done, p.of),
                         p.of > 0 ? static_cast<double>(p.done) / static_cast<double>(p.of) : 0,
                         p.seconds_left});
           },
       .interrupted = [&] { return interruption.came(); }});
  line.reset();
  PLIMSOLL_TRY(outcome);
  if (!*outcome) {
    fmt::print(
        stderr,
        "plimsoll: interrupted; what was measured is in {}.partial, and the same command goes on there\n",
        printable(task.output.string()));
    return 128 + interruption.signal();
  }
  print(task, **outcome);
  return 0;
}

}  // namespace plimsoll
