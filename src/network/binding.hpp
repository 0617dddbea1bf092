#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::network {

/// What a person asks for: "--batch 8 --seq 128 --input x=1x3x224x224 --dim heads=12".
struct BindingRequest {
  std::optional<std::int64_t> batch = {};
  std::optional<std::int64_t> sequence = {};
  std::int64_t context = 0;  ///< tokens before the sequence, of which a decoder has keys and values already
  struct InputShape {
    std::string name;  ///< empty: the only input
    std::vector<std::int64_t> dims;
  };
  std::vector<InputShape> inputs = {};
  struct NamedExtent {
    std::string name;
    std::int64_t value = 0;
  };
  std::vector<NamedExtent> extents = {};
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

/// Tokens of a language model where nobody says how many: the length that `plimsoll zoo` counts for.
inline constexpr std::int64_t kUsualSequence = 128;

/// The most tokens that the network's tables of positions hold, and the smallest table: a stored tensor that
/// is cut to the sequence's length. Nothing where it has none.
struct PositionTable {
  std::string name;
  std::int64_t rows = 0;
};
[[nodiscard]] std::optional<PositionTable> smallest_position_table(const Network& network);

/// Whether a dimension is named as exporters name the batch (batch, batch_size, N, …), or the sequence.
[[nodiscard]] bool names_batch(std::string_view symbol);
[[nodiscard]] bool names_sequence(std::string_view symbol);

/// Whether an input is one image, channels x height x width, without a batch before it.
[[nodiscard]] bool is_one_image(const Network& network, const Tensor& input);

/// Which declared dimension is the batch: the symbol named like one (batch, batch_size, N, …), else the
/// first extent of the inputs. Likewise the sequence. Where the model fixed the batch in its inputs'
/// first extent, the inputs are given anew. Fails where there is no such dimension, naming those there are,
/// and where the sequence is longer than a table of positions. What nobody gave is assumed to be 1, a
/// language model's sequence kUsualSequence.
[[nodiscard]] Result<Binding> bind(const Network& network, const BindingRequest& request);

}  // namespace plimsoll::network
