#include "base/suggest.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '_' || c == ' ' ? '-' : c;
}

bool continues(std::string_view longer, std::string_view beginning) {
  return longer.size() > beginning.size() &&
         std::ranges::equal(longer.substr(0, beginning.size()), beginning, {}, folded, folded);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string_view> nearest_names(std::string_view name,
                                            std::span<const std::string_view> candidates, std::size_t limit) {
  constexpr std::size_t kShortestBeginning = 3;  // "r" begins too many names to be a hint
  const std::size_t farthest = std::max<std::size_t>(1, name.size() / 3);
  const auto distance_of = [&](std::string_view candidate) {
    // The difference in length is a lower bound: a name of a megabyte costs nothing here.
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    const std::size_t distance = longer - shorter > farthest ? farthest + 1 : edit_distance(name, candidate);
    const bool begun = name.size() >= kShortestBeginning && continues(candidate, name);
    return begun ? std::min(distance, farthest) : distance;
  };
  std::vector<std::pair<std::size_t, std::size_t>>
      near;  // distance, position: equally near ones keep their order
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const std::size_t distance = distance_of(candidates[i]); distance <= farthest)
      near.emplace_back(distance, i);
  std::ranges::sort(near);
  std::vector<std::string_view> names;
  for (const auto& [distance, i] : near)
    if (names.size() < limit && distance == near.front().first) names.push_back(candidates[i]);
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto names = nearest_names(name, candidates);
  if (names.empty()) return {};
  std::string text = "Did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text + "?";
}

}  // namespace plimsoll
