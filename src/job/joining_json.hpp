#pragma once
#include "job/fields.hpp"
#include "job/job.hpp"

namespace plimsoll::job {

[[nodiscard]] Json joining_json(const Joining& joining);
/// Checked against the networks of its members.
[[nodiscard]] Joining read_joining(const Fields& fields, const std::vector<Job>& members);

}  // namespace plimsoll::job
