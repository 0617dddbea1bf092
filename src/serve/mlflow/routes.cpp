#include "serve/mlflow/routes.hpp"

#include <array>

#include "serve/mlflow/handlers.hpp"

namespace plimsoll::serve::mlflow {
namespace {

/// Answers at once with what the function gives.
template <Outcome<Response> (*function)(Api&, Call&)>
void direct(Api& api, Call call, Answer answer) {
  Outcome<Response> response = function(api, call);
  answer(response ? std::move(*response) : response_of(response.error()));
}

constexpr std::array kTracking = {
    Endpoint{"POST", "/experiments/create", Body::json, direct<create_experiment>},
    Endpoint{"GET", "/experiments/get", Body::none, direct<get_experiment>},
    Endpoint{"GET", "/experiments/get-by-name", Body::none, direct<get_experiment_by_name>},
    Endpoint{"POST", "/experiments/delete", Body::json, direct<delete_experiment>},
    Endpoint{"POST", "/experiments/restore", Body::json, direct<restore_experiment>},
    Endpoint{"POST", "/experiments/update", Body::json, direct<update_experiment>},
    Endpoint{"POST", "/experiments/set-experiment-tag", Body::json, direct<set_experiment_tag>},
    Endpoint{"POST", "/experiments/delete-experiment-tag", Body::json, direct<delete_experiment_tag>},
    Endpoint{"GET", "/experiments/search", Body::none, direct<search_experiments>},
    Endpoint{"POST", "/experiments/search", Body::json, direct<search_experiments>},
    Endpoint{"POST", "/experiments/search-datasets", Body::json, direct<search_datasets>},

    Endpoint{"POST", "/runs/create", Body::json, direct<create_run>},
    Endpoint{"GET", "/runs/get", Body::none, direct<get_run>},
    Endpoint{"POST", "/runs/update", Body::json, direct<update_run>},
    Endpoint{"POST", "/runs/delete", Body::json, direct<delete_run>},
    Endpoint{"POST", "/runs/restore", Body::json, direct<restore_run>},
    Endpoint{"POST", "/runs/search", Body::json, direct<search_runs>},
    Endpoint{"POST", "/runs/log-metric", Body::json, log_metric},
    Endpoint{"POST", "/runs/log-batch", Body::json, log_batch},
    Endpoint{"POST", "/runs/log-parameter", Body::json, direct<log_param>},
    Endpoint{"POST", "/runs/set-tag", Body::json, direct<set_tag>},
    Endpoint{"POST", "/runs/delete-tag", Body::json, direct<delete_tag>},
    Endpoint{"POST", "/runs/log-model", Body::json, direct<log_model>},
    Endpoint{"POST", "/runs/log-inputs", Body::large, direct<log_inputs>},
    Endpoint{"POST", "/runs/outputs", Body::json, direct<log_outputs>},

    Endpoint{"GET", "/metrics/get-history", Body::none, direct<get_history>},
    Endpoint{"GET", "/metrics/get-history-bulk", Body::none, direct<get_history_bulk>},
    Endpoint{"GET", "/metrics/get-history-bulk-interval", Body::none, direct<get_history_bulk_interval>},

    Endpoint{"POST", "/logged-models", Body::json, direct<create_logged_model>},
    Endpoint{"POST", "/logged-models/search", Body::json, direct<search_logged_models>},
    Endpoint{"GET", "/logged-models/{id}", Body::none, direct<get_logged_model>},
    Endpoint{"PATCH", "/logged-models/{id}", Body::json, direct<finalize_logged_model>},
    Endpoint{"DELETE", "/logged-models/{id}", Body::none, direct<delete_logged_model>},
    Endpoint{"POST", "/logged-models/{id}/params", Body::json, direct<log_logged_model_params>},
    Endpoint{"PATCH", "/logged-models/{id}/tags", Body::json, direct<set_logged_model_tags>},
    Endpoint{"DELETE", "/logged-models/{id}/tags/{key}", Body::none, direct<delete_logged_model_tag>},
    Endpoint{"GET", "/logged-models/{id}/artifacts/directories", Body::none, direct<list_model_artifacts>},
    Endpoint{"GET", "/logged-models/{id}/artifacts/files", Body::none, direct<get_model_artifact>},

    Endpoint{"POST", "/registered-models/create", Body::json, direct<create_registered_model>},
    Endpoint{"GET", "/registered-models/get", Body::none, direct<get_registered_model>},
    Endpoint{"POST", "/registered-models/rename", Body::json, direct<rename_registered_model>},
    Endpoint{"PATCH", "/registered-models/update", Body::json, direct<update_registered_model>},
    Endpoint{"DELETE", "/registered-models/delete", Body::json, direct<delete_registered_model>},
    Endpoint{"GET", "/registered-models/search", Body::none, direct<search_registered_models>},
    Endpoint{"POST", "/registered-models/get-latest-versions", Body::json, direct<get_latest_versions>},
    Endpoint{"GET", "/registered-models/get-latest-versions", Body::none, direct<get_latest_versions>},
    Endpoint{"POST", "/registered-models/set-tag", Body::json, direct<set_registered_model_tag>},
    Endpoint{"DELETE", "/registered-models/delete-tag", Body::json, direct<delete_registered_model_tag>},
    Endpoint{"POST", "/registered-models/alias", Body::json, direct<set_model_alias>},
    Endpoint{"DELETE", "/registered-models/alias", Body::json, direct<delete_model_alias>},
    Endpoint{"GET", "/registered-models/alias", Body::none, direct<get_model_version_by_alias>},

    Endpoint{"POST", "/model-versions/create", Body::json, direct<create_model_version>},
    Endpoint{"GET", "/model-versions/get", Body::none, direct<get_model_version>},
    Endpoint{"PATCH", "/model-versions/update", Body::json, direct<update_model_version>},
    Endpoint{"DELETE", "/model-versions/delete", Body::json, direct<delete_model_version>},
    Endpoint{"GET", "/model-versions/search", Body::none, direct<search_model_versions>},
    Endpoint{"GET", "/model-versions/get-download-uri", Body::none, direct<get_download_uri>},
    Endpoint{"POST", "/model-versions/set-tag", Body::json, direct<set_model_version_tag>},
    Endpoint{"DELETE", "/model-versions/delete-tag", Body::json, direct<delete_model_version_tag>},
    Endpoint{"POST", "/model-versions/transition-stage", Body::json, direct<transition_model_version>},

    Endpoint{"GET", "/artifacts/list", Body::none, direct<list_run_artifacts>},
    Endpoint{"POST", "/upload-artifact", Body::small_upload, direct<upload_run_artifact>, check_upload},
};

constexpr std::array<std::string_view, 5> kPrefixes = {"/api/2.0/mlflow", "/ajax-api/2.0/mlflow",
                                                       "/api/2.0/preview/mlflow", "/api/3.0/mlflow",
                                                       "/ajax-api/3.0/mlflow"};

constexpr std::array kOthers = {
    Endpoint{"GET", "/api/2.0/mlflow-artifacts/artifacts", Body::none, direct<list_proxied>},
    Endpoint{"GET", "/api/2.0/mlflow-artifacts/artifacts/{path...}", Body::none, direct<get_proxied>},
    Endpoint{"PUT", "/api/2.0/mlflow-artifacts/artifacts/{path...}", Body::upload, direct<put_proxied>,
             check_proxied},
    Endpoint{"DELETE", "/api/2.0/mlflow-artifacts/artifacts/{path...}", Body::none, direct<delete_proxied>},
    Endpoint{"GET", "/ajax-api/2.0/mlflow-artifacts/artifacts", Body::none, direct<list_proxied>},
    Endpoint{"GET", "/ajax-api/2.0/mlflow-artifacts/artifacts/{path...}", Body::none, direct<get_proxied>},
    Endpoint{"PUT", "/ajax-api/2.0/mlflow-artifacts/artifacts/{path...}", Body::upload, direct<put_proxied>,
             check_proxied},
    Endpoint{"DELETE", "/ajax-api/2.0/mlflow-artifacts/artifacts/{path...}", Body::none,
             direct<delete_proxied>},
    Endpoint{"POST", "/api/2.0/mlflow-artifacts/mpu/{path...}", Body::json, direct<refuse_parts>},
    Endpoint{"GET", "/get-artifact", Body::none, direct<get_run_artifact>},
    Endpoint{"GET", "/model-versions/get-artifact", Body::none, direct<get_model_version_artifact>},
    Endpoint{"POST", "/graphql", Body::json, direct<answer_graphql>},
    Endpoint{"GET", "/api/3.0/mlflow/server-info", Body::none, direct<server_info>},
    Endpoint{"GET", "/ajax-api/3.0/mlflow/server-info", Body::none, direct<server_info>},
    Endpoint{"GET", "/ajax-api/2.0/mlflow/users/current", Body::none, direct<nothing_of_it>},
    Endpoint{"GET", "/ajax-api/2.0/mlflow/gateway-proxy", Body::none, direct<no_endpoints>},
    Endpoint{"GET", "/ajax-api/3.0/mlflow/ui-telemetry", Body::none, direct<no_telemetry>},
    Endpoint{"GET", "/ajax-api/3.0/mlflow/assistant/config", Body::none, direct<no_assistants>},
    Endpoint{"GET", "/ajax-api/3.0/mlflow/assistant/providers", Body::none, direct<no_assistants>},
    Endpoint{"POST", "/ajax-api/3.0/mlflow/traces/metrics", Body::json, direct<no_trace_metrics>},
    Endpoint{"POST", "/ajax-api/3.0/mlflow/traces/search", Body::json, direct<no_traces>},
    Endpoint{"GET", "/ajax-api/2.0/mlflow/traces", Body::none, direct<no_traces>},
    Endpoint{"GET", "/api/plimsoll/outline", Body::none, direct<get_outline>},
};

}  // namespace

std::span<const Endpoint> tracking_endpoints() {
  return kTracking;
}

std::span<const std::string_view> tracking_prefixes() {
  return kPrefixes;
}

std::span<const Endpoint> other_endpoints() {
  return kOthers;
}

std::uint64_t most_bytes(Body body) {
  switch (body) {
    case Body::none: return 64U << 10U;
    // A batch of 1 MB is refused with MLflow's words, for which it must be read.
    case Body::json: return 4U << 20U;
    case Body::large: return 64U << 20U;
    case Body::small_upload: return 10U << 20U;  // MLflow's; the proxy takes more
    case Body::upload: return std::uint64_t{1} << 40U;
  }
  return 0;
}

}  // namespace plimsoll::serve::mlflow
