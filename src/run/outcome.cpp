#include "run/outcome.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/named.hpp"
#include "estimate/memory/oom_message.hpp"

namespace plimsoll::running {
namespace {

// In the order of the enumerators.
constexpr std::string_view kOutcomeNames[] = {"finished",          "failed",     "cuda-out-of-memory",
                                              "killed-for-memory", "time-limit", "epoch-limit",
                                              "interrupted",       "lost",       "refused"};

// In the order of the enumerators.
constexpr std::string_view kStopCauseNames[] = {"time-limit", "epoch-limit", "interrupted", "lease"};

// What frameworks print when the GPU has no memory left, beside PyTorch's own message, which has a parser.
constexpr std::array<std::string_view, 8> kOutOfMemoryMarks = {
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory",
    "OOM when allocating tensor",
};

// What CUDA and frameworks print of a fault, which ends the process's context, and under MPS its neighbours'
// as well: CUDA's words, its names in the two interfaces, and the kernel's.
constexpr std::array<std::string_view, 26> kGpuFaultMarks = {
    "illegal memory access",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "cudaErrorIllegalAddress",
    "device-side assert",
    "CUDA_ERROR_ASSERT",
    "cudaErrorAssert",
    "unspecified launch failure",
    "CUDA_ERROR_LAUNCH_FAILED",
    "cudaErrorLaunchFailure",
    "misaligned address",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "an illegal instruction was encountered",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "uncorrectable ECC error",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "remote procedural call between the MPS server and the MPS client failed",
    "CUDA_ERROR_MPS_RPC_FAILURE",
    "cudaErrorMpsRpcFailure",
    "the MPS client has been terminated by the server",
    "CUDA_ERROR_MPS_CLIENT_TERMINATED",
    "cudaErrorMpsClientTerminated",
    "the MPS server is not ready to accept new MPS client requests",
    "CUDA_ERROR_MPS_SERVER_NOT_READY",
    "NVRM: Xid",
};

bool tells_of_gpu_fault(std::string_view tail) {
  return std::ranges::any_of(kGpuFaultMarks, [&](std::string_view mark) { return tail.contains(mark); });
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (const auto last = line.find_last_not_of(" \t\r"); last != std::string_view::npos)
      lines.push_back(line.substr(0, last + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> out_of_memory_line(std::string_view tail) {
  const std::vector<std::string_view> lines = lines_of(tail);
  for (std::size_t i = lines.size(); i-- > 0;)
    if (std::ranges::any_of(kOutOfMemoryMarks,
                            [&](std::string_view mark) { return lines[i].contains(mark); }))
      return std::string(lines[i]);
  if (estimate::parse_out_of_memory(tail)) return std::string("PyTorch ran out of GPU memory");
  return {};
}

/// The last few lines; programs say last what ended them. Statements for Plimsoll say nothing about it.
std::string last_lines(std::string_view tail) {
  constexpr std::size_t kLines = 5;
  std::vector<std::string_view> lines = lines_of(tail);
  std::erase_if(lines, [](std::string_view line) { return line.starts_with("plimsoll: metric"); });
  std::string out;
  for (std::size_t i = lines.size() - std::min(kLines, lines.size()); i < lines.size(); ++i) {
    if (!out.empty()) out += '\n';
    out += lines[i].substr(0, 500);
  }
  return out;
}

std::string with_lines(const std::string& what, std::string_view tail) {
  const std::string lines = last_lines(tail);
  return lines.empty() ? what : what + "\n" + lines;
}

std::string end_in_words(const Evidence& evidence) {
  if (evidence.signal == 0) return fmt::format("exited with code {}", evidence.exit_code);
  return fmt::format("ended by signal {} ({})", evidence.signal, ::strsignal(evidence.signal));
}

}  // namespace

std::string_view name(Outcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> outcome_named(std::string_view name) {
  return named<Outcome>(name, kOutcomeNames);
}

std::string_view name(StopCause cause) {
  return kStopCauseNames[static_cast<std::size_t>(cause)];
}

std::optional<StopCause> stop_cause_named(std::string_view name) {
  return named<StopCause>(name, kStopCauseNames);
}

store::RunStatus status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished:
    case Outcome::epoch_limit: return store::RunStatus::finished;
    case Outcome::time_limit:
    case Outcome::interrupted: return store::RunStatus::killed;
    default: return store::RunStatus::failed;
  }
}

Ending judge(const Evidence& evidence) {
  const std::string_view tail = evidence.output_tail;
  if (evidence.stopped) {
    switch (*evidence.stopped) {
      case StopCause::time_limit: return {Outcome::time_limit, "reached its time limit"};
      case StopCause::epoch_limit: return {Outcome::epoch_limit, "reached its last epoch"};
      case StopCause::interrupted:
        return {Outcome::interrupted, "was interrupted; " + end_in_words(evidence)};
      case StopCause::lease:
        return {Outcome::interrupted,
                "its lease ran out: the queue no longer said that it may run; " + end_in_words(evidence)};
    }
  }
  if (evidence.signal == 0 && evidence.exit_code == 0) return {Outcome::finished, {}};
  if (const auto line = out_of_memory_line(tail)) return {Outcome::cuda_out_of_memory, *line};
  // A shell or Python in between turns its child's SIGKILL into 137 or 247.
  const bool killed =
      evidence.signal == SIGKILL ||
      (evidence.signal == 0 && (evidence.exit_code == 128 + SIGKILL || evidence.exit_code == 256 - SIGKILL));
  if (killed && evidence.kernel_killed)
    return {Outcome::killed_for_memory,
            "the kernel killed it: the memory of its cgroup, or of the machine, ran out"};
  if (evidence.mps_daemon_ended)
    return {Outcome::failed, with_lines(end_in_words(evidence) + "; the MPS daemon had ended before", tail),
            true};
  if (evidence.signal == SIGINT) return {Outcome::interrupted, with_lines(end_in_words(evidence), tail)};
  return {Outcome::failed, with_lines(end_in_words(evidence), tail), tells_of_gpu_fault(tail)};
}

}  // namespace plimsoll::running
