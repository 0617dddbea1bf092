#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "network/builder.hpp"
#include "quantize/model.hpp"

namespace plimsoll::quantize {

/// A network's main graph written anew, operator by operator.
class Edit {
 public:
  explicit Edit(network::Network network);

  /// The operators as they were.
  [[nodiscard]] const std::vector<network::Operator>& operators() const { return operators_; }
  [[nodiscard]] const network::Network& network() const { return builder_.peek(); }

  /// The operator as it was, with other inputs and outputs.
  void keep(const network::Operator& op, std::span<const network::TensorId> inputs,
            std::span<const network::TensorId> outputs);
  /// Without a name of its own; `output` is made, or else a new tensor of this name.
  network::TensorId add(std::string_view type, const std::string& name,
                        std::initializer_list<network::TensorId> inputs,
                        std::initializer_list<network::AttributeValue> attributes,
                        network::TensorId output = network::kNoTensor);
  network::TensorId tensor(const std::string& name) { return builder_.tensor(name); }
  template <class T>
  network::TensorId store(const std::string& name, network::DataType type, std::span<const std::int64_t> dims,
                          std::span<const T> values, network::Role role) {
    std::vector<network::Dim> extents;
    for (const std::int64_t d : dims) extents.push_back(network::Dim::of(d));
    const network::TensorId id = builder_.weight(name, type, extents, role);
    const auto bytes = std::as_bytes(values);
    contents_[id].assign(bytes.begin(), bytes.end());
    return id;
  }

  /// Without operators that nothing needs, and stored tensors that nobody reads.
  [[nodiscard]] Model finish() &&;

 private:
  network::Builder builder_;
  std::vector<network::Operator> operators_;
  std::map<network::TensorId, std::vector<std::byte>> contents_;
};

/// What the main graph says of tensors: who makes them, how many read them, what stored tensor a Constant,
/// an Identity or a turn (Transpose of two dimensions) hands on.
class Readers {
 public:
  explicit Readers(const network::Network& network);

  [[nodiscard]] const network::Operator* maker(network::TensorId id) const;
  [[nodiscard]] std::uint32_t reads(network::TensorId id) const;
  /// The one operator that reads a tensor which is no output of the graph; null where there are others.
  [[nodiscard]] const network::Operator* only_reader(network::TensorId id) const;
  struct Stored {
    network::TensorId tensor = network::kNoTensor;
    bool turned = false;
  };
  [[nodiscard]] Stored stored(network::TensorId id) const;

 private:
  const network::Network& network_;
  std::vector<const network::Operator*> makers_, readers_;
  std::vector<std::uint32_t> reads_;
};

/// Extents that are all known; empty where one is not.
[[nodiscard]] std::vector<std::int64_t> extents_of(const network::Network& network, network::TensorId id);

}  // namespace plimsoll::quantize
