#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::network {

/// What a person asks for: "--batch 8 --seq 128 --input x=1x3x224x224 --dim heads=12".
struct BindingRequest {
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> sequence;
  struct InputShape {
    std::string name;  ///< empty: the only input
    std::vector<std::int64_t> dims;
  };
  std::vector<InputShape> inputs;
  struct NamedExtent {
    std::string name;
    std::int64_t value = 0;
  };
  std::vector<NamedExtent> extents;
};

/// A symbol of the Network with the number it stands for.
struct BoundSymbol {
  std::string name;
  std::int64_t value = 0;
  bool assumed = false;  ///< nobody asked for it: Plimsoll assumed the value and must say so
  friend bool operator==(const BoundSymbol&, const BoundSymbol&) = default;
};

/// Numbers for every declared symbol of one Network, and the shapes of inputs that were given anew.
struct Binding {
  std::vector<BoundSymbol> symbols;  ///< one per symbol of the Network, in its order
  struct InputShape {
    TensorId tensor;
    std::vector<std::int64_t> dims;
  };
  std::vector<InputShape> inputs;
};

/// Which declared dimension is the batch: the symbol named like one (batch, batch_size, N, …), else the
/// first extent of the inputs. Likewise the sequence. Where the model fixed the batch in its inputs'
/// first extent, the inputs are given anew. Fails where there is no such dimension, naming those there are.
[[nodiscard]] Result<Binding> bind(const Network& network, const BindingRequest& request);

}  // namespace plimsoll::network
