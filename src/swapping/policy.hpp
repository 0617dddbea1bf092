#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "swapping/models.hpp"

namespace plimsoll::swapping {

/// What is held, as a policy accounts for it: after all that was decided so far, whether done yet or not.
struct Memory {
  std::int64_t capacity = 0;           ///< blocks
  std::int64_t taken = 0;              ///< blocks, at most the capacity
  std::vector<std::int64_t> held;      ///< blocks of each chunk
  std::vector<bool> whole;             ///< models that were brought in, and that no policy by models removed
  std::vector<std::int64_t> last_run;  ///< of each model, counted from 0; -1: it has not run
  std::int64_t runs = 0;
  friend bool operator==(const Memory&, const Memory&) = default;
};
[[nodiscard]] Memory empty_memory(const Packed& packed, std::int64_t capacity);

/// When each model is asked for after the run that is decided on, on any scale that all of them share;
/// infinite: never again.
struct Outlook {
  std::vector<double> told;      ///< by the requests themselves
  std::vector<double> expected;  ///< by the rate at which its requests have come
};

/// What a policy sees when room is needed.
struct View {
  const Packed& packed;
  const Memory& memory;
  const Outlook& outlook;
  std::size_t model = 0;  ///< that is to run
  std::size_t layer = 0;  ///< of it, for which room is needed
};

/// How much it is worth to keep something; the least goes first.
struct Worth {
  double first = 0, then = 0;
  friend auto operator<=>(const Worth&, const Worth&) = default;
};

/// To add one: a file in policies/, a declaration below, a row in policy.cpp.
struct Policy {
  std::string_view name;    ///< "belady-block"
  std::string_view about;   ///< one line for people
  bool by_blocks = false;   ///< single blocks give way, else whole models
  bool told_ahead = false;  ///< it is told the requests in advance
  /// Of a model, or of the blocks of a chunk. Pure.
  Worth (*worth)(const View& view, std::size_t of);
};
[[nodiscard]] std::span<const Policy> policies();
[[nodiscard]] const Policy* policy_named(std::string_view name);
/// Those named, in their order; "all" are all.
[[nodiscard]] Result<std::vector<Policy>> policies_named(std::span<const std::string> names);

[[nodiscard]] Worth lru_worth(const View& view, std::size_t model);
[[nodiscard]] Worth mru_worth(const View& view, std::size_t model);
[[nodiscard]] Worth belady_model_worth(const View& view, std::size_t model);
[[nodiscard]] Worth belady_block_worth(const View& view, std::size_t chunk);
[[nodiscard]] Worth expected_block_worth(const View& view, std::size_t chunk);

/// What is needed again last has least worth. Layers of the run that are still to come need their blocks
/// before any other run does.
[[nodiscard]] Worth worth_by_next_use(const View& view, std::span<const double> next_run, std::size_t chunk);

}  // namespace plimsoll::swapping
