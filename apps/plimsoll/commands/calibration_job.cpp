#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/files.hpp"
#include "command.hpp"
#include "hardware/device_file.hpp"
#include "hardware/this_machine.hpp"
#include "job/job.hpp"
#include "probe/calibrate.hpp"
#include "probe/grid.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll {
namespace {

struct CalibrationJobRequest {
  std::string device = "this", on = "cuda:0", output, journal, date;
  std::size_t from = 0, most = 1'000'000;
};

Result<int> write_calibration_job(const CalibrationJobRequest& request) {
  const Result<hardware::Device> device = hardware::device_named(request.device);
  if (!device) return std::unexpected(device.error());
  const auto kind = request.on == "cpu" ? probe::GridKind::cpu : probe::GridKind::gpu;
  const std::vector<hardware::OperatorCase> grid =
      probe::designed_grid(kind, probe::limits_for(kind, *device));
  job::Job job;
  job.task = job::Task::calibrate;
  job.device = request.on;
  for (std::size_t i = request.from; i < grid.size() && i - request.from < request.most; ++i)
    job.cases.push_back(probe::engine_case(grid[i]));
  PLIMSOLL_TRY(write_file(request.output, job::write(job)));
  fmt::print(stderr, "{} of {} cases\n", job.cases.size(), grid.size());
  return 0;
}

/// The device file that a journal comes to.
Result<int> write_calibration(const CalibrationJobRequest& request) {
  Result<hardware::Device> device = hardware::device_named(request.device);
  if (!device) return std::unexpected(device.error());
  const Result<std::string> text = read_file(request.journal, std::size_t{64} << 20);
  if (!text) return std::unexpected(text.error());
  std::size_t whole = 0;
  Result<probe::Gathered> gathered = probe::read_journal(*text, whole);
  if (!gathered) return std::unexpected(std::move(gathered).error().within(request.journal));
  device->calibration = probe::calibration_of(*gathered, request.date);
  PLIMSOLL_TRY(write_file(request.output, hardware::write_device(*device)));
  return 0;
}

}  // namespace

/// For tests, and for machines where the engine alone can run: the job of a calibration. What the engine
/// answers is the calibration's journal, which `plimsoll probe --calibrate` goes on with.
void add_calibration_job(CommandLine& app, Invocation& invocation) {
  CommandLine* command =
      app.add_subcommand("calibration-job", "Writes a calibration's job for plimsoll-engine")->group("");
  auto request = std::make_shared<CalibrationJobRequest>();
  command->add_option("--device", request->device, "Whose figures bound the cases");
  command->add_option("--on", request->on, "cuda:0 or cpu");
  command->add_option("--from", request->from, "The first case");
  command->add_option("--most", request->most, "So many cases");
  command->add_option("--output,-o", request->output, "File to write")->required();
  command->add_option("--journal", request->journal, "Lines that engines answered: writes the device file");
  command->add_option("--date", request->date, "Of that calibration");
  command->callback([&invocation, request] {
    invocation.run = [request] {
      return request->journal.empty() ? write_calibration_job(*request) : write_calibration(*request);
    };
  });
}

}  // namespace plimsoll
