#include "plan/schedule/rates.hpp"

#include <numeric>

#include <fmt/format.h>

namespace plimsoll::plan::schedule {

std::string text(const Setup& setup) {
  if (setup.way == share::Way::mig) return "mig:" + setup.profile;
  if (setup.cap < 1)
    return fmt::format("{}, {:.0f} % of the SMs each", share::name(setup.way), 100 * setup.cap);
  return std::string(share::name(setup.way));
}

double GroupRates::combined() const {
  return std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

std::size_t Rates::Hash::operator()(const std::vector<std::uint32_t>& key) const {
  std::uint64_t out = 1469598103934665603ULL;
  for (const std::uint32_t part : key) out = (out ^ part) * 1099511628211ULL;
  return out;
}

const GroupRates& Rates::of(std::span<const std::uint32_t> kinds, std::size_t setup) {
  key_.assign(1, static_cast<std::uint32_t>(setup));
  key_.insert(key_.end(), kinds.begin(), kinds.end());
  if (const auto found = known_.find(key_); found != known_.end()) return found->second;
  return known_.emplace(key_, ask_(kinds, setup)).first->second;
}

void Rates::set(std::span<const std::uint32_t> kinds, std::size_t setup, GroupRates measured) {
  key_.assign(1, static_cast<std::uint32_t>(setup));
  key_.insert(key_.end(), kinds.begin(), kinds.end());
  known_.insert_or_assign(key_, std::move(measured));
}

}  // namespace plimsoll::plan::schedule
