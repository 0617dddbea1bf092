#include "store/store.hpp"

#include <utility>

namespace plimsoll::store {

Result<std::vector<Run>> Store::search(const Search& search) {
  Result<std::vector<Found>> found = this->search(search, {});
  if (!found) return std::unexpected(std::move(found).error());
  std::vector<Run> out;
  out.reserve(found->size());
  for (Found& each : *found)
    if (each.run) out.push_back(std::move(*each.run));
  return out;
}

}  // namespace plimsoll::store
