#include "queue/next_step.hpp"

#include <algorithm>
#include <csignal>

#include "base/text.hpp"

namespace plimsoll::queue {
namespace {

using running::Outcome;

// What an allocator takes beyond what was seen when it failed: a failed request is not in what was seen.
constexpr double kRaise = 1.5;
constexpr Bytes kLeastRaise = kGiB;

NextStep over(JobNotes notes, std::string outcome, std::string reason) {
  return {.again = false, .notes = notes, .outcome = std::move(outcome), .reason = std::move(reason)};
}
NextStep again(JobNotes notes, std::string reason) {
  notes.moving = false;
  return {.again = true, .notes = notes, .outcome = {}, .reason = std::move(reason)};
}

NextStep after_memory(JobNotes notes, const AttemptEnd& end) {
  const std::string outcome(running::name(end.ended->outcome));
  if (notes.out_of_memory >= kMostOutOfMemory)
    return over(notes, outcome,
                fmt::format("out of memory for the {} time: {}",
                            notes.out_of_memory + 1 == 3 ? "third" : "last", end.ended->reason));
  ++notes.out_of_memory;
  const Bytes known =
      std::max({notes.need.value_or(Bytes()), end.given.value_or(Bytes()), end.seen.value_or(Bytes())});
  const auto more = Bytes(static_cast<std::int64_t>(static_cast<double>(known.count()) * kRaise));
  const Bytes raised = std::max(more, known + kLeastRaise);
  // More than there is would wait for ever: it has all of a GPU instead.
  if (end.largest && raised > *end.largest) {
    notes.alone = true;
    return again(notes,
                 fmt::format("it ran out of memory with {}, and no GPU here has {}; it runs again alone",
                             text(known), text(raised)));
  }
  notes.need = raised;
  // The second time nobody is beside it: then what it needs is the whole GPU's to give.
  notes.alone = notes.alone || notes.out_of_memory >= kMostOutOfMemory;
  return again(notes, fmt::format("it ran out of memory with {}; it runs again with {}{}", text(known),
                                  text(*notes.need), notes.alone ? ", alone" : ""));
}

NextStep after_no_start(JobNotes notes, const AttemptEnd& end) {
  if (end.refused.empty()) return again(notes, "its command was never started");
  if (++notes.unstarted >= kMostUnstarted)
    return over(notes, std::string(running::name(Outcome::refused)), end.refused);
  return again(notes, "its command was not started: " + end.refused);
}

NextStep after_unknown(const JobRequest& request, JobNotes notes, const AttemptEnd& end) {
  if (request.rerun || (request.save && end.saved))
    return again(notes, request.rerun ? "nobody saw its end, and it may run again"
                                      : "nobody saw its end; it goes on from what it saved");
  return over(notes, "unknown", "nobody saw its end; --rerun at its submission would have let it run again");
}

}  // namespace

std::string notes_text(const JobNotes& notes) {
  job::Json out = job::Json::object();
  if (notes.need) out["need_bytes"] = notes.need->count();
  if (notes.alone) out["alone"] = true;
  if (notes.apart) out["apart"] = true;
  if (notes.out_of_memory > 0) out["out_of_memory"] = notes.out_of_memory;
  if (notes.moves > 0) out["moves"] = notes.moves;
  if (notes.neighbours > 0) out["neighbours"] = notes.neighbours;
  if (notes.unstarted > 0) out["unstarted"] = notes.unstarted;
  if (notes.saved) out["saved"] = true;
  if (notes.cancelled) out["cancelled"] = true;
  if (notes.moving) out["moving"] = true;
  return job::dump(out);
}

std::optional<JobNotes> read_notes(std::string_view text) {
  if (text.empty()) return JobNotes();
  const auto document = job::parse_within(text, std::size_t{1} << 20, 4);
  if (!document || !document->is_object()) return std::nullopt;
  std::optional<Error> error;
  const job::Fields fields(*document, "notes", error);
  JobNotes out;
  const auto count = [&](std::string_view key) {
    return fields.has(key) ? static_cast<int>(fields.whole(key, 0, 1'000'000)) : 0;
  };
  const auto flag = [&](std::string_view key) { return fields.has(key) && fields.flag(key); };
  if (fields.has("need_bytes")) out.need = Bytes(fields.whole("need_bytes", 1));
  out.alone = flag("alone");
  out.apart = flag("apart");
  out.out_of_memory = count("out_of_memory");
  out.moves = count("moves");
  out.neighbours = count("neighbours");
  out.unstarted = count("unstarted");
  out.saved = flag("saved");
  out.cancelled = flag("cancelled");
  out.moving = flag("moving");
  if (error) return std::nullopt;
  return out;
}

NextStep next_step(const JobRequest& request, const JobNotes& before, const AttemptEnd& end) {
  JobNotes notes = before;
  notes.saved = notes.saved || end.saved;
  if (!end.began && before.cancelled) return over(notes, "cancelled", "before it started");
  if (!end.began) return after_no_start(notes, end);
  notes.unstarted = 0;
  if (!end.ended) {
    if (before.cancelled) return over(notes, "cancelled", "");
    if (before.moving && notes.saved) {
      ++notes.moves;
      return again(notes, "it was moved, and goes on from what it saved");
    }
    return after_unknown(request, notes, end);
  }
  const running::Ended& ended = *end.ended;
  // What ended well has ended, whatever was meant to happen to it.
  if (ended.outcome == Outcome::finished) return over(notes, std::string(running::name(ended.outcome)), "");
  if (before.cancelled) return over(notes, "cancelled", ended.reason);
  if (before.moving && ended.outcome == Outcome::interrupted) {
    ++notes.moves;
    return again(notes, "it was moved, and goes on from what it saved");
  }
  if (end.lease_ended) return after_unknown(request, notes, end);
  // Its scheduler ends all in an allocation at once, whoever watches them.
  const bool was_ended =
      ended.outcome == Outcome::interrupted || ended.signal == SIGTERM || ended.signal == SIGKILL;
  if (end.time_was_up && was_ended) {
    if (request.save && notes.saved)
      return again(notes, "the allocation's time was up; it goes on from what it saved");
    // One that never ends within an allocation's time would run for ever.
    if (request.rerun && notes.moves < request.most_moves) {
      ++notes.moves;
      return again(notes, "the allocation's time was up, and it may run again");
    }
    return over(notes, std::string(running::name(Outcome::interrupted)),
                "the allocation's time was up; --save or --rerun at its submission would have let it go on");
  }
  if (ended.outcome == Outcome::cuda_out_of_memory) return after_memory(notes, end);
  if (end.others_fell && end.gpu_fault && notes.neighbours < kMostNeighbours) {
    ++notes.neighbours;
    if (end.nobodys_fault) return again(notes, "the MPS daemon of its GPU ended, and it with it");
    // Nobody can tell whose fault it was. None of them is a client of MPS again: they take turns on the GPU
    // then, where a fault ends nobody else, and one that comes again is its own.
    notes.apart = true;
    return again(notes,
                 "a fault of a neighbour on the GPU, or its own, ended them all; it runs again without MPS");
  }
  return over(notes, std::string(running::name(ended.outcome)), ended.reason);
}

}  // namespace plimsoll::queue
