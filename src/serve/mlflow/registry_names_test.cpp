#include "serve/mlflow/registry_names.hpp"

#include <gtest/gtest.h>

#include "serve/mlflow/version_source.hpp"

namespace plimsoll::serve::mlflow {
namespace {

TEST(RegistryNames, OfModelsAreThoseThatMlflowTakes) {
  for (const std::string name : {"net", "a b", "ö☃", "x.y", "-", "a@b", "…", "%2F", "a\\b", "'\""})
    EXPECT_TRUE(check_registered_name(name)) << name;
  for (const std::string name : {"", "  ", "a/b", "a:b", ".", "..", "..a"})
    EXPECT_EQ(check_registered_name(name).error().code, Code::invalid_parameter_value) << name;
  EXPECT_EQ(check_registered_name("").error().message, "Missing value for required parameter 'name'.");
  EXPECT_EQ(check_registered_name("a/b").error().message,
            "Invalid model name 'a/b'. Names cannot contain '/' or ':'.");
  EXPECT_TRUE(check_registered_name(std::string(256, 'x')));
  EXPECT_FALSE(check_registered_name(std::string(257, 'x')));
  EXPECT_FALSE(check_registered_name(std::string(10'000, 'x')));
}

TEST(RegistryNames, OfAliasesHaveNoMarks) {
  for (const std::string alias : {"champion", "a-b_1", "ö", "latest1", "version"}) {
    EXPECT_TRUE(check_alias(alias)) << alias;
    EXPECT_TRUE(check_alias_is_free(alias)) << alias;
  }
  for (const std::string alias : {"", "a b", "a.b", "a/b", "a@b", "a:b", "$"})
    EXPECT_FALSE(check_alias(alias));
  for (const std::string alias : {"latest", "Latest", "v1", "V20"})
    EXPECT_FALSE(check_alias_is_free(alias)) << alias;
  EXPECT_FALSE(check_alias(std::string(256, 'x')));
}

TEST(RegistryNames, TagsAreLongerThanThoseOfRunsAndNoPrompts) {
  EXPECT_TRUE(check_registry_tag("a/b", std::string(100'000, 'v')));
  EXPECT_FALSE(check_registry_tag("a", std::string(100'001, 'v')));
  EXPECT_FALSE(check_registry_tag("a//b", ""));
  EXPECT_FALSE(check_registry_tag(std::string(251, 'k'), ""));
  EXPECT_EQ(check_registry_tag("mlflow.prompt.is_prompt", "True").error().code, Code::endpoint_not_found);
}

TEST(RegistryNames, VersionsAndStagesAreRead) {
  EXPECT_EQ(version_of("7"), 7);
  for (const char* const wrong : {"", "x", "1.5", "99999999999999999999"}) EXPECT_FALSE(version_of(wrong));
  EXPECT_EQ(stage_of("production"), store::ModelStage::production);
  EXPECT_EQ(
      stage_of("nowhere").error().message,
      "Invalid Model Version stage: nowhere. Value must be one of None, Staging, Production, Archived.");
}

TEST(RegistryNames, SchemesAreToldFromPaths) {
  EXPECT_EQ(scheme_of("MODELS:/m-1"), "models");
  EXPECT_EQ(scheme_of("mlflow-artifacts:/0"), "mlflow-artifacts");
  for (const char* const none : {"", "/a:b", ":x", "a/b:c", "1a:b"}) EXPECT_EQ(scheme_of(none), "") << none;
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
