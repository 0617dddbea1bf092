#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/run.hpp"
#include "store/texts.hpp"

/// What a file store of MLflow keeps of a thing in its folder. Symbolic links are not followed.
namespace plimsoll::store {

[[nodiscard]] Result<Texts> read_meta(const std::filesystem::path& directory);
[[nodiscard]] std::string text_in(const Texts& meta, const std::string& key);
[[nodiscard]] std::optional<std::int64_t> integer_in(const Texts& meta, const std::string& key);
/// MLflow's milliseconds; nothing where they are none.
[[nodiscard]] std::optional<Time> time_in(const Texts& meta, const std::string& key);
/// The regular files below a directory with their names relative to it; links are left out.
[[nodiscard]] std::vector<std::pair<std::string, std::filesystem::path>> files_below(
    const std::filesystem::path& directory);
/// One file for each key.
[[nodiscard]] Result<Texts> read_texts(const std::filesystem::path& directory,
                                       std::size_t largest = std::size_t{64} << 10);

}  // namespace plimsoll::store
