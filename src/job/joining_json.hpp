#pragma once
#include "job/fields.hpp"
#include "job/job.hpp"

namespace plimsoll::job {

/// Weights of members that are one set of numbers each, and back: of one shape and type, none in two sets.
[[nodiscard]] Json ties_json(const std::vector<std::vector<MemberWeight>>& ties);
[[nodiscard]] std::vector<std::vector<MemberWeight>> read_ties(const Fields& fields, std::string_view key,
                                                               const std::vector<Job>& members,
                                                               bool parameters_alone);

[[nodiscard]] Json joining_json(const Joining& joining);
/// Checked against the networks of its members.
[[nodiscard]] Joining read_joining(const Fields& fields, const std::vector<Job>& members);

}  // namespace plimsoll::job
