#pragma once
#include "engine/operators/forms.hpp"

namespace plimsoll::engine {

[[nodiscard]] Result<Kernel> prepare_resize(const Preparation& p);
[[nodiscard]] Result<Kernel> prepare_upsample(const Preparation& p);

}  // namespace plimsoll::engine
