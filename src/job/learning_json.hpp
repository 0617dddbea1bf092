#pragma once
#include "job/fields.hpp"
#include "job/learning.hpp"

namespace plimsoll::job {

[[nodiscard]] Json learning_json(const Learning& learning);
[[nodiscard]] Learning read_learning(const Fields& fields);

}  // namespace plimsoll::job
