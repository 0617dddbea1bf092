#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace plimsoll::measure {

/// Where plimsoll-engine may be.
struct EngineSearch {
  std::optional<std::string> named = {};        ///< by PLIMSOLL_ENGINE; nothing else is looked at then
  std::filesystem::path beside = {};            ///< the folder of this program
  std::optional<std::string> search_path = {};  ///< as PATH; nothing: $PATH
  [[nodiscard]] static EngineSearch of_this_process();
};

/// The engine's path. machine_lacks, with how to get it, where there is none.
[[nodiscard]] Result<std::filesystem::path> find_engine(const EngineSearch& search);

}  // namespace plimsoll::measure
