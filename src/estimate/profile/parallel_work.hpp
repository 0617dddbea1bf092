#pragma once
#include "hardware/calibration.hpp"

namespace plimsoll::estimate {

/// What blocks of a class are cut from: with as many times as much of it there are as many times as many
/// blocks. Nothing (0) of kernels whose blocks follow from tiles that libraries choose, shape by shape.
[[nodiscard]] double parallel_work(const hardware::OperatorCase& c);

/// Bytes of the case that no kernel before has left in the cache: weights, what the forward pass kept for the
/// backward one, an optimizer's state. At most work_of(c).bytes.
[[nodiscard]] double cold_bytes(const hardware::OperatorCase& c);

}  // namespace plimsoll::estimate
