#include "plan/merge/placement.hpp"

#include <map>

namespace plimsoll::plan::merge {
namespace {

constexpr std::int64_t kAlignment = 64, kPage = 4096;

std::int64_t aligned(std::int64_t offset, Bytes size) {
  const std::int64_t to = size.count() >= kPage ? kPage : kAlignment;
  return (offset + to - 1) / to * to;
}

}  // namespace

Placement place(const std::vector<Model>& models, const std::vector<TensorSet>& sets) {
  std::map<TensorPlace, TensorPlace> kept;
  for (const TensorSet& set : sets)
    for (const TensorPlace& each : set) kept[each] = set.front();
  Placement out;
  std::int64_t end = 0;
  for (std::size_t m = 0; m < models.size(); ++m) {
    out.offsets.emplace_back(models[m].tensors.size());
    for (std::size_t t = 0; t < models[m].tensors.size(); ++t) {
      const StoredTensor& tensor = models[m].tensors[t];
      if (!tensor.movable || tensor.bytes.count() == 0) continue;
      const auto found = kept.find({m, t});
      // A set's first comes before all others of it, so that its place is known.
      if (found != kept.end() && found->second != TensorPlace{m, t}) {
        out.offsets[m][t] = out.offsets[found->second.model][found->second.tensor];
        continue;
      }
      const std::int64_t begin = aligned(end, tensor.bytes);
      out.offsets[m][t] = begin;
      out.written.push_back({m, t});
      end = begin + tensor.bytes.count();
    }
  }
  out.file = Bytes(end);
  return out;
}

}  // namespace plimsoll::plan::merge
