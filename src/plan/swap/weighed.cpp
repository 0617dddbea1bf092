#include "plan/swap/weighed.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/printable.hpp"

namespace plimsoll::swapping {
namespace {

using program::Program;
using program::Purpose;
using program::StorageId;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Which layer each call belongs to; one that reads no weights goes on with the layer before it.
std::vector<std::size_t> layers_of_calls(const Program& program) {
  std::vector<std::size_t> out(program.calls.size());
  std::size_t layer = 0;
  for (std::size_t call = 0; call < out.size(); ++call) {
    while (layer + 1 < program.layers.size() && program.layers[layer + 1].first <= call) ++layer;
    out[call] = layer;
  }
  return out;
}

class Weighing {
 public:
  Weighing(const network::Network& network, const Program& program)
      : network_(network), program_(program), calls_(layers_of_calls(program)) {
    out_.model.layers.resize(std::max<std::size_t>(1, program.layers.size()));
    take_weights();
    place_weights();
  }

  WeighedModel with_times(const estimate::Profile& profile, bool captured) && {
    std::vector<std::size_t> layer_of(program_.kernels.size(), 0);
    for (std::size_t call = 0; call < calls_.size(); ++call)
      for (std::uint32_t i = 0; i < program_.calls[call].kernels.count; ++i)
        layer_of[program_.calls[call].kernels.begin + i] = calls_[call];
    for (std::size_t i = 0; i < profile.kernels.size(); ++i) {
      const estimate::ProfiledKernel& kernel = profile.kernels[i];
      Seconds& seconds = out_.model.layers[layer_of[kernel.launch.kernel]].seconds;
      if (captured) {
        seconds += kernel.seconds;
        continue;
      }
      const Seconds begin = i == 0 ? Seconds() : kernel.eager_begin;
      const Seconds end = i + 1 < profile.kernels.size() ? profile.kernels[i + 1].eager_begin : profile.eager;
      seconds += std::max(Seconds(), end - begin);
    }
    return std::move(out_);
  }

 private:
  void take_weights() {
    tensor_of_.assign(program_.storages.size(), kNowhere);
    for (const StorageId id : program_.resident) {
      const program::Storage& storage = program_.storage(id);
      if (storage.purpose != Purpose::weight || storage.bytes <= 0) continue;
      tensor_of_[static_cast<std::size_t>(id)] = out_.tensors.size();
      out_.tensors.push_back({.name = std::string(network_.name_of(storage.tensor)),
                              .bytes = Bytes(storage.bytes),
                              .dims = dims_of(id)});
    }
  }

  [[nodiscard]] std::vector<std::int64_t> dims_of(StorageId id) const {
    const auto found = std::ranges::find(program_.values, id, &program::Value::storage);
    if (found == program_.values.end()) return {};
    const auto rank = std::min<std::size_t>(found->rank, program::kMaxViewRank);
    return {found->dims.begin(), found->dims.begin() + static_cast<std::ptrdiff_t>(rank)};
  }

  void place_weights() {
    placed_.assign(out_.tensors.size(), false);
    for (std::size_t layer = 0; layer < program_.layers.size(); ++layer)
      for (std::uint32_t i = 0; i < program_.layers[layer].weights.count; ++i)
        place(program_.weights_of[program_.layers[layer].weights.begin + i], layer);
    place_buffers();
    for (std::size_t tensor = 0; tensor < placed_.size(); ++tensor)
      if (!placed_[tensor]) out_.model.layers.front().tensors.push_back(tensor);
  }

  void place(StorageId id, std::size_t layer) {
    const std::size_t tensor = tensor_of_[static_cast<std::size_t>(id)];
    if (tensor == kNowhere) return;
    std::vector<std::size_t>& tensors = out_.model.layers[layer].tensors;
    if (std::ranges::find(tensors, tensor) == tensors.end()) tensors.push_back(tensor);
    placed_[tensor] = true;
  }

  /// Statistics and tables are not learned, and so in no layer of the program: where they are read first.
  void place_buffers() {
    std::map<network::TensorId, std::size_t> waiting;
    for (const StorageId id : program_.resident) {
      const std::size_t tensor = tensor_of_[static_cast<std::size_t>(id)];
      if (tensor != kNowhere && !placed_[tensor]) waiting[program_.storage(id).tensor] = tensor;
    }
    const auto& operators = network_.main().operators;
    for (std::size_t call = 0; call < calls_.size() && !waiting.empty(); ++call) {
      if (program_.calls[call].op >= operators.size()) continue;
      for (const network::TensorId input : network_.inputs(operators[program_.calls[call].op])) {
        const auto found = waiting.find(input);
        if (found == waiting.end()) continue;
        out_.model.layers[calls_[call]].tensors.push_back(found->second);
        placed_[found->second] = true;
        waiting.erase(found);
      }
    }
  }

