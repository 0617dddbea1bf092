#include "calibration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "calibrated_device.hpp"
#include "probe/calibrate.hpp"
#include "progress_line.hpp"
#include "report/calibration.hpp"
#include "report/paragraph.hpp"
#include "store/location.hpp"

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
                                    .extended = task.extended,
                                    .date = task.date,
                                    .nvml = task.nvml};
  request.remarks.insert(request.remarks.end(), task.ceilings.doubts.begin(), task.ceilings.doubts.end());
  if (!task.ceilings.setup.empty()) request.versions.push_back(task.ceilings.setup);
  return request;
}

void print(const CalibrationTask& task, const probe::CalibrationOutcome& outcome,
           const report::TextStyle& style) {
  const hardware::Calibration& calibration = outcome.calibration;
  if (task.json) {
    Json out = {{"file", printable(task.output.string())},
                {"device", printable(task.ceilings.device.id)},
                {"points", calibration.points.size()},
                {"continued", outcome.continued},
                {"failed", outcome.failed},
                {"calibration", report::calibration_json(calibration)}};
    fmt::print("{}\n", out.dump());
    return;
  }
  const std::string file = printable(task.output.string());
  fmt::print("{}\n", to_text(report::class_table(calibration), style));
  const auto say = [&](const std::string& sentence) { fmt::print("{}", report::paragraph(sentence, style)); };
  say(fmt::format("{}: {} operators timed, {} ceilings, in {}", printable(task.ceilings.device.name, 96),
                  calibration.points.size(), calibration.ceilings.size(), file));
  if (outcome.continued > 0)
    say(fmt::format("{} of them were there from an earlier start", outcome.continued));
  for (const std::string& remark : calibration.remarks) say("note: " + printable(remark, 400));
  if (own_calibration_file(task.ceilings.device) == task.output)
    say(fmt::format("Estimates for this machine take it from there; `plimsoll devices {}` shows it.", file));
  else
    say(fmt::format("`plimsoll devices {0}` shows it; `--device {0}` estimates with it.", file));
}

}  // namespace

Result<std::filesystem::path> calibration_file(const std::string& given, const hardware::Device& device) {
  if (given.empty()) {
    const auto own = own_calibration_file(device);
    if (!own)
      return std::unexpected(Error{
          "it is not known where calibrations are kept", {}, "Give -o FILE, or set XDG_DATA_HOME or HOME."});
    PLIMSOLL_TRY(store::make_private_directory(own->parent_path()));
    return *own;
  }
  std::filesystem::path file = given;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return std::unexpected(Error{"there is no such folder", folder.string()});
  return file;
}

Result<int> run_calibration(const CalibrationTask& task, Interruption& interruption,
                            const report::TextStyle& style) {
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
  print(task, **outcome, style);
  return 0;
}

}  // namespace plimsoll
