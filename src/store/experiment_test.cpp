#include "store/experiment.hpp"

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

class Experiments : public test::EveryStore {
 protected:
  std::string names(const ExperimentSearch& search) {
    const Result<std::vector<Experiment>> found = store_->search_experiments(search);
    if (!found) return found.error().text();
    std::string out;
    for (const Experiment& e : *found) out += (out.empty() ? "" : " ") + e.name;
    return out;
  }
};

TEST_P(Experiments, AreGivenBackAsTheyWereMade) {
  const Result<std::int64_t> id = store_->create_experiment(
      {.name = "vision", .artifact_location = "file:///x", .tags = {{"team", "a"}}});
  ASSERT_TRUE(id) << id.error().text();
  const Result<Experiment> found = store_->experiment(*id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "vision");
  EXPECT_EQ(found->artifact_location, "file:///x");
  EXPECT_EQ(found->tags.at("team"), "a");
  EXPECT_GT(found->created, 1'600'000'000'000'000);
  EXPECT_EQ(found->changed, found->created);
  EXPECT_EQ(store_->experiment_named("vision")->value(), *found);
  EXPECT_FALSE(store_->experiment_named("nothing").value());
  EXPECT_EQ(store_->experiment(0)->name, "Default");
  EXPECT_EQ(store_->experiment(99).error().kind, Error::Kind::not_found);
}

TEST_P(Experiments, HaveOneNameEach) {
  const std::int64_t id = *store_->create_experiment({.name = "a"});
  ASSERT_TRUE(store_->create_experiment({.name = "b"}));
  const Result<std::int64_t> again = store_->create_experiment({.name = "a"});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Error::Kind::exists_already);
  EXPECT_EQ(store_->change_experiment(id, {.name = "b"}).error().kind, Error::Kind::exists_already);
  EXPECT_TRUE(store_->change_experiment(id, {.name = "a"}));
  EXPECT_TRUE(store_->change_experiment(id, {.name = "c"}));
  EXPECT_EQ(store_->experiment(id)->name, "c");
  EXPECT_EQ(store_->create_experiment({.name = ""}).error().kind, Error::Kind::bad_input);
  EXPECT_FALSE(store_->create_experiment({.name = std::string(501, 'x')}));
  EXPECT_EQ(store_->create_experiment({.name = "d", .id = id}).error().kind, Error::Kind::exists_already);
  EXPECT_EQ(store_->create_experiment({.name = "e", .id = 123456789012345678}).value(), 123456789012345678);
  EXPECT_EQ(store_->change_experiment(99, {.name = "x"}).error().kind, Error::Kind::not_found);
}

TEST_P(Experiments, TagsAreSetAndRemoved) {
  const std::int64_t id = *store_->create_experiment({.name = "a", .tags = {{"x", "1"}, {"y", "2"}}});
  ASSERT_TRUE(store_->change_experiment(id, {.tags = {{"x", "3"}}, .tags_removed = {"y"}}));
  EXPECT_EQ(store_->experiment(id)->tags, (std::map<std::string, std::string>{{"x", "3"}}));
  EXPECT_EQ(store_->change_experiment(id, {.tags_removed = {"y"}}).error().kind, Error::Kind::not_found);
}

TEST_P(Experiments, AreDeletedAndRestoredWithTheirRuns) {
  const std::string run = new_run({.experiment = "a"});
  const std::int64_t id = (*store_->experiment_named("a"))->id;
  ASSERT_TRUE(store_->change_experiment(id, {.deleted = true}));
  EXPECT_TRUE(store_->experiment(id)->deleted);
  EXPECT_TRUE(store_->find(run)->deleted);
  EXPECT_TRUE(store_->find(run)->deleted_at);
  EXPECT_FALSE(store_->create({.experiment = "a"})) << "a deleted experiment takes no runs";
  EXPECT_FALSE(store_->create({.experiment_id = id}));
  EXPECT_EQ(names({}), "Default");
  EXPECT_EQ(names({.view = View::deleted}), "a");
  EXPECT_EQ(names({.order_by = {"name"}, .view = View::all}), "Default a");
  ASSERT_TRUE(store_->change_experiment(id, {.deleted = false}));
  EXPECT_FALSE(store_->find(run)->deleted);
  EXPECT_FALSE(store_->find(run)->deleted_at);
  ASSERT_TRUE(store_->change_experiment(id, {.deleted = true}));
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_FALSE(store_->experiment(id));
  EXPECT_TRUE(store_->create({.experiment = "a"})) << "the name is free again";
}

