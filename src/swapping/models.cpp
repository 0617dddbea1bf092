#include "swapping/models.hpp"

#include <algorithm>
#include <map>

namespace plimsoll::swapping {
namespace {

using Uses = std::vector<Use>;

/// Of each tensor, ascending, each once.
std::vector<Uses> uses_of_tensors(const Models& models) {
  std::vector<Uses> out(models.tensors.size());
  for (std::size_t model = 0; model < models.models.size(); ++model)
    for (std::size_t layer = 0; layer < models.models[model].layers.size(); ++layer)
      for (const std::size_t tensor : models.models[model].layers[layer].tensors)
        if (out[tensor].empty() || out[tensor].back() != Use{model, layer})
          out[tensor].push_back({model, layer});
  return out;
}

/// Cuts a row of tensors into blocks.
class Cutter {
 public:
  Cutter(std::int64_t block, std::vector<Chunk>& out) : block_(block), out_(out) {}

  /// Where it begins.
  std::int64_t add(std::int64_t bytes, const Uses& uses) {
    const std::int64_t place = emitted_ * block_ + filled_;
    if (filled_ > 0 && bytes > 0) {
      const std::int64_t more = std::min(bytes, block_ - filled_);
      Uses both;
      std::ranges::set_union(begun_, uses, std::back_inserter(both));
      begun_ = std::move(both);
      filled_ += more;
      bytes -= more;
      if (filled_ == block_) end_block();
    }
    if (bytes >= block_) emit(bytes / block_, uses);
    if (bytes % block_ > 0) {
      filled_ = bytes % block_;
      begun_ = uses;
    }
    return place;
  }
  void end_row() {
    if (filled_ > 0) end_block();
    row_begins_ = out_.size();
  }

 private:
  void end_block() {
    emit(1, begun_);
    filled_ = 0;
    begun_.clear();
  }
  void emit(std::int64_t blocks, const Uses& uses) {
    if (out_.size() > row_begins_ && out_.back().uses == uses)
      out_.back().blocks += blocks;
    else
      out_.push_back({blocks, uses, emitted_});
    emitted_ += blocks;
  }

  std::int64_t block_, filled_ = 0, emitted_ = 0;
  Uses begun_;  ///< of the block that is not full yet
  std::vector<Chunk>& out_;
  std::size_t row_begins_ = 0;
};

/// Tensors that the same models need, in the order in which they are first needed; rows likewise.
std::vector<std::vector<std::size_t>> rows_of(const Models& models, const std::vector<Uses>& uses) {
  std::map<std::vector<std::size_t>, std::size_t> known;
  std::vector<std::vector<std::size_t>> out;
  std::vector<bool> placed(models.tensors.size());
  for (const Model& model : models.models)
    for (const Layer& layer : model.layers)
      for (const std::size_t tensor : layer.tensors) {
        if (placed[tensor]) continue;
        placed[tensor] = true;
        std::vector<std::size_t> users;
        for (const Use& use : uses[tensor])
          if (users.empty() || users.back() != use.model) users.push_back(use.model);
        const auto [row, is_new] = known.emplace(std::move(users), out.size());
        if (is_new) out.emplace_back();
        out[row->second].push_back(tensor);
      }
  return out;
}

void name_chunks(Packed& out) {
  for (std::size_t chunk = 0; chunk < out.chunks.size(); ++chunk) {
    out.blocks += out.chunks[chunk].blocks;
    for (const Use& use : out.chunks[chunk].uses) {
      PackedModel& model = out.models[use.model];
      model.layers[use.layer].chunks.push_back(chunk);
      if (!model.chunks.empty() && model.chunks.back() == chunk) continue;
      model.chunks.push_back(chunk);
      model.blocks += out.chunks[chunk].blocks;
    }
  }
}

}  // namespace

Models apart(const Models& models) {
  Models out{.tensors = {}, .models = models.models};
  for (Model& model : out.models) {
    std::map<std::size_t, std::size_t> own;
    for (Layer& layer : model.layers)
      for (std::size_t& tensor : layer.tensors) {
        const auto [copy, is_new] = own.emplace(tensor, out.tensors.size());
        if (is_new) out.tensors.push_back(models.tensors[tensor]);
        tensor = copy->second;
      }
  }
  return out;
}

Bytes weights_of(const Models& models) {
  Bytes out;
  for (const Bytes& tensor : models.tensors) out += tensor;
  return out;
}

Seconds PackedModel::seconds() const {
  Seconds out;
  for (const PackedLayer& layer : layers) out += layer.seconds;
  return out;
}

std::int64_t Packed::largest_model() const {
  std::int64_t out = 0;
  for (const PackedModel& model : models) out = std::max(out, model.blocks);
  return out;
}

std::int64_t Packed::largest_layer() const {
  std::int64_t out = 0;
  for (const PackedModel& model : models)
    for (const PackedLayer& layer : model.layers) {
      std::int64_t of_layer = 0;
      for (const std::size_t chunk : layer.chunks) of_layer += chunks[chunk].blocks;
      out = std::max(out, of_layer);
    }
  return out;
}

Packed pack(const Models& models, Bytes block, Bytes alignment) {
  Packed out{.block = block, .chunks = {}, .models = {}, .activations = {}, .places = {}};
  for (const Model& model : models.models) {
    out.activations = std::max(out.activations, model.activations);
    PackedModel packed{.name = model.name, .layers = {}, .chunks = {}};
    for (const Layer& layer : model.layers) packed.layers.push_back({.chunks = {}, .seconds = layer.seconds});
    out.models.push_back(std::move(packed));
  }
  const std::vector<Uses> uses = uses_of_tensors(models);
  Cutter cutter(block.count(), out.chunks);
  out.places.resize(models.tensors.size());
  for (const std::vector<std::size_t>& row : rows_of(models, uses)) {
    for (const std::size_t tensor : row) {
      const std::int64_t pieces = (models.tensors[tensor] + alignment - Bytes(1)).count() / alignment.count();
      out.places[tensor] = Bytes(cutter.add(pieces * alignment.count(), uses[tensor]));
    }
    cutter.end_row();
  }
  name_chunks(out);
  return out;
}

}  // namespace plimsoll::swapping
