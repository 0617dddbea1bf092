#include "store/queue.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::store {
namespace {

constexpr std::array<std::string_view, 5> kQueueStates = {"waiting", "held", "starting", "running", "ended"};

}  // namespace

std::string_view queue_state_name(QueueState state) {
  return kQueueStates.at(static_cast<std::size_t>(state));
}

std::optional<QueueState> parse_queue_state(std::string_view name) {
  const auto* const found = std::ranges::find(kQueueStates, name);
  if (found == kQueueStates.end()) return std::nullopt;
  return static_cast<QueueState>(found - kQueueStates.begin());
}

Result<QueueNumbers> Queue::submit(std::span<const NewQueueJob> jobs, std::string_view token) {
  const QueueSubmission one{jobs, token};
  Result<std::vector<Result<QueueNumbers>>> answers = submit_all({&one, 1});
  if (!answers) return std::unexpected(std::move(answers).error());
  return std::move(answers->front());
}

}  // namespace plimsoll::store
