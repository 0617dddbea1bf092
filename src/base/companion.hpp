#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {

/// A program of Plimsoll's own that stands apart and is started when it is needed.
struct Companion {
  std::string_view name;      ///< "plimsoll-engine"
  std::string_view variable;  ///< of the environment, that may name another: "PLIMSOLL_ENGINE"
  std::string_view hint;      ///< how to get it
};

/// Where a companion may be.
struct CompanionSearch {
  std::optional<std::string> named = {};        ///< by the variable; nothing else is looked at then
  std::filesystem::path beside = {};            ///< the folder of this program
  std::optional<std::string> search_path = {};  ///< as PATH; nothing: $PATH
  [[nodiscard]] static CompanionSearch of_this_process(const Companion& companion);
};

/// The companion's path. machine_lacks, with how to get it, where there is none.
[[nodiscard]] Result<std::filesystem::path> find_companion(const Companion& companion,
                                                           const CompanionSearch& search);

}  // namespace plimsoll
