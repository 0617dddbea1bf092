#pragma once
#include <optional>

#include <nlohmann/json.hpp>

#include "base/units.hpp"

/// Values that may be unknown, as JSON: null where they are. Private to report.
namespace plimsoll::report {

[[nodiscard]] inline nlohmann::ordered_json json_bytes(const std::optional<Bytes>& bytes) {
  return bytes ? nlohmann::ordered_json(bytes->count()) : nlohmann::ordered_json(nullptr);
}

}  // namespace plimsoll::report
