#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/model.hpp"
#include "store/run.hpp"

/// Logged models as rows of the database. Callers hold a transaction.
namespace plimsoll::store {

/// A model's row by its id.
[[nodiscard]] Result<std::int64_t> model_number(Database& database, std::string_view id);
[[nodiscard]] Status insert_model(Database& database, const std::string& id, const NewModel& model);
[[nodiscard]] Status update_model(Database& database, std::string_view id, const ModelChange& change);
[[nodiscard]] Result<LoggedModel> load_model(Database& database, std::string_view id);
[[nodiscard]] Result<std::vector<LoggedModel>> find_models(Database& database, const ModelSearch& search);

/// Keeps the latest point of a batch beside the model that the batch is about.
[[nodiscard]] Status link_metric(Database& database, std::int64_t run, const Batch& batch);

}  // namespace plimsoll::store
