#pragma once
#include <cstdint>
#include <string>

namespace plimsoll::serve::mlflow {

/// A name for a run or a model that came without one, in MLflow's manner: "calm-heron-417". Equal seeds give
/// equal names.
[[nodiscard]] std::string made_up_name(std::uint64_t seed);
/// The same from the system's random numbers.
[[nodiscard]] std::string made_up_name();

}  // namespace plimsoll::serve::mlflow
