#include "serve/mlflow/unserved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

using testing::HasSubstr;

TEST(Unserved, NamesTheFeatureAndWhatToDoInstead) {
  const std::pair<const char*, const char*> cases[] = {
      {"/api/2.0/mlflow/registered-models/list", "no such call"},
      {"/api/3.0/mlflow/prompts/search", "no prompts"},
      {"/api/3.0/mlflow/traces", "turn tracing off"},
      {"/api/2.0/mlflow/traces/tr-1/tags", "turn tracing off"},
      {"/v1/traces", "turn tracing off"},
      {"/api/3.0/mlflow/scorers/register", "evaluation"},
      {"/api/3.0/mlflow/datasets/create", "mlflow.log_input()"},
      {"/api/3.0/mlflow/gateway/endpoints/create", "gateway"},
      {"/ajax-api/2.0/mlflow/runs/create-promptlab-run", "prompt engineering"},
      {"/api/2.0/mlflow/webhooks", "/api/plimsoll/events"},
      {"/api/3.0/mlflow/workspaces/a", "workspaces"},
      {"/graphql", "GraphQL"},
      {"/", "MLFLOW_TRACKING_URI"},
  };
  for (const auto& [path, part] : cases) {
    const std::optional<Fault> fault = unserved(path);
    ASSERT_TRUE(fault) << path;
    EXPECT_EQ(fault->code, Code::endpoint_not_found);
    EXPECT_THAT(fault->message, HasSubstr("Plimsoll"));
    EXPECT_THAT(fault->message, HasSubstr(part)) << path;
  }
}

TEST(Unserved, SaysNothingOfWhatNobodyHas) {
  for (const char* path : {"", "/api", "/api/2.0/mlflow", "/api/2.0/mlflow/", "/api/2.0/mlflow/tracest",
                           "/api/2.0/mlflow/runs/get", "/registered-models/create", "/api/plimsoll/x"})
    EXPECT_FALSE(unserved(path)) << path;
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
