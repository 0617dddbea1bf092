#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "job/fields.hpp"

namespace plimsoll {

/// What ask_queue() says where nobody listens.
inline constexpr std::string_view kNoQueue = "no queue runs on this machine";

/// Asks the queue's daemon: this user's own, else root's for all users. Says what to do where none runs.
/// `same`: becomes the socket of the one that was asked; where it says one, no other is.
[[nodiscard]] Result<job::Json> ask_queue(const job::Json& message, std::optional<Seconds> patience = {},
                                          std::filesystem::path* same = nullptr);

/// "3", "5-8": numbers of jobs, as people write them.
[[nodiscard]] Result<std::vector<std::int64_t>> job_numbers(const std::vector<std::string>& words);

/// "1.5 s", "3 min", "2 h 10 min".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace plimsoll
