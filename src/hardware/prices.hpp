#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "hardware/device.hpp"

namespace plimsoll {
/// data/prices/*.json as they were when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_prices();
}  // namespace plimsoll

namespace plimsoll::hardware {

enum class Terms : std::uint8_t {
  on_demand,  ///< rented by the hour
  reserved,   ///< paid for a term of years, used or not
  purchase,   ///< bought
};
[[nodiscard]] std::string_view name(Terms terms);
[[nodiscard]] std::optional<Terms> terms_named(std::string_view name);

/// Whole machines as somebody offers them. Prices move: each carries the date and source of its list.
struct Offer {
  std::string name;    ///< "p3.2xlarge"
  std::string device;  ///< id in the catalogue, or of a device that it does not have ("a10g")
  std::int64_t devices = 1;
  Terms terms = Terms::on_demand;
  std::string provider;
  std::string region = {};
  std::string source;
  std::string date;
  std::optional<MoneyPerHour> per_hour = {};  ///< on demand
  std::optional<Money> price = {};            ///< of the whole term, or of the machine
  int years = 0;                              ///< of the term; 0 where there is none
  /// FLOP/s of the whole machine that the list itself states, by Arithmetic. The catalogue's may differ.
  std::array<std::optional<FlopsPerSecond>, kArithmetics> stated = {};
};

/// What an hour of the whole machine costs; a reserved one's price spread over its term, used or not. Absent
/// for a purchase: nobody says how long it will serve.
[[nodiscard]] std::optional<MoneyPerHour> hourly(const Offer& offer);

/// One list of prices. Unknown keys, units, negative prices and offers that stand twice are refused.
[[nodiscard]] Result<std::vector<Offer>> parse_prices(std::string_view text, std::string_view where);

/// All lists built into the program, in the order of their files.
[[nodiscard]] const Result<std::vector<Offer>>& built_in_prices();

/// The offer by that name, the on-demand one before others.
[[nodiscard]] Result<const Offer*> find_offer(std::span<const Offer> offers, std::string_view name);

/// The on-demand offer with the lowest price per device of that kind; null where there is none.
[[nodiscard]] const Offer* cheapest_per_device(std::span<const Offer> offers, std::string_view device);

}  // namespace plimsoll::hardware
