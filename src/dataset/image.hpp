#pragma once
#include <cstdint>
#include <span>

#include "dataset/dataset.hpp"
#include "dataset/random.hpp"
#include "job/learning.hpp"

namespace plimsoll::dataset {

/// Whether examples of this form can be cut, turned and normalised: channels, height, width, and as many
/// values of `mean` and `deviation` as channels.
[[nodiscard]] Status check_augmentation(const Rows& inputs, const job::Augmentation& augmentation);

/// One example as the network takes it: bytes become 0 to 1; then, by the mean and deviation of its channel,
/// normalised. With `random` it is cut and turned as drawn. `out` holds as many numbers as the example.
void fill(std::span<float> out, const Rows& inputs, std::int64_t example,
          const job::Augmentation& augmentation, Random* random);

}  // namespace plimsoll::dataset
