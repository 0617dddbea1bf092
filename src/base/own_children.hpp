#pragma once
#include <cstddef>
#include <functional>

#include <sys/types.h>

namespace plimsoll {

// A process can be the reaper of processes that it never started: those of its children whose parents have
// ended. It must wait for them, or they stay as zombies, and must not wait for those that some part of this
// program started and waits for by number. The kernel keeps one list of children for the whole process, so
// this is one list, too.

/// Starts a process by `start`, which gives its number or -1, and notes it as one that is waited for by
/// number.
[[nodiscard]] pid_t start_own_child(const std::function<pid_t()>& start);
/// Whether waiting for it would come back at once.
[[nodiscard]] bool own_child_has_ended(pid_t pid);
/// Waits for its end, and gives its number back; its status, as waitpid says it.
[[nodiscard]] int wait_for_own_child(pid_t pid);

/// Waits for all ended children that are nobody's here; how many there were. Never blocks.
std::size_t reap_strangers();

}  // namespace plimsoll
