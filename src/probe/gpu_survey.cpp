#include "probe/gpu_survey.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "measure/conditions.hpp"
#include "probe/cuda_program.hpp"
#include "probe/cuda_run.hpp"

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

}  // namespace

Result<SurveyedDevice> survey_gpu(const GpuHost& host, std::span<const cuda::Job> jobs,
                                  const Progress& progress, const std::function<bool()>& interrupted) {
  const Result<std::filesystem::path> program = find_cuda_program();
  if (!program && host.library == nullptr)
    return std::unexpected(
        Error{host.no_driver, {}, "The CUDA studies need an NVIDIA driver.", Error::Kind::machine_lacks});
  PLIMSOLL_TRY(program);
  SurveyedDevice out;
  Watch watch(host.library);
  bool found = false;
  std::optional<Error> failure;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const CudaListener listener{.on_device =
                                    [&](const cuda::Device& device) {
                                      watch.begin(device);
                                      out.device = described(device, host);
                                      out.setup = setup_of(device, host);
                                    },
                                .on_progress =
                                    [&](const cuda::Progress& p) {
                                      progress(p.phase,
                                               (static_cast<double>(i) + std::clamp(p.done, 0.0, 1.0)) /
                                                   static_cast<double>(jobs.size()));
                                    },
                                .on_window = {},
                                .on_turn = [&] { watch.look(); },
                                .interrupted = interrupted};
    Result<CudaRun> run = run_cuda(*program, jobs[i], {}, listener);
    if (!run) {
      failure = run.error();
      // Without a GPU the other jobs would say the same.
      if (run.error().kind == Error::Kind::machine_lacks) break;
      out.findings.remarks.push_back(run.error().text());
      continue;
    }
    found = true;
    if (run->failure) out.findings.remarks.push_back(run->failure->text());
    append(out.findings, std::move(run->findings));
    if (run->interrupted) break;
  }
  if (!found) return std::unexpected(failure.value_or(Error{"nothing was asked of the GPU"}));
  out.doubts = watch.doubts();
  return out;
}

}  // namespace plimsoll::probe
