#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/registry.hpp"
#include "store/transactions.hpp"

/// The registry of models as rows of the database.
namespace plimsoll::store {

[[nodiscard]] std::unique_ptr<Registry> make_registry(Transactions transactions);

// Callers of these hold a transaction.

/// A registered model's row by its name.
[[nodiscard]] Result<std::int64_t> registered_number(Database& database, std::string_view name);
/// The same, held to the end of the transaction: who changes a model or its versions does this first.
[[nodiscard]] Result<std::int64_t> locked_registered(Database& database, std::string_view name);
[[nodiscard]] Result<std::int64_t> insert_registered(Database& database, const NewRegisteredModel& model);
[[nodiscard]] Status update_registered(Database& database, std::int64_t number,
                                       const RegisteredModelChange& change);
[[nodiscard]] Status remove_registered(Database& database, std::string_view name);
/// In the order of `numbers`.
[[nodiscard]] Result<std::vector<RegisteredModel>> load_registered(Database& database,
                                                                   const std::vector<std::int64_t>& numbers);
[[nodiscard]] Result<std::vector<RegisteredModel>> find_registered(Database& database,
                                                                   const RegistrySearch& search);

/// A version's row.
[[nodiscard]] Result<std::int64_t> version_number(Database& database, std::string_view model,
                                                  std::int64_t version);
[[nodiscard]] Result<std::int64_t> insert_version(Database& database, const NewModelVersion& version);
[[nodiscard]] Status update_version(Database& database, std::int64_t number,
                                    const ModelVersionChange& change);
[[nodiscard]] Status remove_version(Database& database, std::string_view model, std::int64_t version);
/// In the order of `numbers`.
[[nodiscard]] Result<std::vector<ModelVersion>> load_versions(Database& database,
                                                              const std::vector<std::int64_t>& numbers);
[[nodiscard]] Result<std::vector<ModelVersion>> find_versions(Database& database,
                                                              const RegistrySearch& search);

}  // namespace plimsoll::store
