#pragma once
#include "job/fields.hpp"
#include "job/job.hpp"

namespace plimsoll::job {

[[nodiscard]] Json swapping_json(const Swapping& swapping);
[[nodiscard]] Swapping read_swapping(const Fields& fields, const std::vector<Job>& members);

}  // namespace plimsoll::job
