#include "serve/mlflow/validation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

using testing::HasSubstr;

std::string refusal(const Outcome<void>& outcome) {
  return outcome ? "taken" : outcome.error().message;
}

TEST(Validation, KeysThatMlflowTakes) {
  for (const char* key :
       {"loss", "train/loss", "a.b-c_d e:f", "0", "système", "損失", ".hidden", "a..b", "a/..."})
    EXPECT_EQ(refusal(check_key(key, "name")), "taken") << key;
}

TEST(Validation, KeysWithOtherCharactersAreRefused) {
  for (const char* key : {"a\nb", "a\x01", "a\\b", "a%b", "a?b", "a\"b",
                          "a\xE2\x80\xAE"
                          "b",
                          "a\xC2\x85", "a\x7F"})
    EXPECT_THAT(refusal(check_key(key, "name")), HasSubstr("Names may only contain alphanumerics")) << key;
}

TEST(Validation, KeysThatAreOtherPathsAreRefused) {
  for (const char* key : {"../a", "a/../b", "/a", "a//b", "a/", ".", "..", "...", "./a", ""})
    EXPECT_THAT(refusal(check_key(key, "name")), HasSubstr("must not resolve to other names")) << key;
  EXPECT_EQ(
      refusal(check_key("a/../b", "metrics[2].name")),
      "Invalid value \"a/../b\" for parameter 'metrics[2].name' supplied: Names may be treated as files in "
      "certain "
      "cases, and must not resolve to other names when treated as such. This name would resolve to 'b'");
}

TEST(Validation, NormalizesAsPythonDoes) {
  EXPECT_EQ(normalized(""), ".");
  EXPECT_EQ(normalized("a//b/./c/../d"), "a/b/d");
  EXPECT_EQ(normalized("../../a"), "../../a");
  EXPECT_EQ(normalized("/../a"), "/a");
  EXPECT_EQ(normalized("//a"), "//a");
  EXPECT_EQ(normalized("///a"), "/a");
  EXPECT_EQ(normalized("a/.."), ".");
}

TEST(Validation, LengthsAreInCharacters) {
  EXPECT_EQ(refusal(check_param(std::string(250, 'k'), std::string(6000, 'v'))), "taken");
  EXPECT_EQ(refusal(check_param("k", std::string(6001, 'v'))),
            "'Param value' exceeds the maximum length of 6000 characters");
  EXPECT_THAT(refusal(check_param(std::string(251, 'k'), "v")), HasSubstr("'Param key' exceeds"));
  EXPECT_THAT(refusal(check_tag("k", std::string(8001, 'v'), "tags[0]")),
              HasSubstr("'tags[0].value' exceeds"));
  std::string umlauts;
  for (int i = 0; i < 6000; ++i) umlauts += "ä";
  EXPECT_EQ(refusal(check_param("k", umlauts)), "taken");
  EXPECT_EQ(characters("aä損"), 3U);
}

TEST(Validation, RunIds) {
  EXPECT_TRUE(check_run_id("0123456789abcdef0123456789abcdef"));
  for (const char* id : {"", "../x", "a b", "_a", "a\n"}) EXPECT_FALSE(check_run_id(id)) << id;
  EXPECT_FALSE(check_run_id(std::string(257, 'a')));
}

TEST(Validation, ModelNames) {
  EXPECT_TRUE(check_model_name("my model"));
  for (const char* name : {"", "a/b", "a:b", "a.b", "a%b", "a\"b", "a'b"})
    EXPECT_FALSE(check_model_name(name)) << name;
}

TEST(Validation, BatchesAreBounded) {
  EXPECT_TRUE(check_batch("metrics", 1000, 1000));
  EXPECT_EQ(refusal(check_batch("metrics", 1000, 1001)),
            "A batch logging request can contain at most 1000 metrics. Got 1001 metrics. Please split up "
            "metrics across "
            "multiple requests and try again.");
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
