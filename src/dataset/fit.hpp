#pragma once
#include <cstdint>

#include "dataset/dataset.hpp"
#include "network/inference.hpp"
#include "network/setting.hpp"

namespace plimsoll::dataset {

/// What of a network a training uses: the one input, and the output that is learned from.
struct Ends {
  network::TensorId input = network::kNoTensor, output = network::kNoTensor;
  std::int64_t batch = 0;
};

/// Fails where a network cannot learn these examples, and says why in words for the person: more than one
/// input, images of another size or of other channels, more classes than the head tells apart, a batch larger
/// than there are examples. `examples`: how many there are to learn from.
[[nodiscard]] Result<Ends> check_fit(const network::Network& network, const network::Shapes& shapes,
                                     const Dataset& data, network::Loss loss, std::int64_t examples);

}  // namespace plimsoll::dataset
