#include "engine/tasks.hpp"

#include <new>
#include <string>
#include <variant>
#include <vector>

#include <c10/util/Exception.h>

#include "engine/session.hpp"

namespace plimsoll::engine {
namespace {

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// What was asked for, from the library's own words: "Tried to allocate 2.00 GiB" or "you tried to allocate
/// 80 bytes".
std::optional<std::int64_t> asked_bytes(std::string_view message) {
  constexpr std::string_view kBefore = "ried to allocate ";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string rest(message.substr(at + kBefore.size(), 40));
  char* end = nullptr;
  const double number = std::strtod(rest.c_str(), &end);
  if (end == rest.c_str() || number < 0) return std::nullopt;
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr Unit kUnits[] = {
      {" bytes", 1}, {" KiB", 1024}, {" MiB", 1024.0 * 1024}, {" GiB", 1024.0 * 1024 * 1024}};
  for (const Unit& unit : kUnits)
    if (std::string_view(end).starts_with(unit.name)) return static_cast<std::int64_t>(number * unit.bytes);
  return std::nullopt;
}

Outcome tell_full(const Session& session, std::string_view message, const Emit& emit) {
  job::DoesNotFit full;
  full.phase = session.phase;
  full.message = first_line(message);
  full.asked_bytes = asked_bytes(message);
  if (session.device) {
    full.allocated_bytes = session.device->allocated_bytes();
    full.reserved_bytes = session.device->reserved_bytes();
    if (const auto space = session.device->space()) {
      full.free_bytes = space->free;
      full.total_bytes = space->total;
    }
  }
  emit(full);
  return Outcome::does_not_fit;
}

bool means_full(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const std::string_view text = error.what_without_backtrace();
  return text.contains("not enough memory") || text.contains("out of memory") ||
         text.contains("CUBLAS_STATUS_ALLOC_FAILED") || text.contains("CUDNN_STATUS_ALLOC_FAILED");
}

/// Others that are loaded before the session and stay. False where operators cannot be executed: that has
/// been answered.
Result<bool> open_beside(const job::Job& job, std::vector<Session>& beside, PlacedWeights& placed,
                         const Emit& emit) {
  const Emit problems = [&emit](const job::Answer& answer) {
    if (std::holds_alternative<job::Unsupported>(answer)) emit(answer);
  };
  beside.reserve(job.members.size());
  for (const job::Job& member : job.members) {
    beside.push_back({member, {}, {}, {}, "loading"});
    const Result<bool> ready = open_session(beside.back(), placed, problems);
    if (!ready || !*ready) return ready;
  }
  return true;
}

Outcome run_session(Session& session, const Emit& emit) {
  std::vector<Session> beside;
  const bool has_network = session.job.task != job::Task::calibrate && session.job.task != job::Task::join &&
                           session.job.task != job::Task::swap;
  if (has_network) {
    PlacedWeights placed;
    Result<bool> ready = open_beside(session.job, beside, placed, emit);
    if (ready && *ready) ready = open_session(session, placed, emit);
    if (!ready) return tell(ready.error(), emit);
    if (!*ready) return Outcome::bad_input;
  }
  Status done;
  switch (session.job.task) {
    case job::Task::check: break;
    case job::Task::measure: done = measure(session, emit); break;
    case job::Task::compute: done = compute(session, emit); break;
    case job::Task::examine: done = examine(session, emit); break;
    case job::Task::train: done = train(session, emit); break;
    case job::Task::calibrate: done = calibrate(session, emit); break;
    case job::Task::join:
    case job::Task::swap: {
      const Result<bool> possible =
          session.job.task == job::Task::join ? join(session, emit) : swap(session, emit);
      if (possible && !*possible) return Outcome::bad_input;
      if (!possible) done = std::unexpected(possible.error());
      break;
    }
  }
  if (!done) return tell(done.error(), emit);
  emit(job::Done{});
  return Outcome::done;
}

}  // namespace

Outcome tell(const Error& error, const Emit& emit) {
  struct Kind {
    std::string_view name;
    Outcome outcome;
  };
  const Kind kind = error.kind == Error::Kind::bad_input       ? Kind{"bad-input", Outcome::bad_input}
                    : error.kind == Error::Kind::machine_lacks ? Kind{"machine-lacks", Outcome::machine_lacks}
                                                               : Kind{"internal", Outcome::internal};
  emit(job::Failure{
      .message = error.message, .where = error.where, .hint = error.hint, .kind = std::string(kind.name)});
  return kind.outcome;
}

Outcome run(const job::Job& job, const Emit& emit) {
  Session session{.job = job, .shapes = {}, .device = {}, .executor = {}, .phase = "starting"};
  const auto where = [&] { return session.executor ? session.executor->failed_at() : std::string(); };
  try {
    return run_session(session, emit);
  } catch (const c10::Error& error) {
    if (means_full(error)) return tell_full(session, error.what_without_backtrace(), emit);
    return tell({.message = first_line(error.what_without_backtrace()), .where = where()}, emit);
  } catch (const std::bad_alloc&) {
    return tell_full(session, "the machine has not enough memory", emit);
  } catch (const std::exception& error) {
    return tell(
        {.message = first_line(error.what()), .where = where(), .hint = {}, .kind = Error::Kind::internal},
        emit);
  }
}

}  // namespace plimsoll::engine