  const network::Network& network_;
  const Program& program_;
  std::vector<std::size_t> calls_;      ///< the layer of each
  std::vector<std::size_t> tensor_of_;  ///< by storage
  std::vector<bool> placed_;            ///< by tensor
  WeighedModel out_;
};

/// One `*` stands for any letters.
bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  return name.size() >= before.size() + after.size() && name.starts_with(before) && name.ends_with(after);
}

class Joining {
 public:
  explicit Joining(std::span<const WeighedModel> models) : models_(models) {
    for (std::size_t model = 0; model < models.size(); ++model) {
      model_of_[models[model].model.name] = model;
      first_.push_back(parent_.size());
      for (const NamedTensor& tensor : models[model].tensors) {
        const std::size_t at = parent_.size();
        parent_.push_back(at);
        tensors_.push_back(&tensor);
        if (!tensor.name.empty()) at_[{model, tensor.name}] = at;
      }
    }
  }

  void share(const SharedGroup& group, const std::string& where) {
    if (group.models.empty()) return share_named(group.tensors, where);
    std::vector<std::size_t> models;
    for (const std::string& name : group.models)
      if (const auto found = model_of_.find(name); found != model_of_.end())
        models.push_back(found->second);
      else
        complain(fmt::format("there is no model {}", quote(name)), where);
    if (models.size() != group.models.size()) return;
    for (const std::string& pattern : group.tensors) share_like(pattern, models, where);
  }

  AllErrors<Models> all() && {
    if (!wrong_.empty()) return std::unexpected(std::move(wrong_));
    Models out;
    std::vector<std::size_t> place(parent_.size(), kNowhere);
    for (std::size_t model = 0; model < models_.size(); ++model) {
      out.models.push_back(models_[model].model);
      for (Layer& layer : out.models.back().layers)
        for (std::size_t& tensor : layer.tensors) {
          const std::size_t root = root_of(first_[model] + tensor);
          if (place[root] == kNowhere) {
            place[root] = out.tensors.size();
            out.tensors.push_back(tensors_[root]->bytes);
          }
          tensor = place[root];
        }
    }
    return out;
  }

 private:
  void complain(std::string what, const std::string& where, std::string hint = {}) {
    wrong_.push_back({std::move(what), where, std::move(hint)});
  }
  std::size_t root_of(std::size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return tensors_[a]->bytes == tensors_[b]->bytes && tensors_[a]->dims == tensors_[b]->dims;
  }
  void join(std::size_t a, std::size_t b) { parent_[root_of(b)] = root_of(a); }

  /// "model:tensor", each.
  void share_named(const std::vector<std::string>& names, const std::string& where) {
    std::optional<std::size_t> first;
    for (const std::string& name : names) {
      const std::size_t colon = name.find(':');
      const auto model = model_of_.find(name.substr(0, colon));
      const auto found = colon == std::string::npos || model == model_of_.end()
                             ? at_.end()
                             : at_.find({model->second, name.substr(colon + 1)});
      if (found == at_.end()) {
        complain(fmt::format("there is no tensor {}", quote(name)), where,
                 "without models each is MODEL:TENSOR; `plimsoll inspect MODEL --layers` has layers' names");
        continue;
      }
      if (first && !alike(*first, found->second))
        complain(fmt::format("{} has another shape than {}", quote(name), quote(names.front())), where);
      else if (first)
        join(*first, found->second);
      else
        first = found->second;
    }
  }

  void share_like(const std::string& pattern, const std::vector<std::size_t>& models,
                  const std::string& where) {
    std::size_t shared = 0;
    for (const NamedTensor& tensor : models_[models.front()].tensors) {
      if (tensor.name.empty() || !fits(pattern, tensor.name)) continue;
      std::vector<std::size_t> same;
      for (const std::size_t model : models)
        if (const auto found = at_.find({model, tensor.name}); found != at_.end())
          same.push_back(found->second);
      const bool all = same.size() == models.size() && std::ranges::all_of(same, [&](std::size_t other) {
                         return alike(same.front(), other);
                       });
      if (!all) continue;
      ++shared;
      for (const std::size_t other : same) join(same.front(), other);
    }
    if (shared == 0)
      complain(
          fmt::format("no tensor {} has the same shape in all of its models", quote(pattern)), where,
          "`plimsoll inspect MODEL --layers` has layers' names; tensors are LAYER.weight and LAYER.bias");
  }

  std::span<const WeighedModel> models_;
  std::map<std::string, std::size_t> model_of_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> at_;
  std::vector<std::size_t> first_;  ///< tensor of each model, among all
  std::vector<const NamedTensor*> tensors_;
  std::vector<std::size_t> parent_;
  std::vector<Error> wrong_;
};

}  // namespace

WeighedModel weighed(const std::string& name, const network::Network& network,
                     const program::Program& program, const estimate::Profile& profile, bool captured) {
  WeighedModel out = Weighing(network, program).with_times(profile, captured);
  out.model.name = name;
  return out;
}

AllErrors<Models> joined(std::span<const WeighedModel> models, std::span<const SharedGroup> groups) {
  Joining joining(models);
  for (std::size_t i = 0; i < groups.size(); ++i) joining.share(groups[i], fmt::format("shared {}", i + 1));
  return std::move(joining).all();
}

}  // namespace plimsoll::swapping
