#pragma once
#include "network/inference.hpp"

namespace plimsoll::network {

// The rules of movement_operators(), by subject.

// rules/reshaping.cpp: the same elements in the same order under another shape.
Status reshape(InferenceContext& c);
Status flatten(InferenceContext& c);
Status squeeze(InferenceContext& c);
Status unsqueeze(InferenceContext& c);

// rules/joining.cpp: tensors made of parts, and parted again.
Status concat(InferenceContext& c);
Status split(InferenceContext& c);

// rules/slicing.cpp
Status slice(InferenceContext& c);

// rules/gathering.cpp: elements chosen by indices or conditions.
Status gather(InferenceContext& c);
Status gather_elements(InferenceContext& c);
Status gather_nd(InferenceContext& c);
Status scatter(InferenceContext& c);
Status compress(InferenceContext& c);
Status one_hot(InferenceContext& c);

}  // namespace plimsoll::network
