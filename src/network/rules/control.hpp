#pragma once
#include "network/inference.hpp"

namespace plimsoll::network {

// The rules of control_operators(), by subject.

// rules/loop.cpp
Status loop(InferenceContext& c);

// rules/sequence.cpp: sequences and optionals.
Status sequence_empty(InferenceContext& c);
Status sequence_construct(InferenceContext& c);
Status sequence_insert(InferenceContext& c);
Status sequence_erase(InferenceContext& c);
Status sequence_at(InferenceContext& c);
Status sequence_length(InferenceContext& c);
Status sequence_map(InferenceContext& c);
Status split_to_sequence(InferenceContext& c);
Status concat_from_sequence(InferenceContext& c);
Status optional(InferenceContext& c);
Status optional_has_element(InferenceContext& c);
Status optional_get_element(InferenceContext& c);

/// Body output i after infer_body(); nothing known where there is none.
[[nodiscard]] Inferred body_output(const InferenceContext& c, const Graph& body, std::size_t i);

}  // namespace plimsoll::network
