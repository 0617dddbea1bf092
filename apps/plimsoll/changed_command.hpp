#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/job.hpp"

namespace plimsoll {

/// How a person says that a command can be told of an improvement: `batch=--batch-size`,
/// `loader-workers=--workers=8`, `mixed-precision=--amp`, or a variable of its environment:
/// `mixed-precision=USE_AMP:1`.
struct ChangeWay {
  std::string improvement;
  std::string option = {};  ///< "--batch-size"; empty: a variable
  std::string variable = {};
  std::optional<std::string> value = {};
};
[[nodiscard]] Result<ChangeWay> parse_change_way(std::string_view text);

/// A command with the change made, what it was, and how many times as many samples a step then has.
struct ChangedCommand {
  std::vector<std::string> words;
  running::Variables environment = {};
  std::string made = {};
  double samples_of_step = 1;
};
/// An option that is there gets the new value: what was given; else of a batch twice the old one, of workers
/// `workers`. One that is not there is appended. Refused where no value can be found for it.
[[nodiscard]] Result<ChangedCommand> changed_command(const std::vector<std::string>& words,
                                                     const ChangeWay& way, std::size_t workers);

}  // namespace plimsoll
