#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "store/database.hpp"

/// Tags and params: names with values, of whatever has them.
namespace plimsoll::store {

using Texts = std::map<std::string, std::string>;

/// MLflow's limit for the names of metrics, params and tags, in characters.
inline constexpr std::size_t kLongestName = 250;
/// Whether it has 1 to `most` characters, and no more bytes than these may have.
[[nodiscard]] bool is_name(std::string_view text, std::size_t most);
/// A name of a metric, param or tag: 1 to 250 characters, or as many as are said.
[[nodiscard]] Status check_name(std::string_view what, std::string_view name,
                                std::size_t longest = kLongestName);
/// A value of a param or tag: up to 64 KiB.
[[nodiscard]] Status check_value(std::string_view what, std::string_view name, std::string_view value);

/// `insert` takes the owner, the name and the value.
[[nodiscard]] Status write_texts(Database& database, Literal insert, std::int64_t owner,
                                 std::string_view what, const Texts& texts,
                                 std::size_t longest_name = kLongestName);
/// `erase` takes the owner and the name and returns a row; a name that is not there is refused.
[[nodiscard]] Status remove_texts(Database& database, Literal erase, std::int64_t owner,
                                  std::string_view what, const std::vector<std::string>& names);

/// A statement for one owner or for many. The only value of `select` is its owner, "= ?".
[[nodiscard]] Query query_of(Database& database, Literal select, std::span<const std::int64_t> owners);

}  // namespace plimsoll::store
