#include "plan/schedule/rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/at_once.hpp"

namespace plimsoll::plan::schedule {

std::string text(const Setup& setup) {
  if (setup.way == share::Way::mig) return (setup.clients ? "mig+mps:" : "mig:") + setup.profile;
  if (setup.cap < 1)
    return fmt::format("{}, {:.0f} % of the SMs each", share::name(setup.way), 100 * setup.cap);
  return std::string(share::name(setup.way));
}

bool under_mps(const Setup& setup) {
  return setup.way == share::Way::mps || setup.clients;
}

bool is_shared(const Setup& setup) {
  return setup.way == share::Way::naive || under_mps(setup);
}

double GroupRates::combined() const {
  return std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

std::size_t Rates::Hash::operator()(const std::vector<std::uint32_t>& key) const {
  std::uint64_t out = 1469598103934665603ULL;
  for (const std::uint32_t part : key) out = (out ^ part) * 1099511628211ULL;
  return out;
}

const GroupRates* Rates::known(std::span<const std::uint32_t> kinds, std::size_t setup) {
  key_.assign(1, static_cast<std::uint32_t>(setup));
  key_.insert(key_.end(), kinds.begin(), kinds.end());
  const auto found = known_.find(key_);
  return found == known_.end() ? nullptr : &found->second;
}

const GroupRates& Rates::of(std::span<const std::uint32_t> kinds, std::size_t setup) {
  if (const GroupRates* found = known(kinds, setup)) return *found;
  return known_.emplace(key_, ask_(kinds, setup)).first->second;
}

void Rates::prepare(const std::set<std::vector<std::uint32_t>>& groups, std::size_t setup) {
  if (at_once_ < 2 || groups.size() < 2) return;
  std::vector<const std::vector<std::uint32_t>*> wanted;
  for (const auto& group : groups)
    if (known(group, setup) == nullptr) wanted.push_back(&group);
  std::vector<GroupRates> found(wanted.size());
  at_once(wanted.size(), at_once_, [&](std::size_t i) { found[i] = ask_(*wanted[i], setup); });
  for (std::size_t i = 0; i < wanted.size(); ++i) set(*wanted[i], setup, std::move(found[i]));
}

void Rates::each(const std::function<void(std::span<const std::uint32_t> kinds, std::size_t setup,
                                          const GroupRates& rates)>& tell) const {
  for (const auto& [key, rates] : known_) tell(std::span(key).subspan(1), key.front(), rates);
}

void Rates::set(std::span<const std::uint32_t> kinds, std::size_t setup, GroupRates measured) {
  key_.assign(1, static_cast<std::uint32_t>(setup));
  key_.insert(key_.end(), kinds.begin(), kinds.end());
  known_.insert_or_assign(key_, std::move(measured));
}

namespace {

constexpr double kSlowest = 1e-6;

/// The place of one of a pair whose kinds are in ascending order; of two alike the first.
std::size_t place_in_pair(std::uint32_t one, std::uint32_t other) {
  return one <= other ? 0 : 1;
}

}  // namespace

GroupRates guessed_from_pairs(std::span<const std::uint32_t> kinds, std::size_t setup, Rates& whole,
                              double idle_watts) {
  if (kinds.size() <= 2) return whole.of(kinds, setup);
  GroupRates out;
  double combined = 0, watts = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const GroupRates& alone = whole.of(kinds.subspan(i, 1), setup);
    out.allowed = out.allowed && alone.allowed;
    const double step = 1 / std::max(alone.speeds.front(), kSlowest);
    const double strain = alone.strains.empty() ? 0 : alone.strains.front();
    double taken = step, strained = strain;
    double error = alone.log_errors.empty() ? std::nan("") : alone.log_errors.front();
    for (std::size_t j = 0; j < kinds.size(); ++j) {
      if (j == i) continue;
      const std::array both = {std::min(kinds[i], kinds[j]), std::max(kinds[i], kinds[j])};
      const GroupRates& pair = whole.of(both, setup);
      const std::size_t at = place_in_pair(kinds[i], kinds[j]);
      out.allowed = out.allowed && pair.allowed;
      taken += std::max(0.0, 1 / std::max(pair.speeds[at], kSlowest) - step);
      error = pair.log_errors.empty() ? std::nan("") : std::max(error, pair.log_errors[at]);
      if (!pair.strains.empty()) strained += std::max(0.0, pair.strains[at] - strain);
    }
    const double speed = 1 / taken;
    out.speeds.push_back(speed);
    out.strains.push_back(strained);
    out.log_errors.push_back(error);
    out.allowed = out.allowed && strained <= 1;
    combined += speed;
    watts += speed * alone.watts;
  }
  // What each draws beyond idle, as far as it runs.
  out.watts = watts - (combined - 1) * idle_watts;
  return out;
}

Rates from_pairs(Rates& whole, double idle_watts) {
  return Rates([&whole, idle_watts](std::span<const std::uint32_t> kinds, std::size_t setup) {
    return guessed_from_pairs(kinds, setup, whole, idle_watts);
  });
}

GroupRates known_or_guessed(std::span<const std::uint32_t> kinds, std::size_t setup, Rates& whole,
                            double idle_watts) {
  if (const GroupRates* known = whole.known(kinds, setup)) return *known;
  return guessed_from_pairs(kinds, setup, whole, idle_watts);
}

}  // namespace plimsoll::plan::schedule
