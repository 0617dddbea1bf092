#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cuda/answer.hpp"
#include "cuda/job.hpp"
#include "probe/study.hpp"

namespace plimsoll::probe {

/// How long plimsoll-cuda may take. It says something at least every few seconds; a single thread that adds
/// a hundred million numbers is the longest that it is silent.
struct CudaLimits {
  std::chrono::duration<double> whole{1800};
  std::chrono::duration<double> silence{180};
  std::chrono::duration<double> leave{10};  ///< between its last answer and its end
};

/// What whoever runs it wants to hear meanwhile, all in the caller's thread.
struct CudaListener {
  std::function<void(const cuda::Device&)> on_device = {};      ///< once, before anything is measured
  std::function<void(const cuda::Progress&)> on_progress = {};  ///< before every figure
  std::function<void(const cuda::Window&)> on_window = {};      ///< of Task::load and Task::share
  std::function<void()> on_turn = {};                           ///< every 20 ms or so
  std::function<bool()> interrupted = {};                       ///< true: end it
};

/// What it found, and how far it came.
struct CudaRun {
  std::optional<cuda::Device> device;
  Findings findings;
  std::optional<cuda::Turns> turns;  ///< of a watcher
  std::optional<Error> failure;      ///< what ended it before its end; what was found until then stands
  bool interrupted = false;          ///< because the listener said so
};

/// Runs one job in a fresh process, which is gone, with all its group, when this returns. Fails where it
/// found nothing at all: it cannot be started, there is no GPU or no driver (machine_lacks), it crashed,
/// hung or spoke nonsense before its first figure.
/// `environment` is added to this process's.
using Environment = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Result<CudaRun> run_cuda(const std::filesystem::path& program, const cuda::Job& job,
                                       const CudaLimits& limits, const CudaListener& listener,
                                       const Environment& environment = {});

}  // namespace plimsoll::probe
