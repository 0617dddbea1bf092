#pragma once
#include <memory>
#include <string>

#include "engine/device.hpp"
#include "engine/executor.hpp"
#include "engine/timing.hpp"
#include "engine/weights.hpp"

namespace plimsoll::engine {

/// A network ready to run: its routine made, its weights on the device.
struct Session {
  const job::Job& job;
  network::Shapes shapes;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;
  std::string phase = {};         ///< what is being done, for the answer where memory runs out
  std::string quantized_by = {};  ///< Prepared::quantized_by
};

/// Opens the device, makes the routine, loads; answers hello, prepared or unsupported, context, loaded on the
/// way. Nothing where operators cannot be executed: that has been answered.
[[nodiscard]] Result<bool> open_session(Session& session, const Emit& emit);

/// The same beside others, whose weights are `placed` already.
[[nodiscard]] Result<bool> open_session(Session& session, PlacedWeights& placed, const Emit& emit);

/// A routine for the job's network in another mode that uses the same weights: for testing what is trained.
[[nodiscard]] Result<std::unique_ptr<Executor>> other_mode(const Session& session, network::Mode mode,
                                                           network::Setting& setting);

// The tasks.
[[nodiscard]] Status measure(Session& session, const Emit& emit);
[[nodiscard]] Status compute(Session& session, const Emit& emit);
[[nodiscard]] Status examine(Session& session, const Emit& emit);
[[nodiscard]] Status train(Session& session, const Emit& emit);
/// Several networks at once: opens a session for each. False where operators cannot be executed: that has
/// been answered.
[[nodiscard]] Result<bool> join(Session& whole, const Emit& emit);
[[nodiscard]] Result<bool> swap(Session& whole, const Emit& emit);
/// Needs no session that was opened: a job of single operators has no network.
[[nodiscard]] Status calibrate(Session& session, const Emit& emit);

}  // namespace plimsoll::engine
