#pragma once
#include <optional>
#include <string>

#include "queue/request.hpp"
#include "run/session.hpp"

namespace plimsoll::queue {

/// What the queue keeps of a job from one attempt to the next.
struct JobNotes {
  std::optional<Bytes> need = {};  ///< raised to what was seen
  bool alone = false;              ///< it runs alone from now on
  bool apart = false;              ///< it is no client of MPS from now on: its faults end nobody else
  int out_of_memory = 0;           ///< attempts that ended so
  int moves = 0;
  int neighbours = 0;  ///< attempts that ended with a neighbour's fault
  int unstarted = 0;   ///< attempts in a row whose supervisors refused to start the command
  bool saved = false;  ///< it said once that it did
  bool cancelled = false;
  bool moving = false;  ///< it is being saved and stopped, to run elsewhere
  friend bool operator==(const JobNotes&, const JobNotes&) = default;
};
[[nodiscard]] std::string notes_text(const JobNotes& notes);
/// Nothing where the text is none of ours.
[[nodiscard]] std::optional<JobNotes> read_notes(std::string_view text);

/// How an attempt ended, as far as anybody knows.
struct AttemptEnd {
  bool began = true;                         ///< its command was started
  std::string refused = {};                  ///< it was not, for this reason of the job's own
  std::optional<running::Ended> ended = {};  ///< nothing: nobody saw its end
  std::optional<Bytes> seen = {};            ///< the most memory that it was seen to take
  std::optional<Bytes> given = {};           ///< that it was admitted with
  std::optional<Bytes> largest = {};         ///< that a job could have on a GPU here; nothing: nobody knows
  bool gpu_fault = false;                    ///< its last words are of a fault on the GPU
  bool lease_ended = false;                  ///< its supervisor ended it, since nobody renewed its lease
  /// Others of the same MPS daemon fell at the same time, each with such words: one of them was the cause.
  bool others_fell = false;
  bool nobodys_fault = false;  ///< the MPS daemon itself had ended
  bool saved = false;          ///< in this attempt, or in one before
  bool time_was_up = false;    ///< of the allocation that it was in
};

/// What becomes of the job.
struct NextStep {
  bool again = false;
  JobNotes notes = {};
  std::string outcome = {};  ///< where it is over: as a run's, or "unknown"
  std::string reason = {};
};

/// How often out of memory is followed by another attempt.
inline constexpr int kMostOutOfMemory = 2;
/// How often a neighbour's fault is.
inline constexpr int kMostNeighbours = 5;
/// How often a supervisor may refuse to start its command.
inline constexpr int kMostUnstarted = 5;

/// A final end stays one. An attempt that ended by memory, by a move or by a neighbour's fault is none,
/// within limits; one whose end nobody saw is run again only where the job allows that, or has saved.
[[nodiscard]] NextStep next_step(const JobRequest& request, const JobNotes& before, const AttemptEnd& end);

}  // namespace plimsoll::queue
