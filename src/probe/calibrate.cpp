#include "probe/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/statistics.hpp"
#include "hardware/device_file.hpp"
#include "hardware/operator_curve.hpp"
#include "measure/conditions.hpp"
#include "probe/chains.hpp"
#include "probe/grid.hpp"
#include "probe/journal.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll::probe {
namespace {

using Clock = std::chrono::steady_clock;
using hardware::OperatorCase;

/// Cases per process: a crash costs the start of another one, and what a library leaks does not add up.
constexpr std::size_t kCasesPerProcess = 500;
/// On a host another program that runs for a moment makes points many times too slow, however narrow their
/// spread: a thread that waits for its turn makes all others wait, for a whole slice of the scheduler. Points
/// that stand out are taken again at another time, and the faster counts.
constexpr double kStandsOut = 1.4;
constexpr int kMostRetakes = 2;
constexpr std::size_t kMostRetaken = 4;  // of all cases, one of so many
/// Engines that end without a single point before it is given up.
constexpr int kMostIdleEngines = 3;

/// One engine after the other, until every case has a point or a reason why not.
class Calibrating {
 public:
  Calibrating(const CalibrationRequest& request, const CalibrationListener& listener,
              std::vector<OperatorCase> cases, Journal& journal)
      : request_(request), listener_(listener), cases_(std::move(cases)), journal_(journal) {
    begun_with_ = done();
  }

  /// True when all are there, false where it was interrupted.
  [[nodiscard]] Result<bool> run() {
    for (int idle = 0; idle < kMostIdleEngines;) {
      const std::vector<OperatorCase> chunk = next_chunk();
      if (chunk.empty()) return request_.engine_device == "cpu" ? retake() : true;
      const std::size_t before = done();
      Result<bool> went_on = run_engine(chunk);
      PLIMSOLL_TRY(journal_.sync());
      if (!went_on || !*went_on) return went_on;
      idle = done() == before ? idle + 1 : 0;
    }
    return std::unexpected(
        last_failure_.value_or(Error{"gave no point", "plimsoll-engine", "", Error::Kind::internal}));
  }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] std::size_t begun_with() const { return begun_with_; }

