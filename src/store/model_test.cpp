#include "store/model.hpp"

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using Texts = std::map<std::string, std::string>;

class Models : public test::EveryStore {};

TEST_P(Models, AreGivenBackAsTheyWereMade) {
  const std::string run = new_run();
  const Result<std::string> id = store_->create_model({.name = "net",
                                                       .artifact_uri = "mlflow-artifacts:/0/models/x",
                                                       .type = "pytorch",
                                                       .source_run = run,
                                                       .tags = {{"a", "1"}},
                                                       .params = {{"lr", "0.1"}}});
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(id->size(), 34U);
  ASSERT_TRUE(store_->change_model(
      *id,
      {.status = ModelStatus::ready, .tags = {{"b", "2"}}, .tags_removed = {"a"}, .params = {{"m", "3"}}}));
  const Result<LoggedModel> model = store_->model(*id);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->name, "net");
  EXPECT_EQ(model->status, ModelStatus::ready);
  EXPECT_EQ(model->type, "pytorch");
  EXPECT_EQ(model->source_run, run);
  EXPECT_EQ(model->tags, (Texts{{"b", "2"}}));
  EXPECT_EQ(model->params, (Texts{{"lr", "0.1"}, {"m", "3"}}));
  EXPECT_EQ(store_->model("m-0").error().kind, Error::Kind::not_found);
  EXPECT_EQ(store_->create_model({.experiment_id = 9}).error().kind, Error::Kind::not_found);
  EXPECT_EQ(store_->create_model({.id = *id}).error().kind, Error::Kind::exists_already);
  EXPECT_FALSE(store_->create_model({.id = "m-../../x"}));
  EXPECT_EQ(store_->change_model(*id, {.tags_removed = {"a"}}).error().kind, Error::Kind::not_found);
}

TEST_P(Models, AreSearchedAndPurged) {
  const std::string run = new_run();
  const std::string first = *store_->create_model({.name = "one", .tags = {{"k", "v"}}});
  const std::string second = *store_->create_model({.name = "two", .status = ModelStatus::ready});
  ASSERT_TRUE(
      store_->append({{Batch{.run = run, .metric = "acc", .points = {{5, 1, 0.9}}, .model = second}}}));
  const auto names = [&](const ModelSearch& search) {
    const Result<std::vector<LoggedModel>> found = store_->search_models(search);
    if (!found) return found.error().text();
    std::string out;
    for (const LoggedModel& m : *found) out += m.name + " ";
    return out;
  };
  EXPECT_EQ(names({.order_by = {"name"}}), "one two ");
  EXPECT_EQ(names({.filter = "tags.k = 'v'"}), "one ");
  EXPECT_EQ(names({.filter = "metrics.acc > 0.5"}), "two ");
  EXPECT_EQ(names({.filter = "status = 'READY'"}), "two ");
  EXPECT_EQ(names({.filter = "model_id = '" + first + "'"}), "one ");
  EXPECT_EQ(names({.experiment_ids = {5}}), "");
  const Result<std::filesystem::path> files = store_->model_artifacts(first);
  ASSERT_TRUE(files);
  EXPECT_TRUE(std::filesystem::is_directory(*files));
  ASSERT_TRUE(store_->change_model(first, {.deleted = true}));
  EXPECT_EQ(names({}), "two ");
  EXPECT_EQ(names({.view = View::deleted}), "one ");
  EXPECT_EQ(store_->purge(), 0U) << "of runs";
  EXPECT_FALSE(store_->model(first));
  EXPECT_FALSE(std::filesystem::exists(*files));
}

TEST_P(Models, KnowTheLatestOfTheirMetrics) {
  const std::string run = new_run(), model = *store_->create_model({.name = "net"});
  const auto batch = [&](std::vector<Point> points, const std::string& dataset) {
    return Batch{.run = run,
                 .metric = "acc",
                 .points = std::move(points),
                 .model = model,
                 .dataset_name = dataset,
                 .dataset_digest = dataset.empty() ? "" : "d1"};
  };
  ASSERT_TRUE(store_->append({{batch({{1, 1, 0.5}, {2, 2, 0.6}}, "")}}));
  ASSERT_TRUE(store_->append({{batch({{3, 1, 0.7}}, "")}}));
  ASSERT_TRUE(store_->append({{batch({{4, 0, 0.8}}, "test")}}));
  const std::vector<ModelMetric> metrics = store_->model(model)->metrics;
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0], (ModelMetric{run, "acc", {2, 2, 0.6}, "", ""}));
  EXPECT_EQ(metrics[1], (ModelMetric{run, "acc", {4, 0, 0.8}, "test", "d1"}));
  EXPECT_EQ(store_->history(run, "acc")->size(), 4U);
  EXPECT_EQ(
      store_->append({{Batch{.run = run, .metric = "x", .points = {{}}, .model = "m-none"}}}).error().kind,
      Error::Kind::not_found);
}

TEST_P(Models, AndDataAreInputsAndOutputsOfRuns) {
  const std::string run = new_run({.experiment = "e"}), other = new_run({.experiment = "e"});
  const Dataset data{"mnist", "abc", "local", "{\"path\": 1}", "schema", "profile"};
  const Input input{data, {{"mlflow.data.context", "train"}}};
  const std::vector<ModelLink> models = {{"m-1", 0}}, made = {{"m-2", 3}, {"m-2", 4}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->add_inputs(run, {&input, 1}, models));
    ASSERT_TRUE(store_->add_outputs(run, made));
  }
  ASSERT_TRUE(store_->add_inputs(other, {{Input{data, {}}, Input{{"cifar", "d"}, {}}}}));
  const Result<store::Run> found = store_->find(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->inputs, std::vector<Input>{input});
  EXPECT_EQ(found->model_inputs, models);
  EXPECT_EQ(found->model_outputs, made);
  const auto count = [&](const std::string& filter) { return store_->search({.filter = filter})->size(); };
  EXPECT_EQ(count("datasets.name = 'mnist'"), 2U);
  EXPECT_EQ(count("dataset.name LIKE 'ci%'"), 1U);
  EXPECT_EQ(count("datasets.digest IN ('abc', 'x')"), 2U);
  EXPECT_EQ(count("datasets.context = 'train'"), 1U);
  EXPECT_FALSE(store_->search({.filter = "datasets.size = '1'"}));
  EXPECT_FALSE(store_->add_inputs(run, {{Input{{"", "d"}, {}}}}));
  ASSERT_TRUE(store_->remove(run));
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_EQ(store_->find(other)->inputs.size(), 2U);
}

PLIMSOLL_IN_EVERY_STORE(Models);

}  // namespace
}  // namespace plimsoll::store
