#include "plan/merge/groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace plimsoll::plan::merge {
namespace {

bool counts(const Layer& layer, const Scope& scope) {
  if (scope.as_published)
    return !layer.head && (layer.kind == LayerKind::convolution || layer.kind == LayerKind::linear);
  return scope.heads || !layer.head;
}

std::vector<std::size_t> counted_layers(const Model& model, const Scope& scope) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (counts(model.layers[i], scope)) out.push_back(i);
  return out;
}

Bytes counted_bytes(const Model& model, const Scope& scope) {
  if (!scope.as_published) return model.bytes;
  Bytes out;
  for (const std::size_t i : counted_layers(model, scope)) out += model.layers[i].bytes;
  return out;
}

Group group_of(const std::vector<Model>& models, std::vector<Place> members) {
  const Layer& first = models[members.front().model].layers[members.front().layer];
  return {first.definition, first.kind, first.bytes, std::move(members)};
}

/// Union-find over the tensors of all models.
class Tensors {
 public:
  explicit Tensors(const std::vector<Model>& models) {
    std::size_t all = 0;
    for (const Model& model : models) {
      first_.push_back(all);
      all += model.tensors.size();
    }
    parent_.resize(all);
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  [[nodiscard]] std::size_t number(TensorPlace place) const { return first_[place.model] + place.tensor; }
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> first_, parent_;
};

}  // namespace

std::vector<Group> groups(const std::vector<Model>& models, const Scope& scope) {
  std::map<std::pair<std::string_view, std::size_t>, std::vector<Place>> sets;
  for (std::size_t m = 0; m < models.size(); ++m) {
    std::map<std::string_view, std::size_t> met;
    for (const std::size_t i : counted_layers(models[m], scope)) {
      const std::string_view definition = models[m].layers[i].definition;
      sets[{definition, scope.within ? 0 : met[definition]++}].push_back({m, i});
    }
  }
  std::vector<Group> out;
  for (auto& [key, members] : sets)
    if (members.size() > 1) out.push_back(group_of(models, std::move(members)));
  std::ranges::sort(out, [](const Group& a, const Group& b) {
    if (a.saves() != b.saves()) return a.saves() > b.saves();
    const Place &first = a.members.front(), &other = b.members.front();
    return std::pair(first.model, first.layer) < std::pair(other.model, other.layer);
  });
  return out;
}

std::vector<Group> stem(const std::vector<Model>& models, const Scope& scope) {
  std::vector<std::vector<std::size_t>> layers;
  for (const Model& model : models) layers.push_back(counted_layers(model, scope));
  std::vector<Group> out;
  std::vector<std::size_t> all(models.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> agreeing = {std::move(all)};
  for (std::size_t depth = 0; !agreeing.empty(); ++depth) {
    std::vector<std::vector<std::size_t>> next;
    for (const std::vector<std::size_t>& set : agreeing) {
      std::map<std::string_view, std::vector<std::size_t>> by_definition;
      for (const std::size_t m : set)
        if (depth < layers[m].size())
          by_definition[models[m].layers[layers[m][depth]].definition].push_back(m);
      for (auto& [definition, same] : by_definition) {
        if (same.size() < 2) continue;
        std::vector<Place> members;
        for (const std::size_t m : same) members.push_back({m, layers[m][depth]});
        out.push_back(group_of(models, std::move(members)));
        next.push_back(std::move(same));
      }
    }
    agreeing = std::move(next);
  }
  return out;
}

std::vector<TensorSet> shared_tensors(const std::vector<Model>& models, const std::vector<Group>& sharing) {
  Tensors tensors(models);
  for (const Group& group : sharing) {
    const Place& first = group.members.front();
    const std::vector<std::size_t>& kept = models[first.model].layers[first.layer].tensors;
    for (const Place& place : group.members) {
      const std::vector<std::size_t>& own = models[place.model].layers[place.layer].tensors;
      for (std::size_t i = 0; i < kept.size(); ++i)
        tensors.join(tensors.number({first.model, kept[i]}), tensors.number({place.model, own[i]}));
    }
  }
  std::map<std::size_t, TensorSet> sets;
  for (std::size_t m = 0; m < models.size(); ++m)
    for (std::size_t t = 0; t < models[m].tensors.size(); ++t)
      sets[tensors.root(tensors.number({m, t}))].push_back({m, t});
  std::vector<TensorSet> out;
  for (auto& [root, set] : sets)
    if (set.size() > 1) out.push_back(std::move(set));
  return out;
}

Totals totals(const std::vector<Model>& models, const std::vector<TensorSet>& sets, const Scope& scope) {
  Totals out;
  for (const Model& model : models) out.apart += counted_bytes(model, scope);
  out.together = out.apart;
  for (const TensorSet& set : sets) {
    const TensorPlace& kept = set.front();
    out.together -= models[kept.model].tensors[kept.tensor].bytes * (std::ssize(set) - 1);
  }
  return out;
}

Totals totals(const std::vector<Model>& models, const std::vector<Group>& sharing, const Scope& scope) {
  return totals(models, shared_tensors(models, sharing), scope);
}

Weight heaviest(const Model& model, const Scope& scope, double share) {
  std::vector<Bytes> layers;
  for (const std::size_t i : counted_layers(model, scope)) layers.push_back(model.layers[i].bytes);
  std::ranges::sort(layers, std::greater<>{});
  Weight out{.layers = layers.size(), .bytes = counted_bytes(model, scope)};
  const auto most = std::min(
      layers.size(), static_cast<std::size_t>(std::lround(share * static_cast<double>(layers.size()))));
  for (std::size_t i = 0; i < most; ++i) out.heaviest += layers[i];
  return out;
}

}  // namespace plimsoll::plan::merge
