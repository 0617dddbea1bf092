#pragma once
#include <string>

#include "job/fields.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What the queue's daemon answers, for people.
[[nodiscard]] std::string queue_text(const job::Json& answer, const report::TextStyle& style);
[[nodiscard]] std::string queue_job_text(const job::Json& job, const job::Json& decisions,
                                         const report::TextStyle& style);
[[nodiscard]] std::string expected_text(const job::Json& answer, const report::TextStyle& style);

}  // namespace plimsoll
