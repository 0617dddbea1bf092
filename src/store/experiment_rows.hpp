#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/experiment.hpp"

/// Experiments as rows of the database. Callers hold a transaction.
namespace plimsoll::store {

[[nodiscard]] Result<std::int64_t> insert_experiment(Database& database, const NewExperiment& experiment);
[[nodiscard]] Status update_experiment(Database& database, std::int64_t id, const ExperimentChange& change);
[[nodiscard]] Result<Experiment> load_experiment(Database& database, std::int64_t id);
[[nodiscard]] Result<std::optional<std::int64_t>> experiment_number(Database& database,
                                                                    std::string_view name);
[[nodiscard]] Result<std::vector<Experiment>> find_experiments(Database& database,
                                                               const ExperimentSearch& search);

/// The one that a new run is to belong to: by its number, else by its name, and then made where there is
/// none. Deleted ones are refused.
[[nodiscard]] Result<std::int64_t> experiment_for_run(Database& database, std::optional<std::int64_t> id,
                                                      std::string_view name);

}  // namespace plimsoll::store
