#pragma once
#include <span>
#include <string>

#include "plan/choose.hpp"

namespace plimsoll::plan {

/// Marks those that fail no limit and that no other such one dominates: at least as good in time and energy
/// per image and in accuracy, and better in one. A candidate dominates only by what is certain: ranges that
/// overlap do not, and a figure that one lacks and the other has is no loss. What both lack is left aside;
/// two ceilings of energy are compared as they are.
void mark_front(std::span<Candidate> candidates);

/// Why the recommended one, or why none, in a sentence or two.
[[nodiscard]] std::string reason_of(const Choice& choice, const Question& question);

}  // namespace plimsoll::plan
