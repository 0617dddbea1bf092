#include "swapping/decide.hpp"

#include <algorithm>
#include <optional>

namespace plimsoll::swapping {
namespace {

class Decider {
 public:
  Decider(const Packed& packed, const Policy& policy, Memory before, std::size_t model,
          const Outlook& outlook)
      : packed_(packed),
        policy_(policy),
        memory_(std::move(before)),
        view_{.packed = packed, .memory = memory_, .outlook = outlook, .model = model} {}

  Decision decide() && {
    const PackedModel& model = packed_.models[view_.model];
    for (; view_.layer < model.layers.size(); ++view_.layer)
      for (const std::size_t chunk : model.layers[view_.layer].chunks) bring(chunk);
    memory_.whole[view_.model] = true;
    memory_.last_run[view_.model] = memory_.runs++;
    return {std::move(loads_), std::move(memory_)};
  }

 private:
  void bring(std::size_t chunk) {
    std::int64_t missing = packed_.chunks[chunk].blocks - memory_.held[chunk];
    while (missing > 0) {
      Load load{.layer = view_.layer, .chunk = chunk};
      while (memory_.taken == memory_.capacity)
        if (!(policy_.by_blocks ? evict_blocks(load, missing) : evict_model(load))) return;
      load.blocks = std::min(missing, memory_.capacity - memory_.taken);
      memory_.held[chunk] += load.blocks;
      memory_.taken += load.blocks;
      missing -= load.blocks;
      loads_.push_back(std::move(load));
    }
  }

  void evict(Load& load, std::size_t chunk, std::int64_t blocks) {
    if (blocks == 0) return;
    memory_.held[chunk] -= blocks;
    memory_.taken -= blocks;
    load.evictions.push_back({chunk, blocks});
  }

  bool evict_blocks(Load& load, std::int64_t most) {
    const std::optional<std::size_t> chunk = least_worth_chunk();
    if (!chunk) return false;
    evict(load, *chunk, std::min(most, memory_.held[*chunk]));
    return true;
  }

  bool evict_model(Load& load) {
    std::optional<std::size_t> least;
    Worth of_least;
    for (std::size_t model = 0; model < packed_.models.size(); ++model) {
      if (!memory_.whole[model] || model == view_.model) continue;
      const Worth worth = policy_.worth(view_, model);
      if (least && !(worth < of_least)) continue;
      least = model;
      of_least = worth;
    }
    if (!least) return false;
    memory_.whole[*least] = false;
    for (const std::size_t chunk : packed_.models[*least].chunks)
      if (!is_needed_otherwise(chunk)) evict(load, chunk, memory_.held[chunk]);
    return true;
  }

  [[nodiscard]] bool is_needed_otherwise(std::size_t chunk) const {
    return std::ranges::any_of(packed_.chunks[chunk].uses, [&](const Use& use) {
      return use.model == view_.model || memory_.whole[use.model];
    });
  }

  [[nodiscard]] std::optional<std::size_t> least_worth_chunk() {
    const PackedModel& model = packed_.models[view_.model];
    sort_others();
    while (next_other_ < others_.size() && memory_.held[others_[next_other_].chunk] == 0) ++next_other_;
    std::optional<Valued> least;
    if (next_other_ < others_.size()) least = others_[next_other_];
    for (const std::size_t chunk : model.chunks) {
      if (memory_.held[chunk] == 0 || std::ranges::binary_search(model.layers[view_.layer].chunks, chunk))
        continue;
      const Worth worth = policy_.worth(view_, chunk);
      if (!least || worth < least->worth) least = {worth, chunk};
    }
    return least ? std::optional(least->chunk) : std::nullopt;
  }

  /// The worth of what the run itself does not need stays the same while it is decided on.
  void sort_others() {
    if (sorted_) return;
    sorted_ = true;
    const std::vector<std::size_t>& own = packed_.models[view_.model].chunks;
    for (std::size_t chunk = 0; chunk < memory_.held.size(); ++chunk)
      if (memory_.held[chunk] > 0 && !std::ranges::binary_search(own, chunk))
        others_.push_back({policy_.worth(view_, chunk), chunk});
    std::ranges::stable_sort(others_, {}, &Valued::worth);
  }

  struct Valued {
    Worth worth;
    std::size_t chunk = 0;
  };
  const Packed& packed_;
  const Policy& policy_;
  Memory memory_;
  View view_;
  std::vector<Load> loads_;
  std::vector<Valued> others_;  ///< held, and of no use to this run; the least worth first
  std::size_t next_other_ = 0;
  bool sorted_ = false;
};

}  // namespace

std::int64_t Decision::moved() const {
  std::int64_t out = 0;
  for (const Load& load : loads) out += load.blocks;
  return out;
}

Decision decide(const Packed& packed, const Policy& policy, Memory before, std::size_t model,
                const Outlook& outlook) {
  return Decider(packed, policy, std::move(before), model, outlook).decide();
}

std::int64_t least_capacity(const Packed& packed, const Policy& policy) {
  return policy.by_blocks ? packed.largest_layer() : packed.largest_model();
}

}  // namespace plimsoll::swapping
