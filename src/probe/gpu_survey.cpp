#include "probe/gpu_survey.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "measure/conditions.hpp"
#include "probe/gpu_program.hpp"
#include "probe/gpu_run.hpp"
#include "probe/power.hpp"

namespace plimsoll::probe {
namespace {

/// The clocks and the processes of the GPU that the first answer names.
class Watch {
 public:
  explicit Watch(const nvml::Library* library) : conditions_(library) {}

  void begin(const cuda::Device& device) {
    if (known_) return;
    known_ = true;
    job::Hello hello;
    hello.device = "cuda:0";
    hello.gpu_uuid = device.uuid;
    // Ours is not among the GPU's processes, so that those count as others' which were there before.
    hello.process = ::getpid();
    conditions_.greeted(hello);
  }
  void look() {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun_;
    if (known_) conditions_.sample(elapsed.count(), true);
  }
  [[nodiscard]] std::vector<std::string> doubts() {
    measure::Conditions seen = conditions_.finish();
    seen.host.other_cores.reset();  // plimsoll-cuda is one of them
    return measure::doubts(seen, true);
  }

 private:
  measure::ConditionsWatch conditions_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool known_ = false;
};

/// With the figures of the catalogue where it has the GPU.
hardware::Device described(const cuda::Device& told, const GpuHost& host) {
  if (host.machine != nullptr && host.library != nullptr)
    for (std::size_t i = 0; i < host.machine->gpus.size(); ++i)
      if (const auto uuid = host.library->uuid(static_cast<unsigned>(i)); uuid && *uuid == told.uuid)
        return host.machine->gpus[i];
  hardware::Device device;
  device.id = "gpu";
  device.name = printable(told.name, 96);
  device.kind = hardware::DeviceKind::gpu;
  return device;
}

std::string setup_of(const cuda::Device& told, const GpuHost& host) {
  std::string out = fmt::format("CUDA {}, {}", told.runtime, told.library);
  if (host.library != nullptr)
    if (const auto driver = host.library->driver_version()) out += fmt::format(", driver {}", *driver);
  return printable(out, 200);
}

/// One job after the other.
class Surveying {
 public:
  Surveying(const GpuHost& host, std::filesystem::path program, const Progress& progress,
            const std::function<bool()>& interrupted, std::size_t parts)
      : host_(host), program_(std::move(program)), watch_(host.library), parts_(static_cast<double>(parts)) {
    listener_.on_device = [this](const cuda::Device& device) {
      watch_.begin(device);
      out_.device = described(device, host_);
      out_.setup = setup_of(device, host_);
    };
    listener_.on_progress = [this, &progress](const cuda::Progress& p) {
      progress(p.phase, (part_ + std::clamp(p.done, 0.0, 1.0)) / parts_);
    };
    listener_.on_turn = [this] { watch_.look(); };
    listener_.interrupted = [this, &interrupted] { return ended_ = ended_ || interrupted(); };
  }
  Surveying(const Surveying&) = delete;
  Surveying& operator=(const Surveying&) = delete;

  /// Ended by whoever listens, or because there is nothing to run on.
  [[nodiscard]] bool ended() const { return ended_ || lacking_; }

  void run(const cuda::Job& job) {
    if (Result<CudaRun> run = run_cuda(program_, job, {}, listener_)) {
      found_ = true;
      if (run->failure) remark(*run->failure);
      append(out_.findings, std::move(run->findings));
    } else {
      failed(run.error());
    }
    ++part_;
  }
  void run_power(int device) {
    const Result<PowerFindings> power =
        study_power(program_, *host_.library, {.device = device}, {}, listener_);
    if (power) {
      found_ = found_ || !power->loads.empty();
      out_.findings.remarks.insert(out_.findings.remarks.end(), power->remarks.begin(), power->remarks.end());
      out_.ceilings = power_ceilings(*power, host_.date);
    } else {
      failed(power.error());
    }
    ++part_;
  }
  [[nodiscard]] Result<SurveyedDevice> take() && {
    if (!found_) return std::unexpected(failure_.value_or(Error{"nothing was found"}));
    out_.doubts = watch_.doubts();
    return std::move(out_);
  }

 private:
  void remark(const Error& error) {
    out_.findings.remarks.push_back(
        fmt::format("{}{}{}", error.text(), error.hint.empty() ? "" : ". ", error.hint));
  }
  void failed(const Error& error) {
    if (!failure_) failure_ = error;
    // Without a GPU the other jobs would say the same.
    lacking_ = lacking_ || error.kind == Error::Kind::machine_lacks;
    remark(error);
  }

  const GpuHost& host_;
  std::filesystem::path program_;
  Watch watch_;
  CudaListener listener_;
  double part_ = 0, parts_;
  SurveyedDevice out_;
  std::optional<Error> failure_;
  bool found_ = false, lacking_ = false, ended_ = false;
};

}  // namespace

Result<std::filesystem::path> cuda_program_of(const GpuHost& host) {
  Result<std::filesystem::path> program = find_cuda_program();
  if (program || host.library != nullptr) return program;
  return std::unexpected(Error{fmt::format("no NVIDIA driver answers: {}", host.no_driver),
                               {},
                               "The studies of a GPU need its driver and plimsoll-cuda.",
                               Error::Kind::machine_lacks});
}

Result<SurveyedDevice> survey_gpu(const GpuHost& host, const GpuStudies& studies, const Progress& progress,
                                  const std::function<bool()>& interrupted) {
  const Result<std::filesystem::path> program = cuda_program_of(host);
  PLIMSOLL_TRY(program);
  const bool power = studies.power && host.library != nullptr;
  Surveying survey(host, *program, progress, interrupted, studies.jobs.size() + (power ? 1 : 0));
  // Idle power first, while nothing has warmed the GPU up.
  if (power) survey.run_power(studies.jobs.empty() ? 0 : studies.jobs.front().device);
  for (const cuda::Job& job : studies.jobs)
    if (!survey.ended()) survey.run(job);
  return std::move(survey).take();
}

}  // namespace plimsoll::probe