 private:
  [[nodiscard]] std::size_t done() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(cases_, [this](const OperatorCase& c) { return journal_.gathered().has(c); }));
  }
  [[nodiscard]] std::vector<OperatorCase> next_chunk() const {
    std::vector<OperatorCase> chunk;
    for (const OperatorCase& c : cases_)
      if (chunk.size() < kCasesPerProcess && !journal_.gathered().has(c)) chunk.push_back(c);
    return chunk;
  }

  /// False where it was interrupted.
  [[nodiscard]] Result<bool> retake() {
    retaking_ = true;
    for (int round = 0; round < kMostRetakes; ++round) {
      std::vector<hardware::OperatorPoint> points;
      for (const auto& [what, point] : journal_.gathered().points) points.push_back(point);
      std::vector<OperatorCase> slow = hardware::OperatorCurves(points).slower_than_alike(kStandsOut);
      slow.resize(std::min(slow.size(), cases_.size() / kMostRetaken));
      if (slow.empty()) break;
      Result<bool> went_on = run_engine(slow);
      PLIMSOLL_TRY(journal_.sync());
      if (!went_on || !*went_on) return went_on;
    }
    return true;
  }

  /// False where it was interrupted. An engine that crashed is no error: the case it died of is noted.
  [[nodiscard]] Result<bool> run_engine(const std::vector<OperatorCase>& chunk) {
    job::Job job;
    job.task = job::Task::calibrate;
    job.device = request_.engine_device;
    job.execution.threads = request_.threads;
    for (const OperatorCase& c : chunk) job.cases.push_back(engine_case(c));
    for (job::OperatorChain& chain : designed_chains(cases_))
      if (job.device != "cpu" && !journal_.gathered().chains.contains(chain.name))
        job.chains.push_back(std::move(chain));
    measure::ConditionsWatch watch(request_.nvml);
    const auto started = Clock::now();
    greeted_ = false;
    problem_.reset();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - started).count(); };
    const Result<measure::EngineEnd> end = measure::run_engine(
        request_.engine, job, {},
        {.on_answer = [&](const job::Answer& answer) { hear(answer, watch); },
         .on_turn = [&] { watch.sample(elapsed(), greeted_); },
         .interrupted = [&] { return problem_ || (listener_.interrupted && listener_.interrupted()); }});
    if (problem_) return std::unexpected(std::move(*problem_));
    if (end && *end == measure::EngineEnd::interrupted) return false;
    for (const std::string& doubt : measure::doubts(watch.finish(), request_.engine_device != "cpu"))
      if (!is_of_earlier_engine(doubt)) remark(doubt);
    if (!end) return note_crash(chunk, end.error());
    return true;
  }

  void hear(const job::Answer& answer, measure::ConditionsWatch& watch) {
    if (const auto* hello = std::get_if<job::Hello>(&answer)) {
      greeted_ = true;
      engines_.insert(hello->process);
      watch.greeted(*hello);
      check_same_machine(*hello);
    }
    if (const auto* failure = std::get_if<job::Failure>(&answer)) {
      last_failure_ =
          Error{failure->message, failure->where, failure->hint,
                failure->kind == "machine-lacks" ? Error::Kind::machine_lacks : Error::Kind::internal};
      if (!greeted_) problem_ = last_failure_;
    }
    const bool kept =
        std::holds_alternative<job::Hello>(answer) || std::holds_alternative<job::Launch>(answer) ||
        std::holds_alternative<job::ChainTime>(answer) || std::holds_alternative<job::Point>(answer);
    if (!kept || problem_) return;
    if (Status added = journal_.add(answer); !added) problem_ = std::move(added).error();
    if (std::holds_alternative<job::Point>(answer)) tell_progress();
  }

  void check_same_machine(const job::Hello& now) {
    const auto& before = journal_.gathered().hello;
    if (!before) return;
    if (before->device_name != now.device_name)
      problem_ =
          Error{fmt::format("was begun on {}; this is {}", printable(before->device_name, 80),
                            printable(now.device_name, 80)),
                request_.output.string() + ".partial", "Go on there, or remove the file to begin afresh."};
    else if (before->torch != now.torch || before->cuda != now.cuda || before->cudnn != now.cudnn)
      remark("the calibration was continued with other versions of its libraries");
    else if (before->threads != now.threads)
      remark(fmt::format("the calibration was continued with {} threads instead of {}", now.threads,
                         before->threads));
  }

  [[nodiscard]] Result<bool> note_crash(const std::vector<OperatorCase>& chunk, const Error& error) {
    last_failure_ = error;
    if (!greeted_) return std::unexpected(error);  // not the fault of a case
    const auto fatal =
        std::ranges::find_if(chunk, [this](const OperatorCase& c) { return !journal_.gathered().has(c); });
    if (fatal == chunk.end()) return true;
    job::Point point;
    point.what = engine_case(*fatal);
    point.failure = fmt::format("the engine {}", error.message);
    if (Status added = journal_.add(point); !added) return std::unexpected(std::move(added).error());
    tell_progress();
    return true;
  }

  /// The driver lists a process for a while after its end.
  [[nodiscard]] bool is_of_earlier_engine(std::string_view doubt) const {
    return std::ranges::any_of(engines_, [doubt](std::int64_t process) {
      return doubt.contains(fmt::format("(process {})", process));
    });
  }

  /// Every engine may say the same with other figures: the first will do.
  void remark(const std::string& text) {
    std::string kind = text;
    std::erase_if(kind, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (!kinds_.insert(std::move(kind)).second) return;
    remarks_.push_back(text);
    if (listener_.on_remark) listener_.on_remark(text);
  }

  void tell_progress() {
    if (!listener_.on_progress || retaking_) return;
    const std::size_t points = ++told_ + begun_with_;
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    CalibrationProgress progress{std::min(points, cases_.size()), cases_.size(),
                                 journal_.gathered().failures.size()};
    progress.seconds_left =
        seconds / static_cast<double>(told_) * static_cast<double>(cases_.size() - progress.done);
    listener_.on_progress(progress);
  }

  const CalibrationRequest& request_;
  const CalibrationListener& listener_;
  std::vector<OperatorCase> cases_;
  Journal& journal_;
  Clock::time_point started_ = Clock::now();
  std::size_t begun_with_ = 0, told_ = 0;
  std::vector<std::string> remarks_;
  std::set<std::string> kinds_;     // of remarks
  std::set<std::int64_t> engines_;  // that were run so far
  std::optional<Error> problem_, last_failure_;
  bool greeted_ = false, retaking_ = false;
};

