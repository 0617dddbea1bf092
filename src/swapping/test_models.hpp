#pragma once
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "swapping/policy.hpp"

namespace plimsoll::swapping {

/// Models drawn by a seed: layers of all sizes, some tensors shared among models or used twice in one.
inline Models random_models(Random& random, std::size_t most_models, std::size_t most_layers,
                            std::uint64_t most_bytes) {
  Models out;
  const std::size_t count = 2 + random.below(most_models - 1);
  for (std::size_t i = 0; i < count; ++i) {
    Model model{.name = fmt::format("m{}", i), .layers = {}, .activations = {}};
    const std::size_t layers = 1 + random.below(most_layers);
    for (std::size_t j = 0; j < layers; ++j) {
      Layer layer{.tensors = {}, .seconds = Seconds(1e-3 * static_cast<double>(1 + random.below(9)))};
      if (!out.tensors.empty() && random.below(3) == 0)
        layer.tensors.push_back(random.below(out.tensors.size()));
      else {
        layer.tensors.push_back(out.tensors.size());
        out.tensors.emplace_back(static_cast<std::int64_t>(1 + random.below(most_bytes)));
      }
      model.layers.push_back(std::move(layer));
    }
    out.models.push_back(std::move(model));
  }
  return out;
}

inline std::vector<std::size_t> random_sequence(Random& random, std::size_t models, std::size_t length) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < length; ++i) out.push_back(random.below(models));
  return out;
}

/// As it is once everything up to `at` has run.
inline Outlook outlook_of(std::span<const std::size_t> sequence, std::size_t at, std::size_t models) {
  Outlook out{std::vector<double>(models, std::numeric_limits<double>::infinity()), {}};
  for (std::size_t i = sequence.size(); i-- > at + 1;) out.told[sequence[i]] = static_cast<double>(i);
  out.expected = out.told;
  return out;
}

}  // namespace plimsoll::swapping
