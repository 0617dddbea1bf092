#include "store/transfer.hpp"

#include <fstream>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;

class Copying : public test::EveryStore {
 protected:
  void SetUp() override {
    EveryStore::SetUp();
    if (IsSkipped()) return;
    Result<std::unique_ptr<Store>> opened = open((directory_->path() / "from.db").string());
    ASSERT_TRUE(opened) << opened.error().text();
    from_ = std::move(*opened);
  }

  std::unique_ptr<Store> from_;
};

TEST_P(Copying, BringsEverythingAndMayBeRepeated) {
  const std::int64_t experiment =
      *from_->create_experiment({.name = "vision", .tags = {{"a", "b"}}, .id = 42});
  const std::string id = *from_->create({.name = "one",
                                         .status = RunStatus::finished,
                                         .start = 5,
                                         .params = {{"lr", "0.1"}},
                                         .tags = {{"t", std::string("\0x", 2)}},
                                         .experiment_id = experiment,
                                         .user = "me",
                                         .end = 9});
  ASSERT_TRUE(from_->append({{Batch{id, "loss", {"1", "log"}, counting(0, 300'000)}}}));
  const Input input{{"mnist", "d"}, {{"mlflow.data.context", "train"}}};
  ASSERT_TRUE(from_->add_inputs(id, {&input, 1}));
  const std::string model =
      *from_->create_model({.experiment_id = experiment, .name = "net", .source_run = id});
  ASSERT_TRUE(from_->append({{Batch{.run = id, .metric = "acc", .points = {{7, 1, 0.5}}, .model = model}}}));
  std::ofstream(*from_->artifacts(id) / "log.txt") << "text";
  const std::string gone = *from_->create({.name = "gone"});
  ASSERT_TRUE(from_->remove(gone));

  const Result<Transferred> done = copy(*from_, *store_);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(*done, (Transferred{
                       .experiments = 1, .runs = 2, .models = 1, .files = 1, .points = 300'001, .bytes = 4}));
  const store::Run there = *store_->find(id), here = *from_->find(id);
  EXPECT_EQ(there.experiment_id, 42);
  EXPECT_EQ(there.name, "one");
  EXPECT_EQ(there.user, "me");
  EXPECT_EQ(there.end, 9);
  EXPECT_EQ(there.params, here.params);
  EXPECT_EQ(there.tags, here.tags);
  EXPECT_EQ(there.inputs, here.inputs);
  EXPECT_EQ(there.metrics.at("loss").description, here.metrics.at("loss").description);
  EXPECT_EQ(store_->history(id, "loss"), counting(0, 300'000));
  EXPECT_EQ(store_->model(model)->metrics, from_->model(model)->metrics);
  EXPECT_TRUE(store_->find(gone)->deleted);
  EXPECT_EQ(read_file(*store_->artifacts(id) / "log.txt", 10), "text");

  const Result<Transferred> again = copy(*from_, *store_);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, (Transferred{.present = 2}));
  ASSERT_TRUE(store_->change(id, {.name = "changed here"}));
  EXPECT_EQ(copy(*from_, *store_)->different, 1U);
  EXPECT_EQ(store_->find(id)->name, "changed here");
}

TEST_P(Copying, GoesOnWhereItWasCutShort) {
  const std::string id = *from_->create({});
  ASSERT_TRUE(from_->append({{Batch{id, "m", {}, counting(0, 1000)}}}));
  store::Run run = *from_->find(id);
  Transferred counts;
  const Arrival broken{.run = run, .points = [&](const PointSink& sink) -> Status {
                         PLIMSOLL_TRY(sink(Batch{id, "m", {}, counting(0, 500)}));
                         return fail("the power is gone");
                       }};
  ASSERT_FALSE(receive_run(*store_, 0, broken, counts));
  EXPECT_TRUE(store_->find(id)->tags.contains("plimsoll.arriving"));
  const Result<Transferred> done = copy(*from_, *store_);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->runs, 1U);
  EXPECT_FALSE(store_->find(id)->tags.contains("plimsoll.arriving"));
  EXPECT_EQ(store_->history(id, "m"), counting(0, 1000));
}

TEST_P(Copying, BringsTheRegistryToWhereItsFilesAre) {
  ASSERT_TRUE(store_->create_experiment({.name = "other", .id = 7}));
  ASSERT_TRUE(from_->create_experiment({.name = "mine", .id = 7}));
  const std::string run = *from_->create({.experiment_id = 7});
  Registry &here = from_->registry(), &there = store_->registry();
  ASSERT_TRUE(here.create({.name = "net", .description = "d", .tags = {{"a", "b"}}}));
  for (const std::string& source :
       {"mlflow-artifacts:/7/" + run + "/artifacts/net", std::string("s3://a/b"), "runs:/" + run + "/net"})
    ASSERT_TRUE(here.create_version({.model = "net", .source = source, .run = run, .tags = {{"k", "v"}}}));
  ASSERT_TRUE(here.change_version("net", 2, {.stage = ModelStage::production}));
  ASSERT_TRUE(here.create_version({.model = "net", .source = "s3://a/c"}));
  ASSERT_TRUE(here.remove_version("net", 4));
  ASSERT_TRUE(here.change("net", {.aliases = {{"best", 1}}}));

  Result<Transferred> done = copy(*from_, *store_);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->registered, 1U);
  EXPECT_EQ(done->versions, 3U);
  RegisteredModel expected = *here.model("net"), model = *there.model("net");
  for (ModelVersion& version : model.latest)
    version.location = here.version("net", version.version)->location;
  EXPECT_EQ(model, expected);
  EXPECT_EQ(there.version("net", 1)->location,
            fmt::format("mlflow-artifacts:/{}/{}/artifacts/net", store_->find(run)->experiment_id, run));
  EXPECT_EQ(there.version("net", 2)->location, "s3://a/b");

  done = copy(*from_, *store_);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->registered + done->versions + done->versions_different, 0U);
  ASSERT_TRUE(there.change("net", {.aliases = {{"best", 2}}}));
  ASSERT_TRUE(here.create_version({.model = "net", .source = "s3://a/d"}));
  EXPECT_EQ(copy(*from_, *store_)->versions, 1U);
  EXPECT_EQ(there.model("net")->aliases.at("best"), 2) << "it was moved here";
  EXPECT_EQ(there.create_version({.model = "net"})->version, 6);
  ASSERT_TRUE(here.create_version({.model = "net", .source = "s3://a/e"}));
  EXPECT_EQ(copy(*from_, *store_)->versions_different, 1U);
  ASSERT_TRUE(there.remove("net"));
  ASSERT_TRUE(there.create({.name = "net"}));
  EXPECT_EQ(copy(*from_, *store_)->versions_different, 5U) << "another model of that name";
  EXPECT_TRUE(there.search_versions({})->empty());
}

TEST_P(Copying, GivesAnExperimentAnotherNumberWhereItsOwnIsTaken) {
  ASSERT_TRUE(store_->create_experiment({.name = "other", .id = 7}));
  ASSERT_TRUE(from_->create_experiment({.name = "mine", .id = 7}));
  const std::string id = *from_->create({.experiment_id = 7});
  ASSERT_TRUE(from_->change_experiment(7, {.deleted = true}));
  const std::string kept = id;
  ASSERT_TRUE(from_->restore(kept));
  ASSERT_TRUE(copy(*from_, *store_));
  const store::Run run = *store_->find(id);
  EXPECT_EQ(run.experiment, "mine");
  EXPECT_NE(run.experiment_id, 7);
  EXPECT_FALSE(run.deleted) << "it was brought back by itself";
  EXPECT_TRUE(store_->experiment(run.experiment_id)->deleted);
}

PLIMSOLL_IN_EVERY_STORE(Copying);

}  // namespace
}  // namespace plimsoll::store