TEST_P(Experiments, AreSearched) {
  for (const char* name : {"Alpha", "beta", "gamma"})
    ASSERT_TRUE(store_->create_experiment({.name = name, .tags = {{"first", std::string(1, name[0])}}}));
  EXPECT_EQ(names({.filter = "name LIKE '%a'", .order_by = {"name DESC"}}), "gamma beta Alpha");
  EXPECT_EQ(names({.filter = "attribute.name ILIKE 'alpha'"}), "Alpha");
  EXPECT_EQ(names({.filter = "tags.first = 'b'"}), "beta");
  EXPECT_EQ(names({.filter = "tags.`first` != 'b'", .order_by = {"name ASC"}}), "Alpha gamma");
  EXPECT_EQ(names({.order_by = {"experiment_id"}}), "Default Alpha beta gamma");
  EXPECT_EQ(names({.order_by = {"experiment_id DESC"}}), "gamma beta Alpha Default");
  EXPECT_EQ(names({.filter = "experiment_id = 2"}), "beta");
  EXPECT_EQ(names({.filter = "experiment_id = '2'"}), "beta") << "as MLflow's clients have it, a text";
  EXPECT_EQ(names({.filter = "attribute.experiment_id IN ('1', '3')", .order_by = {"name"}}), "Alpha gamma");
  EXPECT_EQ(names({.filter = "experiment_id > 1 and experiment_id != 3"}), "beta");
  EXPECT_EQ(names({.filter = "tags.first IS NULL"}), "Default");
  EXPECT_NE(names({.filter = "name IS NULL"}).find("IS NULL / IS NOT NULL is only supported for tags"),
            std::string::npos);
  EXPECT_EQ(names({.filter = "experiment_id = 'x'"}),
            "filter, character 17: 'x' is not the number of an experiment");
  ASSERT_TRUE(store_->create_experiment({.name = "imported", .id = 123456789012345679}));
  EXPECT_EQ(names({.filter = "experiment_id = '123456789012345679'"}), "imported") << "to the last digit";
  EXPECT_EQ(names({.filter = "experiment_id = 123456789012345678"}), "");
  EXPECT_EQ(names({.order_by = {"experiment_id DESC"}, .limit = 2}), "imported gamma");
  ASSERT_TRUE(store_->change_experiment(123456789012345679, {.deleted = true}));
  EXPECT_EQ(names({.filter = "creation_time > 0", .order_by = {"name"}, .limit = 2, .offset = 1}),
            "Default beta");
  EXPECT_NE(names({.filter = "params.x = 'y'"}).find("none of tags, attributes"), std::string::npos);
  EXPECT_NE(names({.filter = "status = 'x'"}).find("no attribute"), std::string::npos);
}

TEST_P(Experiments, HoldRunsByTheirNumber) {
  const std::int64_t id = *store_->create_experiment({.name = "a"});
  const std::string run = new_run({.experiment_id = id, .user = "somebody", .end = 7});
  const Result<store::Run> found = store_->find(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->experiment, "a");
  EXPECT_EQ(found->experiment_id, id);
  EXPECT_EQ(found->user, "somebody");
  EXPECT_EQ(found->end, 7);
  new_run();
  EXPECT_EQ(store_->search({.experiment_ids = {id}})->size(), 1U);
  EXPECT_EQ(store_->search({.experiment_ids = {0, id}})->size(), 2U);
  EXPECT_EQ(store_->search({.filter = "user_id = 'somebody'"})->size(), 1U);
  EXPECT_EQ(
      store_->search({.filter = fmt::format("artifact_uri = 'mlflow-artifacts:/{}/{}/artifacts'", id, run)})
          ->size(),
      1U);
  EXPECT_EQ(store_->create({.experiment_id = 77}).error().kind, Error::Kind::not_found);
  const std::string given(32, 'a');
  EXPECT_EQ(store_->create({.id = given}), given);
  EXPECT_EQ(store_->create({.id = given}).error().kind, Error::Kind::exists_already);
  EXPECT_FALSE(store_->create({.id = "../../etc"}));
}

PLIMSOLL_IN_EVERY_STORE(Experiments);

}  // namespace
}  // namespace plimsoll::store
