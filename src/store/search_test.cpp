#include <cmath>
#include <limits>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

class Searching : public test::EveryStore {
 protected:
  void SetUp() override {
    EveryStore::SetUp();
    if (IsSkipped()) return;
    add("first", "vision", 1'000'000, {{"lr", "0.1"}, {"optimizer", "sgd"}}, {{"model", "resnet50"}}, 0.5);
    add("second", "vision", 2'000'000, {{"lr", "0.01"}}, {{"model", "ResNet18"}}, 0.05);
    add("third", "text", 3'000'000, {{"lr", "0.1"}}, {{"odd 'key\"", "x"}}, std::nan(""));
    add("fourth", "text", 4'000'000, {}, {}, {});
  }

  void add(const std::string& name, const std::string& experiment, Time start,
           const std::map<std::string, std::string>& params, const std::map<std::string, std::string>& tags,
           std::optional<double> loss) {
    const std::string id = new_run({experiment, name, RunStatus::running, start, params, tags});
    std::vector<Batch> batches;
    if (loss) batches.push_back({id, "loss", {}, {{start, 0, 9.0}, {start, 1, *loss}}});
    ASSERT_TRUE(store_->append(batches));
    if (name == "fourth") return;
    ASSERT_TRUE(store_->change(id, {.status = RunStatus::finished, .end = start + start}));
  }

  std::string names(const Search& search) {
    const Result<std::vector<store::Run>> runs = store_->search(search);
    if (!runs) return runs.error().text();
    std::string out;
    for (const store::Run& run : *runs) out += (out.empty() ? "" : " ") + run.name;
    return out;
  }
  std::string filtered(const std::string& filter) { return names({.filter = filter}); }
  std::string ordered(std::vector<std::string> order_by) { return names({.order_by = std::move(order_by)}); }
};

TEST_P(Searching, GivesTheNewestFirst) {
  EXPECT_EQ(filtered(""), "fourth third second first");
  EXPECT_EQ(names({.limit = 2}), "fourth third");
  EXPECT_EQ(names({.limit = 2, .offset = 1}), "third second");
  EXPECT_EQ(names({.limit = 0}), "");
  EXPECT_EQ(names({.limit = std::numeric_limits<std::size_t>::max()}), "fourth third second first");
  EXPECT_EQ(names({.experiment = "vision"}), "second first");
  EXPECT_EQ(names({.experiment = "nowhere"}), "");
}

TEST_P(Searching, CountsWhateverThePage) {
  const auto counted = [&](const Search& search) { return store_->count(search).value_or(-1); };
  EXPECT_EQ(counted({}), 4);
  EXPECT_EQ(counted({.limit = 1, .offset = 3}), 4);
  EXPECT_EQ(counted({.filter = "metrics.loss < 1 and params.lr = '0.1'"}), 1);
  EXPECT_EQ(counted({.filter = "metrics.loss != 0.5"}), 2) << "a NaN counts as it is found";
  EXPECT_EQ(counted({.experiment = "vision"}), 2);
  EXPECT_EQ(counted({.filter = "tags.model = 'nothing'"}), 0);
  EXPECT_FALSE(store_->count({.filter = "metrics.loss <"}));
  EXPECT_TRUE(store_->remove(store_->search(Search{.limit = 1})->front().id));
  EXPECT_EQ(counted({}), 3);
  EXPECT_EQ(counted({.view = View::all}), 4);
}

TEST_P(Searching, TellsWhichKeysRunsHave) {
  const auto keys = store_->keys({}, 100);
  ASSERT_TRUE(keys) << keys.error().text();
  EXPECT_THAT(keys->metrics, testing::ElementsAre("loss"));
  EXPECT_THAT(keys->params, testing::ElementsAre("lr", "optimizer"));
  EXPECT_THAT(keys->tags, testing::ElementsAre("model", "odd 'key\""));
  EXPECT_TRUE(keys->is_complete);
  const auto first = store_->keys({}, 1);
  ASSERT_TRUE(first);
  EXPECT_THAT(first->params, testing::ElementsAre("lr"));
  EXPECT_FALSE(first->is_complete);
  const std::int64_t text = store_->experiment_named("text")->value().id;
  const auto of_one = store_->keys(std::span(&text, 1), 100);
  ASSERT_TRUE(of_one);
  EXPECT_THAT(of_one->tags, testing::ElementsAre("odd 'key\""));
}

