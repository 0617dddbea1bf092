#pragma once
#include "serve/http/response.hpp"
#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::dashboard {

// What the page asks of the store, beside MLflow's calls (docs/dashboard_api.md).

/// A page of the table of runs with the columns that are asked for.
[[nodiscard]] mlflow::Outcome<Response> run_table(mlflow::Api& api, mlflow::Call& call);
/// Keys of metrics, params and tags that runs have, users and experiments, for suggestions.
[[nodiscard]] mlflow::Outcome<Response> facets(mlflow::Api& api, mlflow::Call& call);

/// The files of a run that hold what it has printed.
[[nodiscard]] mlflow::Outcome<Response> logs(mlflow::Api& api, mlflow::Call& call);
/// A piece of a text file of a run, or where a text occurs in it.
[[nodiscard]] mlflow::Outcome<Response> log_piece(mlflow::Api& api, mlflow::Call& call);
/// An artifact to be shown within the page, where nothing in it can run.
[[nodiscard]] mlflow::Outcome<Response> preview(mlflow::Api& api, mlflow::Call& call);

}  // namespace plimsoll::serve::dashboard
