#include "queue/turns.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace plimsoll::queue {
namespace {

constexpr std::size_t kMostTurns = 6;

/// Those of the highest rank first, of equal ones those that came first.
std::vector<WaitingNow*> in_order(std::vector<WaitingNow>& waiting) {
  std::vector<WaitingNow*> out;
  out.reserve(waiting.size());
  for (WaitingNow& one : waiting) out.push_back(&one);
  std::ranges::stable_sort(out, std::greater(), &WaitingNow::rank);
  return out;
}

std::map<std::string, std::size_t> running_by_user(const std::vector<RunningNow>& running) {
  std::map<std::string, std::size_t> out;
  for (const RunningNow& one : running) ++out[one.user];
  return out;
}

}  // namespace

void take_turns(std::vector<WaitingNow>& waiting, const std::vector<RunningNow>& running) {
  std::map<std::string, std::size_t> before = running_by_user(running);
  for (WaitingNow* one : in_order(waiting))
    one->rank -= static_cast<double>(std::min(before[one->user]++, kMostTurns));
}

std::map<std::int64_t, std::string> keep_to_limit(std::vector<WaitingNow>& waiting,
                                                  const std::vector<RunningNow>& running, std::size_t most) {
  std::map<std::int64_t, std::string> out;
  if (most == 0) return out;
  std::map<std::string, std::size_t> counted = running_by_user(running);
  for (const WaitingNow* one : in_order(waiting))
    if (++counted[one->user] > most)
      out.emplace(one->number, fmt::format("its user may run {} job{} at once", most, most == 1 ? "" : "s"));
  std::erase_if(waiting, [&](const WaitingNow& one) { return out.contains(one.number); });
  return out;
}

}  // namespace plimsoll::queue