std::vector<std::string> versions_of(const job::Hello& hello) {
  std::vector<std::string> versions = {"PyTorch " + hello.torch};
  if (hello.cuda) versions.push_back("CUDA " + *hello.cuda);
  if (hello.cudnn) versions.push_back("cuDNN " + *hello.cudnn);
  if (hello.threads > 0) versions.push_back(fmt::format("{} threads", hello.threads));
  for (std::string& version : versions) version = printable(version, 80);
  return versions;
}

void leave_out(const std::vector<hardware::OperatorPoint>& points, std::vector<OperatorCase>& cases) {
  std::set<OperatorCase> known;
  for (const hardware::OperatorPoint& point : points) known.insert(point.what);
  std::erase_if(cases, [&](const OperatorCase& c) { return known.contains(c); });
}

/// What was measured before stands, with what is new beside it.
void extend(const hardware::Calibration& before, hardware::Calibration& calibration) {
  calibration.remarks.insert(calibration.remarks.begin(),
                             fmt::format("extended on {} by {} points ({})", calibration.date,
                                         calibration.points.size(), fmt::join(calibration.versions, ", ")));
  calibration.date = before.date;
  calibration.points.insert(calibration.points.end(), before.points.begin(), before.points.end());
  std::ranges::sort(calibration.points, {}, &hardware::OperatorPoint::what);
  calibration.fits = hardware::fit_classes(calibration.points);
  calibration.ceilings = before.ceilings;
  calibration.changes = before.changes;
  calibration.eager_launch = before.eager_launch;
  calibration.remarks.insert(calibration.remarks.begin(), before.remarks.begin(), before.remarks.end());
  calibration.versions = before.versions;
}

}  // namespace

hardware::Calibration calibration_of(const Gathered& gathered, std::string date) {
  hardware::Calibration calibration;
  calibration.date = std::move(date);
  if (gathered.hello) calibration.versions = versions_of(*gathered.hello);
  for (const auto& [what, point] : gathered.points) calibration.points.push_back(point);
  if (!gathered.launches.empty())
    calibration.eager_launch = hardware::DeviceFigure{median(gathered.launches), Provenance::measured,
                                                      "host's time per operator", calibration.date};
  calibration.changes = kernel_changes(gathered.chains);
  if (!gathered.failures.empty())
    calibration.remarks.push_back(fmt::format("{} cases have no time", gathered.failures.size()));
  calibration.fits = hardware::fit_classes(calibration.points);
  return calibration;
}

Result<std::optional<CalibrationOutcome>> calibrate(const CalibrationRequest& request,
                                                    const CalibrationListener& listener) {
  const GridKind kind = request.engine_device == "cpu" ? GridKind::cpu : GridKind::gpu;
  std::vector<OperatorCase> cases =
      request.cases.empty() ? designed_grid(kind, limits_for(kind, request.device)) : request.cases;
  if (request.extended) leave_out(request.extended->points, cases);
  std::filesystem::path partial = request.output;
  partial += ".partial";
  Result<Journal> journal = Journal::open(partial);
  if (!journal) return std::unexpected(std::move(journal).error());
  Calibrating calibrating(request, listener, std::move(cases), *journal);
  const Result<bool> complete = calibrating.run();
  if (!complete) return std::unexpected(complete.error());
  if (!*complete) return std::nullopt;

  CalibrationOutcome outcome{calibration_of(journal->gathered(), request.date), calibrating.begun_with(),
                             journal->gathered().failures.size()};
  hardware::Calibration& calibration = outcome.calibration;
  calibration.ceilings = request.ceilings;
  if (request.extended) extend(*request.extended, calibration);
  for (const std::vector<std::string>& more : {request.remarks, calibrating.remarks()})
    calibration.remarks.insert(calibration.remarks.end(), more.begin(), more.end());
  calibration.versions.insert(calibration.versions.end(), request.versions.begin(), request.versions.end());
  hardware::Device device = request.device;
  device.calibration = calibration;
  PLIMSOLL_TRY(write_file(request.output, hardware::write_device(device)));
  std::error_code ignored;  // a journal that stays is read again, and nothing is measured twice
  std::filesystem::remove(partial, ignored);
  return outcome;
}

}  // namespace plimsoll::probe
