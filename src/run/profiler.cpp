#include "run/profiler.hpp"

#include "base/named.hpp"
#include "base/printable.hpp"
#include "base/process.hpp"

namespace plimsoll::running {
namespace {

constexpr std::string_view kProfilerNames[] = {"none", "nsys", "ncu", "torch"};

// Runs the script or module as Python would have, within PyTorch's profiler.
constexpr const char* kTorchDriver = R"(
import runpy, sys, torch
from torch.profiler import ProfilerActivity, profile
trace, kind, name = sys.argv[1:4]
sys.argv = sys.argv[3:]
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
recording = profile(activities=activities)
recording.__enter__()
try:
    if kind == "-m":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        import os
        sys.path[0] = os.path.dirname(os.path.abspath(name))
        runpy.run_path(name, run_name="__main__")
finally:
    recording.__exit__(None, None, None)
    recording.export_chrome_trace(trace)
)";

bool is_python(const std::string& word) {
  return std::filesystem::path(word).filename().string().starts_with("python");
}

}  // namespace

Result<Profiler> parse_profiler(std::string_view name) {
  if (const auto profiler = named<Profiler>(name, kProfilerNames)) return *profiler;
  return fail("there is no profiler '{}': nsys, ncu or torch", printable(name));
}

Status check_profiler(Profiler profiler, const std::vector<std::string>& command) {
  if (profiler == Profiler::nsys || profiler == Profiler::ncu) {
    const std::string_view name = kProfilerNames[static_cast<std::size_t>(profiler)];
    if (auto found = find_program(name); !found) {
      Error error = std::move(found).error();
      error.hint = profiler == Profiler::nsys ? "Install NVIDIA Nsight Systems (nsys)."
                                              : "Install NVIDIA Nsight Compute (ncu).";
      return std::unexpected(std::move(error));
    }
  }
  if (profiler == Profiler::torch) {
    const bool script =
        command.size() > 1 && (!command[1].starts_with('-') || (command[1] == "-m" && command.size() > 2));
    if (command.empty() || !is_python(command[0]) || !script)
      return std::unexpected(Error{"PyTorch's profiler wraps `python SCRIPT …` or `python -m MODULE …`",
                                   {},
                                   "Write the command in one of these forms."});
  }
  return {};
}

std::vector<std::string> profiled(Profiler profiler, const std::vector<std::string>& command,
                                  const std::filesystem::path& artifacts) {
  std::vector<std::string> out;
  auto rest = command.begin();
  switch (profiler) {
    case Profiler::none: return command;
    case Profiler::nsys:
      out = {"nsys", "profile", "--force-overwrite=true", "-o", (artifacts / "nsys").string()};
      break;
    case Profiler::ncu:
      out = {"ncu", "--target-processes", "all", "-f", "-o", (artifacts / "ncu").string()};
      break;
    case Profiler::torch:
      out = {command[0], "-c", kTorchDriver, (artifacts / "torch_trace.json").string()};
      ++rest;
      if (command[1] == "-m")
        ++rest, out.emplace_back("-m");
      else
        out.emplace_back("-f");
      break;
  }
  out.insert(out.end(), rest, command.end());
  return out;
}

}  // namespace plimsoll::running
