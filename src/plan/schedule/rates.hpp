#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "share/sharing.hpp"

namespace plimsoll::plan::schedule {

/// How a place is shared by those that are on it.
struct Setup {
  share::Way way = share::Way::exclusive;
  double cap = 1;            ///< of the SMs, for each client of MPS
  std::string profile = {};  ///< of a MIG slice
  /// Of a slice: several at once, as clients of MPS there; else one at a time. Of naive sharing: some are
  /// clients of MPS, which take turns with the others.
  bool clients = false;
  friend bool operator==(const Setup&, const Setup&) = default;
};
[[nodiscard]] std::string text(const Setup& setup);
/// Whether those on a place, or some of them, are clients of one MPS daemon.
[[nodiscard]] bool under_mps(const Setup& setup);
/// Whether several may be on a place at once.
[[nodiscard]] bool is_shared(const Setup& setup);

/// What some kinds do together on a place.
struct GroupRates {
  bool allowed = true;              ///< false: a service among them would miss its limit
  std::vector<double> speeds = {};  ///< against exclusively alone, in the order of the kinds
  double watts = 0;                 ///< of the whole GPU
  /// Of each service, how long its requests take over what they may, at the share that must meet it; 0 of
  /// others. Empty: no service is among them.
  std::vector<double> strains = {};
  std::vector<double> log_errors = {};  ///< standard deviations of log(true / speed); empty: nobody knows
  [[nodiscard]] double combined() const;
};

/// Asks for every group but once. Kinds are asked for in ascending order.
class Rates {
 public:
  using Ask = std::function<GroupRates(std::span<const std::uint32_t> kinds, std::size_t setup)>;
  /// `at_once`: so many threads may ask at the same time.
  explicit Rates(Ask ask, std::size_t at_once = 1) : ask_(std::move(ask)), at_once_(at_once) {}
  /// Groups that will be asked for: at once, where that is allowed; else nothing is done.
  void prepare(const std::set<std::vector<std::uint32_t>>& groups, std::size_t setup);
  [[nodiscard]] bool asks_at_once() const { return at_once_ > 1; }
  /// Lives as long as the Rates do.
  [[nodiscard]] const GroupRates& of(std::span<const std::uint32_t> kinds, std::size_t setup);
  /// As it is known already; nullptr: it was not asked for yet.
  [[nodiscard]] const GroupRates* known(std::span<const std::uint32_t> kinds, std::size_t setup);
  /// What was measured, in place of what was told.
  void set(std::span<const std::uint32_t> kinds, std::size_t setup, GroupRates measured);
  /// Every group that was asked for or set.
  void each(const std::function<void(std::span<const std::uint32_t> kinds, std::size_t setup,
                                     const GroupRates& rates)>& tell) const;

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& key) const;
  };
  Ask ask_;
  std::size_t at_once_;
  std::unordered_map<std::vector<std::uint32_t>, GroupRates, Hash> known_;  ///< by setup and kinds
  std::vector<std::uint32_t> key_;
};

/// What a larger group does, guessed from pairs: what each loses, and what a service's requests take longer,
/// is what its pairs with each of the others come to together. Alone and in pairs all are as `whole` says.
[[nodiscard]] GroupRates guessed_from_pairs(std::span<const std::uint32_t> kinds, std::size_t setup,
                                            Rates& whole, double idle_watts);
/// The same of every group, for a search that looks at more than can be simulated. `whole` must outlive it.
[[nodiscard]] Rates from_pairs(Rates& whole, double idle_watts);
/// What is known of a group by now, else guessed: at once, whatever the group.
[[nodiscard]] GroupRates known_or_guessed(std::span<const std::uint32_t> kinds, std::size_t setup,
                                          Rates& whole, double idle_watts = 0);

}  // namespace plimsoll::plan::schedule
