#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plan/merge/layers.hpp"

namespace plimsoll::plan::merge {

/// What may be shared, and what is counted.
struct Scope {
  bool within = false;  ///< layers of one model with each other, too
  bool heads = false;   ///< heads as well
  /// Convolutions and linear layers without heads alone, and their bytes alone counted: what published tables
  /// of merging do.
  bool as_published = false;
};

/// A layer of one of the models.
struct Place {
  std::size_t model = 0, layer = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Layers of equal definition that may have one set of weights.
struct Group {
  std::string definition = {};
  LayerKind kind = LayerKind::linear;
  Bytes bytes = {};  ///< of one copy
  std::vector<Place> members = {};

  [[nodiscard]] Bytes saves() const { return saves(members.size()); }
  [[nodiscard]] Bytes saves(std::size_t sharing) const {
    return sharing < 2 ? Bytes() : bytes * static_cast<std::int64_t>(sharing - 1);
  }
  friend bool operator==(const Group&, const Group&) = default;
};

/// All groups of two members or more, by what they save, most first. The k-th layer of a definition in one
/// model goes with the k-th in the others; where layers of one model may share, all of a definition are one
/// group.
[[nodiscard]] std::vector<Group> groups(const std::vector<Model>& models, const Scope& scope);

/// The common stem alone: layers from the input on, as long as they are of equal definition; of several
/// models those that still agree. In the order of the layers.
[[nodiscard]] std::vector<Group> stem(const std::vector<Model>& models, const Scope& scope);

/// One tensor of one of the models.
struct TensorPlace {
  std::size_t model = 0, tensor = 0;
  friend auto operator<=>(const TensorPlace&, const TensorPlace&) = default;
};
/// Tensors that are one, two or more of them.
using TensorSet = std::vector<TensorPlace>;
/// Tensors that are one where the groups share, each set once, in the order of its first. Sets are joined
/// where a tensor belongs to two groups.
[[nodiscard]] std::vector<TensorSet> shared_tensors(const std::vector<Model>& models,
                                                    const std::vector<Group>& sharing);

/// Memory before and after.
struct Totals {
  Bytes apart;     ///< every model with its own weights
  Bytes together;  ///< of the union, each tensor once
  [[nodiscard]] Bytes saved() const { return apart - together; }
  [[nodiscard]] double share() const { return apart.count() == 0 ? 0 : saved() / apart; }
};
[[nodiscard]] Totals totals(const std::vector<Model>& models, const std::vector<TensorSet>& sets,
                            const Scope& scope);
[[nodiscard]] Totals totals(const std::vector<Model>& models, const std::vector<Group>& sharing,
                            const Scope& scope);

/// What the heaviest layers hold of a model's counted bytes.
struct Weight {
  std::size_t layers = 0;  ///< how many are counted
  Bytes bytes = {};        ///< of all that is counted
  Bytes heaviest = {};     ///< of the heaviest ones
};
/// `share` of the layers, rounded to the nearest number of them.
[[nodiscard]] Weight heaviest(const Model& model, const Scope& scope, double share);

}  // namespace plimsoll::plan::merge
