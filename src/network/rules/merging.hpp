#pragma once
#include "network/inference.hpp"

namespace plimsoll::network {

/// What is known of a value that is one or the other of two: what they have in common, and for extents that
/// differ an unknown between the smallest and the largest.
[[nodiscard]] Inferred merge(InferenceContext& c, const Inferred& a, const Inferred& b);
/// Likewise for one extent.
[[nodiscard]] Dim merge(InferenceContext& c, Dim a, Dim b);

}  // namespace plimsoll::network
