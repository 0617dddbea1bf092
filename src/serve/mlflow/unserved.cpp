#include "serve/mlflow/unserved.hpp"

#include <array>

#include "serve/mlflow/routes.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::string_view kPrompts =
    "Plimsoll keeps no prompts: keep them as files with the code, or log them to a run with "
    "mlflow.log_text(). "
    "Models, their versions and aliases are kept.";
constexpr std::string_view kRegistry =
    "Plimsoll's model registry has no such call: it serves registered-models and model-versions as MLflow's "
    "open-source server does.";
constexpr std::string_view kTraces =
    "Plimsoll keeps no traces, spans or assessments: turn tracing off (mlflow.tracing.disable(), or "
    "log_traces=False in autolog()), or send traces to another server. Runs are kept.";
constexpr std::string_view kEvaluation =
    "Plimsoll has no evaluation of GenAI (scorers, evaluation datasets, label schemas, review queues, "
    "issues, "
    "jobs): log the results as metrics and artifacts of a run, and the data with mlflow.log_input().";
constexpr std::string_view kGateway =
    "Plimsoll has no AI gateway (endpoints, secrets, budgets, guardrails, prompt engineering): call the "
    "provider of the model itself, and log what comes of it to a run.";
constexpr std::string_view kWebhooks =
    "Plimsoll has no webhooks: listen to /api/plimsoll/events, which tells of every change of a run.";
constexpr std::string_view kWorkspaces = "Plimsoll has no workspaces: use an experiment or a store for each.";
constexpr std::string_view kUsers =
    "Plimsoll has no users and permissions: whoever brings the server's token may do everything.";
constexpr std::string_view kGraphql =
    "Plimsoll does not answer GraphQL but what MLflow's pages ask: the same is to be had by MLflow's REST "
    "API, which its Python client "
    "uses.";
constexpr std::string_view kServerInfo =
    "Plimsoll is one server without MLflow's own settings; see /version.";
constexpr std::string_view kDemo = "Plimsoll has neither MLflow's demonstration nor its telemetry.";
constexpr std::string_view kPresigned =
    "Plimsoll gives out no addresses for direct upload or download: artifacts go through this server.";
constexpr std::string_view kMcp = "Plimsoll keeps no registry of MCP servers.";
constexpr std::string_view kPages =
    "Plimsoll serves MLflow's API: set MLFLOW_TRACKING_URI to this server's address. `plimsoll serve "
    "--mlflow-ui "
    "FOLDER` serves MLflow's pages, too, at /mlflow/; `plimsoll runs` and `plimsoll report` show the runs.";

struct Feature {
  std::string_view first;  ///< whole segments of a path
  std::string_view answer;
};

/// Below a prefix of tracking.
constexpr std::array kBelow = {
    Feature{"registered-models", kRegistry},
    Feature{"model-versions", kRegistry},
    Feature{"prompts", kPrompts},
    Feature{"traces", kTraces},
    Feature{"unified-traces", kTraces},
    Feature{"get-online-trace-details", kTraces},
    Feature{"get-trace-artifact", kTraces},
    Feature{"assessments", kTraces},
    Feature{"datasets", kEvaluation},
    Feature{"genai", kEvaluation},
    Feature{"scorer", kEvaluation},
    Feature{"scorers", kEvaluation},
    Feature{"label-schemas", kEvaluation},
    Feature{"review-queues", kEvaluation},
    Feature{"issues", kEvaluation},
    Feature{"jobs", kEvaluation},
    Feature{"prompt-optimization", kEvaluation},
    Feature{"gateway", kGateway},
    Feature{"gateway-proxy", kGateway},
    Feature{"runs/create-promptlab-run", kGateway},
    Feature{"webhooks", kWebhooks},
    Feature{"workspaces", kWorkspaces},
    Feature{"users", kUsers},
    Feature{"roles", kUsers},
    Feature{"permissions", kUsers},
    Feature{"experiments/permissions", kUsers},
    Feature{"server-info", kServerInfo},
    Feature{"demo", kDemo},
    Feature{"ui-telemetry", kDemo},
    Feature{"mcp-servers", kMcp},
};

/// From the root.
constexpr std::array kWhole = {
    Feature{"graphql", kGraphql},
    Feature{"v1/traces", kTraces},
    Feature{"gateway", kGateway},
    Feature{"ajax-api/2.0/mlflow-artifacts/presigned", kPresigned},
    Feature{"api/2.0/mlflow-artifacts/presigned", kPresigned},
    Feature{"signup", kUsers},
    Feature{"static-files", kPages},
};

/// "traces" and "traces/7", not "tracest".
bool begins(std::string_view path, std::string_view first) {
  return path.starts_with(first) && (path.size() == first.size() || path[first.size()] == '/');
}

template <std::size_t count>
std::optional<Fault> find(const std::array<Feature, count>& features, std::string_view path) {
  for (const Feature& feature : features)
    if (begins(path, feature.first))
      return Fault{Code::endpoint_not_found,
                   std::string(feature.answer)};  // clients know it from older servers
  return std::nullopt;
}

}  // namespace

Fault no_graphql() {
  return {Code::endpoint_not_found, std::string(kGraphql)};
}

Fault no_prompts() {
  return {Code::endpoint_not_found, std::string(kPrompts)};
}

std::optional<Fault> unserved(std::string_view path) {
  if (path == "/") return Fault{Code::endpoint_not_found, std::string(kPages)};
  for (const std::string_view prefix : tracking_prefixes())
    if (begins(path, prefix) && path.size() > prefix.size())
      return find(kBelow, path.substr(prefix.size() + 1));
  if (path.empty()) return std::nullopt;
  return find(kWhole, path.substr(1));
}

}  // namespace plimsoll::serve::mlflow
