// The weights of a checkpoint, given to those of a network.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "huggingface/safetensors.hpp"
#include "network/saturating.hpp"
#include "network/stored.hpp"

namespace plimsoll::huggingface {
namespace {

using job::StoredArray;
using network::DataType;
using network::Network;
using network::StoredAs;
using network::TensorId;

std::string_view without_first_part(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

/// "model.layers.0.mlp.experts.7.w1.weight" -> "model.layers.0": the layer that the expert is of, whatever
/// its module is called there ("mlp", "block_sparse_moe"); empty for what is no expert's.
std::string_view layer_of_expert(std::string_view name) {
  const std::size_t experts = name.rfind(".experts.");
  if (experts == std::string_view::npos || experts == 0) return {};
  const std::size_t module = name.rfind('.', experts - 1);
  return module == std::string_view::npos ? std::string_view() : name.substr(0, module);
}

bool same_values(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  std::erase(a, 1);
  std::erase(b, 1);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

bool is_quantised(DataType type) {
  return network::bits(type) < 16;
}

std::int64_t product_of(std::span<const std::int64_t> extents) {
  std::int64_t n = 1;
  for (const std::int64_t extent : extents) n = network::product(n, extent);
  return n;
}

class Matcher {
 public:
  Matcher(const Checkpoint& checkpoint, Network& network) : checkpoint_(checkpoint), network_(network) {
    for (const auto& [name, array] : checkpoint.weights) {
      shorter_.emplace(without_first_part(name), &name);
      // What else an expert has ("weight_scale_inv") holds none of the network's values.
      if (const std::string_view layer = layer_of_expert(name); !layer.empty() && name.ends_with(".weight")) {
        Experts& of_layer = experts_[layer];
        of_layer.names.push_back(&name);
        of_layer.elements = network::sum(of_layer.elements, product_of(array.dims));
      }
    }
    for (const auto& [layer, experts] : experts_)
      shorter_experts_.emplace(without_first_part(layer), &experts);
  }

  Matches run() {
    std::vector<TensorId> stacked;
    for (const TensorId id : network_.main().weights) {
      if (network_.tensor(id).role != network::Role::parameter) continue;
      if (const std::string* const name = find(network_.name_of(id)); name != nullptr)
        match(id, *name);
      else if (!layer_of_expert(network_.name_of(id)).empty())
        stacked.push_back(id);
      else
        absent_.emplace_back(network_.name_of(id));
    }
    match_experts(stacked);
    network::set_stored(network_, stored_);
    return {.notes = notes(), .unmatched = absent_.size() + other_.size()};
  }

 private:
  struct Experts {
    std::vector<const std::string*> names;
    std::int64_t elements = 0;
  };

  [[nodiscard]] std::vector<std::int64_t> extents(TensorId id) const {
    std::vector<std::int64_t> out;
    for (const network::Dim d : network_.dims_of(network_.tensor(id)))
      out.push_back(d.exact() ? d.value() : 0);
    return out;
  }

  [[nodiscard]] const std::string* find(std::string_view name) const {
    if (const auto same = checkpoint_.weights.find(std::string(name)); same != checkpoint_.weights.end())
      return &same->first;
    if (const std::string_view less = without_first_part(name); !less.empty())
      if (const auto found = checkpoint_.weights.find(std::string(less)); found != checkpoint_.weights.end())
        return &found->first;
    const auto [first, last] = shorter_.equal_range(name);
    return first != last && std::next(first) == last ? first->second : nullptr;  // two are none
  }

  void match(TensorId id, const std::string& name) {
    const StoredArray& array = checkpoint_.weights.at(name);
    if (!same_values(extents(id), array.dims)) {
      other_.push_back(fmt::format("{} [{}] for [{}]", printable(name, 100), fmt::join(array.dims, ", "),
                                   fmt::join(extents(id), ", ")));
      return;
    }
    used_.insert(name);
    add(id, array.type, array.bytes);
  }

  void add(TensorId id, DataType type, std::int64_t bytes) {
    if (type != network_.tensor(id).type)
      stored_.push_back(
          {.tensor = id, .format = network::name(type), .bytes = bytes, .kept = is_quantised(type)});
  }

  /// Of each layer all together, each weight by its share of the values.
  void match_experts(const std::vector<TensorId>& stacked) {
    std::map<std::string_view, std::vector<TensorId>> layers;
    for (const TensorId id : stacked) layers[layer_of_expert(network_.name_of(id))].push_back(id);
    for (const auto& [layer, ids] : layers) {
      const Experts* const found = experts_of(layer);
      std::int64_t elements = 0;
      for (const TensorId id : ids) elements = network::sum(elements, product_of(extents(id)));
      const DataType type = found == nullptr ? DataType::undefined : one_type(*found);
      if (type == DataType::undefined || found->elements != elements) {
        for (const TensorId id : ids) absent_.emplace_back(network_.name_of(id));
        continue;
      }
      for (const std::string* const name : found->names) used_.insert(*name);
      for (const TensorId id : ids)
        add(id, type, network::packed_bytes(type, product_of(extents(id))).value_or(network::kUnbounded));
    }
  }

  [[nodiscard]] const Experts* experts_of(std::string_view layer) const {
    for (const std::string_view name : {layer, without_first_part(layer)})
      if (const auto found = experts_.find(name); found != experts_.end()) return &found->second;
    const auto found = shorter_experts_.find(layer);
    return found == shorter_experts_.end() ? nullptr : found->second;
  }

  [[nodiscard]] DataType one_type(const Experts& experts) const {
    DataType type = DataType::undefined;
    for (const std::string* const name : experts.names) {
      const DataType found = checkpoint_.weights.at(*name).type;
      if (type != DataType::undefined && found != type) return DataType::undefined;
      type = found;
    }
    return type;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    const auto list = [&out](std::span<const std::string> names, std::string_view words) {
      constexpr std::size_t kNamed = 3;
      if (names.empty()) return;
      std::vector<std::string> first;
      for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
        first.push_back(printable(names[i], 200));
      out.push_back(fmt::format("{} {}: {}{}", names.size(), words, fmt::join(first, ", "),
                                names.size() > kNamed ? ", …" : ""));
    };
    list(absent_, "weights are not in the safetensors files, and count as float32");
    list(other_, "weights of the safetensors files have other extents, and count as float32");
    std::vector<std::string> unused;
    std::int64_t bytes = 0;
    for (const auto& [name, array] : checkpoint_.weights) {
      if (used_.contains(name)) continue;
      unused.push_back(name);
      bytes = network::sum(bytes, array.bytes);
    }
    list(unused, fmt::format("tensors of the safetensors files ({}) are not part of the network",
                             text(Bytes(bytes))));
    return out;
  }

  const Checkpoint& checkpoint_;
  Network& network_;
  std::multimap<std::string_view, const std::string*> shorter_;  ///< by name without its first part
  std::map<std::string_view, Experts> experts_;                  ///< by layer
  std::map<std::string_view, const Experts*> shorter_experts_;   ///< by layer without its first part
  std::set<std::string, std::less<>> used_;
  std::vector<std::string> absent_, other_;
  std::vector<StoredAs> stored_;
};

}  // namespace

Matches apply(const Checkpoint& checkpoint, Network& network) {
  return Matcher(checkpoint, network).run();
}

}  // namespace plimsoll::huggingface
