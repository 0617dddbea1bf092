#include "serve/mlflow/version_source.hpp"

#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::serve::mlflow {
namespace {

class VersionSource : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<store::Store>> opened = store::open((directory_->path() / "store.db").string());
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = std::move(*opened);
    writer_.emplace(*store_);
    api_.emplace(*store_, *writer_);
    run_ = *store_->create({});
    model_ = *store_->create_model({.name = "net", .source_run = run_});
    ASSERT_TRUE(store_->change_model(
        model_, {.artifact_uri = "mlflow-artifacts:/0/models/" + model_ + "/artifacts"}));
    ASSERT_TRUE(store_->registry().create({.name = "net"}));
    ASSERT_TRUE(store_->registry().create_version(
        {.model = "net", .source = "s3://a/b", .location = "s3://c/d", .run = run_}));
    ASSERT_TRUE(store_->registry().change("net", {.aliases = {{"best", 1}}}));
  }

  Outcome<VersionOrigin> origin(const std::string& source, const std::optional<std::string>& run = {},
                                const std::optional<std::string>& model = {}) {
    return origin_of(*api_, source, run, model);
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("source-test");
  std::unique_ptr<store::Store> store_;
  std::optional<MetricWriter> writer_;
  std::optional<Api> api_;
  std::string run_, model_;
};

TEST_F(VersionSource, OnThisServerIsTakenWithoutClimbing) {
  const std::string mine = "mlflow-artifacts:/0/" + run_ + "/artifacts/net";
  for (const auto& run : {std::optional<std::string>(), std::optional(run_)}) {
    EXPECT_EQ(origin(mine, run)->location, mine);
    EXPECT_TRUE(origin("runs:/" + run_ + "/net", run));
    EXPECT_FALSE(origin("mlflow-artifacts:/0/" + run_ + "/artifacts/../../x", run));
    EXPECT_FALSE(origin("mlflow-artifacts:/0/" + run_ + "/artifacts/%252e%252e/x", run));
    EXPECT_FALSE(origin("runs://x/" + run_ + "/net", run));
  }
}

TEST_F(VersionSource, OfALoggedModelIsWhereItsFilesAre) {
  for (const auto& model : {std::optional<std::string>(), std::optional(model_)}) {
    const Outcome<VersionOrigin> logged = origin("models:/" + model_, {}, model);
    ASSERT_TRUE(logged) << logged.error().message;
    EXPECT_EQ(logged->location, "mlflow-artifacts:/0/models/" + model_ + "/artifacts");
    EXPECT_EQ(logged->run, run_);
    EXPECT_EQ(logged->logged_model, model_);
  }
  EXPECT_FALSE(origin("models:/m-0", {}, "m-0"));
  EXPECT_FALSE(origin("models:/" + model_, {}, "m-0"));
  EXPECT_TRUE(origin("mlflow-artifacts:/0/models/" + model_ + "/artifacts/x", {}, model_));
}

TEST_F(VersionSource, OnThisMachineIsRefused) {
  for (const std::string source : {"/etc/passwd", "file:///etc/passwd", "file://localhost/etc", "etc", "./x"})
    for (const auto& run : {std::optional<std::string>(), std::optional(run_)})
      EXPECT_EQ(origin(source, run).error().code, Code::invalid_parameter_value) << source;
}

TEST_F(VersionSource, ElsewhereIsTakenWithoutClimbing) {
  for (const std::string source :
       {"s3://bucket/a", "s3:/bucket/a", "https://x.org/a", "gs://a/b/", "dbfs:/x"})
    EXPECT_EQ(origin(source)->location, source);
  for (const std::string source :
       {"s3://bucket/a/../b", "s3://b/%2e%2e/x", "https://x.org", "s3:a", "s3://b/a%2500"})
    EXPECT_FALSE(origin(source)) << source;
}

TEST_F(VersionSource, OfAnotherVersionIsACopyOfIt) {
  for (const std::string source :
       {"models:/net/1", "models:/net@best", "models:/net/latest", "models:/net/none"}) {
    const Outcome<VersionOrigin> copy = origin(source);
    ASSERT_TRUE(copy) << source << copy.error().message;
    EXPECT_EQ(copy->source, "models:/net/1");
    EXPECT_EQ(copy->location, "s3://c/d");
    EXPECT_EQ(copy->run, run_);
  }
  EXPECT_EQ(origin("models:/net/1", "other")->run, "other");
  EXPECT_EQ(origin("models:/net/2").error().code, Code::resource_does_not_exist);
  EXPECT_EQ(origin("models:/nobody/1").error().code, Code::resource_does_not_exist);
  for (const std::string source :
       {"models:/net/", "models:/net/1/2", "models:/", "models://x/net/1", "models:/net@"})
    EXPECT_FALSE(origin(source)) << source;
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
