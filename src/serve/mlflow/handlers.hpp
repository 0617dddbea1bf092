#pragma once
#include "serve/http/response.hpp"
#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::mlflow {

// One function per endpoint of MLflow's API, by subject; the table in routes.cpp says which path is whose.

[[nodiscard]] Outcome<Response> create_experiment(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_experiment(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_experiment_by_name(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_experiment(Api& api, Call& call);
[[nodiscard]] Outcome<Response> restore_experiment(Api& api, Call& call);
[[nodiscard]] Outcome<Response> update_experiment(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_experiment_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_experiment_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_experiments(Api& api, Call& call);

[[nodiscard]] Outcome<Response> create_run(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_run(Api& api, Call& call);
[[nodiscard]] Outcome<Response> update_run(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_run(Api& api, Call& call);
[[nodiscard]] Outcome<Response> restore_run(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_runs(Api& api, Call& call);
[[nodiscard]] Outcome<Response> log_param(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> log_model(Api& api, Call& call);

// Answered after the commit that brings their metrics in.
void log_metric(Api& api, Call call, Answer answer);
void log_batch(Api& api, Call call, Answer answer);

[[nodiscard]] Outcome<Response> get_history(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_history_bulk(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_history_bulk_interval(Api& api, Call& call);
/// Plimsoll's own: minimum, maximum and mean of spans instead of some of the points.
[[nodiscard]] Outcome<Response> get_outline(Api& api, Call& call);

[[nodiscard]] Outcome<Response> log_inputs(Api& api, Call& call);
[[nodiscard]] Outcome<Response> log_outputs(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_datasets(Api& api, Call& call);

[[nodiscard]] Outcome<Response> create_logged_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_logged_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> finalize_logged_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_logged_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_logged_model_tags(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_logged_model_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> log_logged_model_params(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_logged_models(Api& api, Call& call);

[[nodiscard]] Outcome<Response> create_registered_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_registered_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> rename_registered_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> update_registered_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_registered_model(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_registered_models(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_latest_versions(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_registered_model_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_registered_model_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_model_alias(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_model_alias(Api& api, Call& call);

[[nodiscard]] Outcome<Response> create_model_version(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_model_version(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_model_version_by_alias(Api& api, Call& call);
[[nodiscard]] Outcome<Response> update_model_version(Api& api, Call& call);
[[nodiscard]] Outcome<Response> transition_model_version(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_model_version(Api& api, Call& call);
[[nodiscard]] Outcome<Response> search_model_versions(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_download_uri(Api& api, Call& call);
[[nodiscard]] Outcome<Response> set_model_version_tag(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_model_version_tag(Api& api, Call& call);

[[nodiscard]] Outcome<Response> list_run_artifacts(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_run_artifact(Api& api, Call& call);
[[nodiscard]] Outcome<Response> upload_run_artifact(Api& api, Call& call);
[[nodiscard]] Outcome<Response> list_model_artifacts(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_model_artifact(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_model_version_artifact(Api& api, Call& call);
// The proxy: paths below "mlflow-artifacts:/".
[[nodiscard]] Outcome<Response> list_proxied(Api& api, Call& call);
[[nodiscard]] Outcome<Response> get_proxied(Api& api, Call& call);
[[nodiscard]] Outcome<Response> put_proxied(Api& api, Call& call);
[[nodiscard]] Outcome<Response> delete_proxied(Api& api, Call& call);
// Whether an upload can have a place at all: by the form of its path, before any of it is taken.
[[nodiscard]] Outcome<void> check_upload(const Request& head, const Pairs& parameters);
[[nodiscard]] Outcome<void> check_proxied(const Request& head, const Pairs& parameters);
// What MLflow's own pages ask beside the rest of its API.
[[nodiscard]] Outcome<Response> answer_graphql(Api& api, Call& call);
[[nodiscard]] Outcome<Response> server_info(Api& api, Call& call);
[[nodiscard]] Outcome<Response> nothing_of_it(Api& api, Call& call);
[[nodiscard]] Outcome<Response> no_endpoints(Api& api, Call& call);
[[nodiscard]] Outcome<Response> no_telemetry(Api& api, Call& call);
[[nodiscard]] Outcome<Response> no_assistants(Api& api, Call& call);
[[nodiscard]] Outcome<Response> no_trace_metrics(Api& api, Call& call);
[[nodiscard]] Outcome<Response> no_traces(Api& api, Call& call);
/// Uploads in parts are for stores in a cloud; clients that are told so send the whole.
[[nodiscard]] Outcome<Response> refuse_parts(Api& api, Call& call);

}  // namespace plimsoll::serve::mlflow
