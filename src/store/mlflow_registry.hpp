#pragma once
#include <filesystem>

#include "store/sqlite.hpp"
#include "store/transfer.hpp"

/// The registered models of MLflow's own stores, brought in after runs and logged models. Prompts, which are
/// models with a tag to MLflow, are left out.
namespace plimsoll::store {

/// `models`: the folder of them, beside those of the experiments; none where it is not there.
[[nodiscard]] Status import_registry_files(const std::filesystem::path& models, Store& to,
                                           Transferred& counts);
[[nodiscard]] Status import_registry_database(SqliteDatabase& database, Store& to, Transferred& counts);

}  // namespace plimsoll::store
