#pragma once
#include <map>
#include <string>
#include <vector>

#include "queue/decide.hpp"

namespace plimsoll::queue {

/// Between users: each job that somebody has running, or that comes before it among his own, lowers a job's
/// rank by one, by six at most. So nobody's hundred jobs hold up another's first, and waiting outweighs it in
/// the end. Pure.
void take_turns(std::vector<WaitingNow>& waiting, const std::vector<RunningNow>& running);

/// Leaves of those that wait as many of each user as may start where `most` of a user run at once, those of
/// the highest rank; tells why the others wait. Pure.
[[nodiscard]] std::map<std::int64_t, std::string> keep_to_limit(std::vector<WaitingNow>& waiting,
                                                                const std::vector<RunningNow>& running,
                                                                std::size_t most);

}  // namespace plimsoll::queue
