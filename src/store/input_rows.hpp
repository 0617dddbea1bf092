#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/database.hpp"
#include "store/run.hpp"

/// What runs have read and made, as rows of the database. Callers hold a transaction.
namespace plimsoll::store {

[[nodiscard]] Status insert_inputs(Database& database, std::int64_t run, std::span<const Input> inputs);
[[nodiscard]] Status insert_model_links(Database& database, std::int64_t run, bool output,
                                        std::span<const ModelLink> links);

/// Of all these runs; `runs` says which value belongs to a number.
[[nodiscard]] Status load_inputs(Database& database, const std::vector<std::int64_t>& numbers,
                                 const std::unordered_map<std::int64_t, Run*>& runs);

}  // namespace plimsoll::store
