#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gguf/metadata.hpp"

namespace plimsoll::gguf {

/// Which part of a split file a name is of: "NAME-00002-of-00003.gguf".
struct PartName {
  std::string stem;         ///< NAME
  std::int64_t number = 0;  ///< from 1 on
  std::int64_t count = 0;
  friend bool operator==(const PartName&, const PartName&) = default;
};
[[nodiscard]] std::optional<PartName> part_name(std::string_view file_name);
[[nodiscard]] std::string file_name(const PartName& part);

/// What the metadata of a part say.
struct PartPlace {
  std::int64_t number = 0;  ///< from 0 on
  std::int64_t count = 1;
  std::optional<std::int64_t> tensors = {};  ///< of all parts
};
[[nodiscard]] Result<PartPlace> part_place(const Metadata& metadata);

/// All parts of the file of which `path` is one, in order; none where it is whole. Whether they are there is
/// not looked at.
[[nodiscard]] Result<std::vector<std::filesystem::path>> all_parts(const std::filesystem::path& path,
                                                                   const PartPlace& place);

}  // namespace plimsoll::gguf
