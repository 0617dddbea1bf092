#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/device.hpp"
#include "engine/executor.hpp"
#include "job/job.hpp"

namespace plimsoll::engine {

/// A weight as it lies on the host before it is brought to the device.
struct HostWeight {
  network::TensorId tensor;
  at::Tensor contents;
};

/// The weights a routine reads: bytes of mapped files (copied once, into place), or drawn with the job's
/// seed. A weight that is nowhere is an error, unless random ones are asked for.
[[nodiscard]] Result<std::vector<HostWeight>> read_weights(const job::Job& job, const Routine& routine,
                                                           const network::Shapes& shapes);

/// What lies on the device already, by its place in a file and the form that it has.
using PlacedWeights = std::map<std::string, at::Tensor>;

/// Brings them to the device in the types of the setting; parameters that are trained ask for gradients. What
/// several weights, of one network or of several, read of one place in a file is there once, but for a
/// network that changes it.
void place_weights(std::vector<HostWeight> weights, const job::Job& job, Executor& executor,
                   PlacedWeights& placed);

/// The parameters that a training changes, in the network's order.
[[nodiscard]] std::vector<at::Tensor> trained_parameters(const job::Job& job, const Executor& executor,
                                                         std::vector<std::string>* names = nullptr);

/// Inputs drawn with the seed: normal numbers, and whole numbers that are valid where they are used as
/// indices. Extents are those of the binding.
using GivenInputs = std::vector<std::pair<network::TensorId, at::Tensor>>;
[[nodiscard]] Result<GivenInputs> random_inputs(const job::Job& job, const network::Shapes& shapes,
                                                at::Device device);

}  // namespace plimsoll::engine
