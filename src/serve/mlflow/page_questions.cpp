#include "serve/mlflow/handlers.hpp"

/// What MLflow's own pages ask, whatever they show, about features that are not here. They are told that
/// there is nothing of it, so that they show the rest without complaining; clients of the API are told that
/// the feature is not served (unserved.cpp).
namespace plimsoll::serve::mlflow {

Outcome<Response> server_info(Api& /*api*/, Call& /*call*/) {
  return json_response(
      R"({"store_type":"SqlStore","workspaces_enabled":false,"trace_archival_enabled":false,)"
      R"("multipart_uploads_enabled":false,"multipart_downloads_enabled":false,"features_enabled":{"gateway":false}})");
}

Outcome<Response> nothing_of_it(Api& /*api*/, Call& /*call*/) {
  return empty_response();
}

Outcome<Response> no_endpoints(Api& /*api*/, Call& /*call*/) {
  return json_response(R"({"endpoints":[]})");
}

Outcome<Response> no_telemetry(Api& /*api*/, Call& /*call*/) {
  return json_response(R"({"disable_ui_telemetry":true,"disable_ui_events":[],"ui_rollout_percentage":0})");
}

Outcome<Response> no_assistants(Api& /*api*/, Call& /*call*/) {
  return json_response(R"({"providers":[],"projects":{}})");
}

Outcome<Response> no_trace_metrics(Api& /*api*/, Call& /*call*/) {
  return json_response(R"({"data_points":[]})");
}

Outcome<Response> no_traces(Api& /*api*/, Call& /*call*/) {
  return json_response(R"({"traces":[]})");
}

}  // namespace plimsoll::serve::mlflow