TEST_P(Searching, ComparesTheLatestValueOfAMetric) {
  EXPECT_EQ(filtered("metrics.loss < 0.5"), "second");
  EXPECT_EQ(filtered("metrics.loss <= 0.5"), "second first");
  EXPECT_EQ(filtered("metrics.loss != 0.5"), "third second")
      << "a NaN is a value that differs; one without the metric has none";
  EXPECT_EQ(filtered("metrics.loss = 0"), "") << "a NaN is equal to nothing";
  EXPECT_EQ(filtered("metrics.loss >= 0"), "second first") << "and greater than nothing";
  EXPECT_EQ(filtered("metrics.loss > 1"), "");
  EXPECT_EQ(filtered("metrics.loss IS NULL"), "fourth");
  EXPECT_EQ(filtered("metrics.loss IS NOT NULL"), "third second first");
}

TEST_P(Searching, ComparesTexts) {
  EXPECT_EQ(filtered("params.lr = '0.1'"), "third first");
  EXPECT_EQ(filtered("params.lr != '0.1'"), "second");
  EXPECT_EQ(filtered("params.lr = '0.1' and params.optimizer = 'sgd'"), "first");
  EXPECT_EQ(filtered("params.lr IN ('0.01', '7')"), "second");
  EXPECT_EQ(filtered("tags.model LIKE 'res%'"), "first");
  EXPECT_EQ(filtered("tags.model ILIKE 'res%'"), "second first");
  EXPECT_EQ(filtered("tags.`odd 'key\"` = 'x'"), "third");
  EXPECT_EQ(filtered("params.lr = ''' OR 1=1 --'"), "");
}

TEST_P(Searching, ComparesAttributes) {
  EXPECT_EQ(filtered("attributes.status = 'RUNNING'"), "fourth");
  EXPECT_EQ(filtered("status = 'finished' and run_name LIKE '%ir%'"), "third first");
  EXPECT_EQ(filtered("start_time > 1000 and start_time <= 3000"), "third second");
  EXPECT_EQ(filtered("start_time < '1970-01-01T00:00:02Z'"), "first");
  EXPECT_EQ(filtered("duration >= 2"), "third second");
  EXPECT_EQ(filtered("end_time IS NULL"), "fourth");
  EXPECT_EQ(filtered("experiment_name != 'text'"), "second first");
  const std::string id = store_->search({.limit = 1})->front().id;
  EXPECT_EQ(filtered("run_id = '" + id + "'"), "fourth");
  EXPECT_EQ(filtered("run_id NOT IN ('" + id + "')"), "third second first");
}

TEST_P(Searching, PutsThoseWithoutTheValueLast) {
  EXPECT_EQ(ordered({"metrics.loss"}), "second first third fourth") << "a NaN before nothing";
  EXPECT_EQ(ordered({"metrics.loss DESC"}), "first second third fourth");
  EXPECT_EQ(ordered({"metrics.loss DESC", "start_time"}), "first second third fourth");
  EXPECT_EQ(ordered({"params.lr", "start_time ASC"}), "second first third fourth");
  EXPECT_EQ(ordered({"experiment_name DESC", "run_name"}), "first second fourth third");
}

TEST_P(Searching, AsksForOneKeyOftenAndForManyKeys) {
  EXPECT_EQ(names({.filter = "metrics.loss < 1 and metrics.loss > 0.01 and params.lr LIKE '0%'",
                   .order_by = {"metrics.loss", "params.lr"}}),
            "second first");
  EXPECT_EQ(filtered("params.lr = '0.1' and tags.lr = '0.1'"), "") << "a param's name is no tag's";
  std::string many = "params.lr = '0.1'";
  std::map<std::string, std::string> params = {{"lr", "0.1"}};
  for (int i = 0; i < 80; ++i) {
    many += " and params.p" + std::to_string(i) + " = 'x'";
    params.emplace("p" + std::to_string(i), "x");
  }
  EXPECT_EQ(filtered(many), "");
  add("fifth", "text", 5'000'000, params, {}, 1.0);
  EXPECT_EQ(names({.filter = many, .order_by = {"metrics.loss", "params.p79"}}), "fifth");
  std::vector<std::string> orders;  // more keys than are joined: the metrics are read one by one
  for (int i = 0; i < 13; ++i) orders.push_back("params.q" + std::to_string(i));
  orders.emplace_back("metrics.loss DESC");
  EXPECT_EQ(ordered(orders), "fifth first second third fourth");
  EXPECT_EQ(names({.filter = "metrics.loss != 0.5", .order_by = orders}), "fifth second third");
}

TEST_P(Searching, WithAWrongFilterIsAnError) {
  EXPECT_EQ(filtered("metrics.loss"),
            "filter, character 13: expected =, !=, <, <=, >, >= or IS NULL, but the text ends");
  EXPECT_NE(ordered({"loss"}).find("order, character 1"), std::string::npos);
}

PLIMSOLL_IN_EVERY_STORE(Searching);

}  // namespace
}  // namespace plimsoll::store
