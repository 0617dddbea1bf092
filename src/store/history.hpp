#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/run.hpp"

/// Histories of metrics as pages, outlines and samples. Callers hold a transaction.
namespace plimsoll::store {

[[nodiscard]] Result<Page> read_page(Database& database, std::int64_t run, std::string_view metric,
                                     std::string_view token, std::size_t limit);

[[nodiscard]] Result<std::vector<Span>> read_outline(Database& database, std::int64_t run,
                                                     std::string_view metric, std::size_t most,
                                                     std::optional<Time> from, std::optional<Time> to);

[[nodiscard]] Result<std::vector<Point>> read_sample(Database& database, std::int64_t run,
                                                     std::string_view metric, std::size_t most,
                                                     const Steps& steps);

}  // namespace plimsoll::store
