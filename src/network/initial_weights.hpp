#pragma once
#include <cstdint>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::network {

/// How a stored tensor begins where nobody has trained it yet.
struct InitialWeight {
  enum class Kind : std::uint8_t {
    other,    ///< of no layer that is known: small normal numbers
    uniform,  ///< from -spread to spread
    normal,   ///< of deviation spread
    constant,
  };
  Kind kind = Kind::other;
  double spread = 0, value = 0;
  friend bool operator==(const InitialWeight&, const InitialWeight&) = default;
};

/// By tensor: as the modules of PyTorch 1.13 to 2.x draw their parameters when they are made. Convolutions
/// and linear layers uniformly up to 1/√fan-in, with their biases (He et al. 2015 with a = √5); embeddings
/// normally; normalisations as ones and zeros; recurrent layers uniformly up to 1/√hidden size. What the
/// operators do not tell (a class token, positions) is normal with deviation 0.02, as vision transformers
/// have it. Layers are known by the operators that read the tensor; what a module does after that
/// (torchvision's own initialisations) is in no graph.
[[nodiscard]] std::vector<InitialWeight> initial_weights(const Network& network);

}  // namespace plimsoll::network
