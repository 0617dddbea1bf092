#pragma once
#include <chrono>
#include <filesystem>
#include <functional>

#include "base/error.hpp"
#include "job/answer.hpp"
#include "job/job.hpp"

namespace plimsoll::measure {

/// How long an engine may take. It says something at least every ten seconds, but for a single pass that
/// takes longer: the silence allowed is that of a very slow one.
struct EngineLimits {
  std::chrono::duration<double> whole{3600};
  std::chrono::duration<double> silence{300};
};

/// What whoever runs an engine wants to hear meanwhile, all in the caller's thread.
struct EngineListener {
  std::function<void(const job::Answer&)> on_answer = {};
  std::function<void()> on_turn = {};      ///< every 20 ms or so
  std::function<bool()> interrupted = {};  ///< true: end the engine
};

enum class EngineEnd : std::uint8_t {
  finished,     ///< its last answer was Done, Unsupported, DoesNotFit or Failure
  interrupted,  ///< because the listener said so
};

/// Runs one job in a fresh process, which is gone, with all its group, when this returns. Fails where the
/// engine crashed, was killed, hung or spoke nonsense. Where the kernel killed it for want of memory, the
/// last answer is DoesNotFit.
[[nodiscard]] Result<EngineEnd> run_engine(const std::filesystem::path& engine, const job::Job& job,
                                           const EngineLimits& limits, const EngineListener& listener);

}  // namespace plimsoll::measure
