#pragma once
#include "network/inference.hpp"

namespace plimsoll::network {

// Rules of selection_operators() that change the extents of images by scales or to sizes.
Status resize(InferenceContext& c);
Status upsample(InferenceContext& c);

}  // namespace plimsoll::network
