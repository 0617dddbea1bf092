#pragma once
#include <cstring>
#include <span>
#include <vector>

#include "intake/source.hpp"

namespace plimsoll::intake {

[[nodiscard]] inline Labels labels_of(std::span<const std::int64_t> classes) {
  Labels labels;
  labels.bytes.resize(classes.size_bytes());
  if (!classes.empty()) std::memcpy(labels.bytes.data(), classes.data(), classes.size_bytes());
  return labels;
}

/// Of one byte each.
[[nodiscard]] inline Labels classes_of_bytes(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> classes;
  classes.reserve(bytes.size());
  for (const std::byte b : bytes) classes.push_back(std::to_integer<std::int64_t>(b));
  return labels_of(classes);
}

}  // namespace plimsoll::intake
