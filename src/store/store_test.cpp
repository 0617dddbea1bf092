// What a store promises, whatever database is under it.
#include "store/store.hpp"

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include <sys/stat.h>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;

class StoreContract : public test::EveryStore {};

mode_t permissions(const std::filesystem::path& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
}

TEST_P(StoreContract, GivesARunBackAsItWasMade) {
  const std::string id = new_run({.experiment = "resnet",
                                  .name = "first try",
                                  .start = 5'000'000,
                                  .params = {{"lr", "0.1"}, {"empty", ""}},
                                  .tags = {{"plimsoll.command", std::string("a\0b", 3)}}});
  EXPECT_EQ(id.size(), 32U);
  store_ = reopened();
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->id, id);
  EXPECT_EQ(run->experiment, "resnet");
  EXPECT_EQ(run->name, "first try");
  EXPECT_EQ(run->status, RunStatus::running);
  EXPECT_EQ(run->start, 5'000'000);
  EXPECT_FALSE(run->end);
  EXPECT_FALSE(run->deleted);
  EXPECT_EQ(run->params, (std::map<std::string, std::string>{{"lr", "0.1"}, {"empty", ""}}));
  EXPECT_EQ(run->tags.at("plimsoll.command"), std::string("a\0b", 3));
}

TEST_P(StoreContract, ChangesStatusEndAndTagsButNoParam) {
  const std::string id = new_run({.params = {{"lr", "0.1"}}, .tags = {{"model", "a"}}});
  ASSERT_TRUE(store_->change(id, {.status = RunStatus::finished,
                                  .end = 9,
                                  .params = {{"lr", "0.1"}, {"momentum", "0.9"}},
                                  .tags = {{"model", "b"}},
                                  .name = "renamed"}));
  const Status refused =
      store_->change(id, {.status = RunStatus::failed, .params = {{"lr", "0.2"}}, .tags = {{"model", "c"}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("'lr' is '0.1' already"), std::string::npos)
      << refused.error().text();
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->status, RunStatus::finished) << "nothing of a refused change is kept";
  EXPECT_EQ(run->end, 9);
  EXPECT_EQ(run->name, "renamed");
  EXPECT_EQ(run->params, (std::map<std::string, std::string>{{"lr", "0.1"}, {"momentum", "0.9"}}));
  EXPECT_EQ(run->tags.at("model"), "b");
}

TEST_P(StoreContract, KeepsPointsAndDescribesTheMetric) {
  const std::string id = new_run();
  const std::vector<Batch> batches = {{id, "loss", {"1", "the command's output"}, counting(0, 10)},
                                      {id, "gpu/power", {"W", "NVML"}, counting(5, 1)},
                                      {id, "nothing", {}, {}}};
  ASSERT_TRUE(store_->append(batches));
  ASSERT_TRUE(store_->append({{Batch{id, "loss", {}, counting(10, 5000)}}}));
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->metrics.size(), 2U) << "a batch without points leaves no metric";
  const Metric& loss = run->metrics.at("loss");
  EXPECT_EQ(loss.description, (Description{"1", "the command's output"}));
  EXPECT_EQ(loss.points, 5010);
  EXPECT_EQ(loss.latest, counting(5009, 1).front());
  EXPECT_EQ(store_->history(id, "loss"), counting(0, 5010));
  EXPECT_EQ(store_->history(id, "gpu/power"), counting(5, 1));
  EXPECT_EQ(store_->history(id, "absent"), std::vector<Point>());
  EXPECT_FALSE(store_->history("0000", "loss"));
}

TEST_P(StoreContract, GivesTheTimesThatWereAskedFor) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 10'000)}}}));
  const auto at = [](std::int64_t step) { return counting(step, 1).front().time; };
  EXPECT_EQ(store_->history(id, "m", at(4090), at(4100)), counting(4090, 11));
  EXPECT_EQ(store_->history(id, "m", at(9999)), counting(9999, 1));
  EXPECT_EQ(store_->history(id, "m", {}, at(0)), counting(0, 1));
  EXPECT_EQ(store_->history(id, "m", at(3), at(2)), std::vector<Point>());
}

TEST_P(StoreContract, PutsLatePointsWhereTheyBelong) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{30, 0, 3}, {10, 0, 1}}}}}));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{20, 0, 2}, {30, 0, 4}}}}}));
  EXPECT_EQ(store_->history(id, "m"), (std::vector<Point>{{10, 0, 1}, {20, 0, 2}, {30, 0, 3}, {30, 0, 4}}));
}

TEST_P(StoreContract, TakesTheLatestByStepThenTimeThenValue) {
  const std::string id = new_run();
  const auto latest = [&] { return store_->find(id)->metrics.at("m").latest; };
  const auto add = [&](Point p) { EXPECT_TRUE(store_->append({{Batch{id, "m", {}, {p}}}})); };
  add({50, 5, 1.0});
  add({90, 4, 2.0});  // a smaller step, though later
  EXPECT_EQ(latest(), (Point{50, 5, 1.0}));
  add({60, 5, 0.5});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({60, 5, 0.25});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({60, 5, std::nan("")});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({61, 5, std::nan("")});
  EXPECT_TRUE(std::isnan(latest().value));
  add({61, 5, -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(latest().value, -std::numeric_limits<double>::infinity());
}

TEST_P(StoreContract, AppendsAllOrNothing) {
  const std::string id = new_run();
  const std::vector<Batch> batches = {{id, "m", {}, counting(0, 10)}, {"ffff", "m", {}, counting(0, 10)}};
  EXPECT_FALSE(store_->append(batches));
  EXPECT_TRUE(store_->find(id)->metrics.empty());
  EXPECT_FALSE(store_->append({{Batch{id, std::string(251, 'x'), {}, counting(0, 1)}}}));
  EXPECT_FALSE(store_->append({{Batch{id, "", {}, counting(0, 1)}}}));
  EXPECT_FALSE(store_->append({{Batch{id, std::string(1001, '\x80'), {}, counting(0, 1)}}}));
  EXPECT_FALSE(store_->change(id, {.tags = {{"long", std::string(70'000, 'x')}}}));
}

TEST_P(StoreContract, AppendsToSeveralRunsAndToOneUnderTwoNames) {
  const std::string first = new_run(), second = new_run();
  const std::string beginning = first.substr(0, 12);
  ASSERT_TRUE(store_->append({{Batch{second, "old", {}, counting(0, 5)}}}));
  const std::vector<Batch> batches = {{first, "m", {}, counting(0, 10)},
                                      {second, "m", {}, counting(0, 20)},
                                      {beginning, "m", {}, counting(10, 10)},
                                      {second, "old", {}, counting(5, 5)},
                                      {first, "n", {}, {}}};
  ASSERT_TRUE(store_->append(batches));
  EXPECT_EQ(store_->history(first, "m"), counting(0, 20));
  EXPECT_EQ(store_->history(second, "m"), counting(0, 20));
  EXPECT_EQ(store_->history(second, "old"), counting(0, 10));
  EXPECT_EQ(store_->find(first)->metrics.size(), 1U);
}

TEST_P(StoreContract, CountsTheCharactersOfANameNotItsBytes) {
  std::string name;
  for (int i = 0; i < 250; ++i) name += "損";
  const std::string id = new_run({.params = {{name, "1"}}, .tags = {{name, "2"}}});
  ASSERT_TRUE(store_->append({{Batch{id, name, {}, counting(0, 4)}}}));
  EXPECT_EQ(store_->history(id, name), counting(0, 4));
  EXPECT_EQ(store_->search({.filter = "params.`" + name + "` = '1'"})->size(), 1U);
  EXPECT_FALSE(store_->append({{Batch{id, name + "x", {}, counting(0, 1)}}}));
  EXPECT_TRUE(store_->create_experiment({.name = name + name}));
  EXPECT_FALSE(store_->create_experiment({.name = name + name + "x"}));
}

TEST_P(StoreContract, GivesARunAnotherVersionWithEveryChange) {
  const Result<std::int64_t> experiment = store_->create_experiment({.name = "changing"});
  ASSERT_TRUE(experiment);
  NewRun made;
  made.experiment_id = *experiment;
  const std::string id = new_run(made), other = new_run();
  const auto version = [&](const std::string& run) {
    const Result<std::vector<Found>> found = store_->search({.view = View::all}, {});
    if (found)
      for (const Found& each : *found)
        if (each.id == run) return each.version;
    return std::int64_t{-1};
  };
  const std::int64_t of_other = version(other);
  std::vector<std::int64_t> seen = {version(id)};
  const auto changed = [&](const Status& done, std::string_view what) {
    EXPECT_TRUE(done) << what;
    const std::int64_t now = version(id);
    EXPECT_EQ(std::ranges::count(seen, now), 0) << what;
    seen.push_back(now);
  };
  changed(store_->change(id, {.tags = {{"t", "1"}}}), "tag");
  changed(store_->change(id, {.params = {{"p", "1"}}}), "param");
  changed(store_->change(id, {.tags_removed = {"t"}}), "tag removed");
  changed(store_->change(id, {.status = RunStatus::finished, .end = 5}), "status");
  changed(store_->append({{Batch{id, "m", {}, counting(0, 3)}}}), "points of a new metric");
  changed(store_->append({{Batch{id, "m", {}, counting(3, 3)}, Batch{id, "n", {}, counting(0, 1)}}}),
          "points");
  changed(store_->add_inputs(id, {{Input{.dataset = {.name = "d", .digest = "1"}}}}), "input");
  changed(store_->add_outputs(id, {{ModelLink{.model = "m-1"}}}), "output");
  changed(store_->remove(id), "removal");
  changed(store_->restore(id), "restoring");
  changed(store_->change_experiment(*experiment, {.deleted = true}), "removal of its experiment");
  changed(store_->change_experiment(*experiment, {.deleted = false}), "restoring of its experiment");
  EXPECT_TRUE(store_->find(id));
  EXPECT_TRUE(store_->history(id, "m"));
  EXPECT_EQ(version(id), seen.back());
  EXPECT_EQ(version(other), of_other);
}

TEST_P(StoreContract, LeavesOutOfASearchWhatTheCallerKnows) {
  const std::string first = new_run({.name = "first", .start = 1, .params = {{"p", "1"}}}),
                    second = new_run({.name = "second", .start = 2, .params = {{"p", "2"}}}),
                    third = new_run({.name = "third", .start = 3});
  std::vector<std::string> asked;
  const Result<std::vector<Found>> found = store_->search({}, [&](const std::string& id, std::int64_t) {
    asked.push_back(id);
    return id == third || id == first;
  });
  ASSERT_TRUE(found);
  ASSERT_EQ(asked, (std::vector<std::string>{third, second, first}));
  ASSERT_EQ(found->size(), 3U);
  EXPECT_EQ(found->at(0).id, third);
  EXPECT_FALSE(found->at(0).run);
  ASSERT_TRUE(found->at(1).run);
  EXPECT_EQ(found->at(1).run->name, "second");
  EXPECT_EQ(found->at(1).run->params.at("p"), "2");
  EXPECT_FALSE(found->at(2).run);
}

TEST_P(StoreContract, MayBeUsedBySeveralThreads) {
  const std::string id = new_run();
  constexpr int kThreads = 4, kCalls = 50;
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const std::string metric = "m" + std::to_string(t);
        for (int i = 0; i < kCalls; ++i) {
          const bool kept = store_->append({{Batch{id, metric, {}, counting(i * 10, 10)}}}).has_value();
          const auto seen = store_->history(id, metric);
          if (!kept || !seen || *seen != counting(0, (i + 1) * 10)) ++failures;
        }
      });
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store_->find(id)->metrics.size(), static_cast<std::size_t>(kThreads));
}

TEST_P(StoreContract, RemovesRestoresAndPurges) {
  const std::string kept = new_run(), gone = new_run();
  for (const std::string& id : {kept, gone})
    ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 20'000)}}}));
  const Result<std::filesystem::path> files = store_->artifacts(gone), others = store_->artifacts(kept);
  ASSERT_TRUE(files && others);
  EXPECT_EQ(*files, directory_->path() / "runs" / "plimsoll-artifacts" / gone);
  EXPECT_EQ(permissions(*files), 0700U);
  std::ofstream(*files / "log.txt") << "text";
  ASSERT_TRUE(store_->remove(gone));
  EXPECT_EQ(store_->search({})->size(), 1U);
  EXPECT_EQ(store_->search({.view = View::deleted})->at(0).id, gone);
  ASSERT_TRUE(store_->restore(gone));
  EXPECT_EQ(store_->search({})->size(), 2U);
  EXPECT_EQ(store_->purge(), 0U);
  ASSERT_TRUE(store_->remove(gone));
  EXPECT_TRUE(std::filesystem::exists(*files / "log.txt"));
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_FALSE(std::filesystem::exists(*files));
  EXPECT_TRUE(std::filesystem::exists(*others));
  EXPECT_FALSE(store_->find(gone));
  EXPECT_EQ(store_->history(kept, "m"), counting(0, 20'000));
}

TEST_P(StoreContract, ListsARunsFiles) {
  const std::string id = new_run();
  EXPECT_EQ(store_->files(id), std::vector<File>());
  EXPECT_FALSE(std::filesystem::exists(directory_->path() / "runs" / "plimsoll-artifacts"))
      << "listing makes nothing";
  const Result<std::filesystem::path> directory = store_->artifacts(id);
  ASSERT_TRUE(directory);
  std::filesystem::create_directory(*directory / "logs");
  std::ofstream(*directory / "logs" / "output.txt") << "four";
  std::ofstream(*directory / "b") << "";
  std::filesystem::create_symlink("/etc/passwd", *directory / "link");
  EXPECT_EQ(store_->files(id), (std::vector<File>{{"b", 0}, {"logs/output.txt", 4}}));
  EXPECT_FALSE(store_->files("ffff"));
}

TEST_P(StoreContract, KeepsEveryByteOfATextAndLooksForIt) {
  // Texts that PostgreSQL would refuse, and the characters that stand there for their bytes.
  for (const std::string& odd : {std::string("a\0b", 3), std::string("\xFF\xFE"), std::string("\xED\xA0\x80"),
                                 std::string("\xF4\x8F\xBC\x80"), std::string("\xF4\x8F"),
                                 std::string("gr\xC3\xBC\xC3\x9F"), std::string("\xC0\x80")}) {
    const std::string id = new_run({.name = odd, .params = {{odd, odd}}, .tags = {{"t", odd}}});
    const Result<store::Run> run = store_->find(id);
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->name, odd);
    EXPECT_EQ(run->params.at(odd), odd);
    EXPECT_EQ(run->tags.at("t"), odd);
    EXPECT_EQ(store_->search({.filter = "tags.t = '" + odd + "'"})->size(), 1U);
  }
}

TEST_P(StoreContract, RemovesTagsAndMovesTheStart) {
  const std::string id = new_run({.tags = {{"a", "1"}, {"b", "2"}}});
  ASSERT_TRUE(store_->change(id, {.tags_removed = {"a"}, .start = 77}));
  EXPECT_EQ(store_->find(id)->tags, (std::map<std::string, std::string>{{"b", "2"}}));
  EXPECT_EQ(store_->find(id)->start, 77);
  const Status missing = store_->change(id, {.name = "x", .tags_removed = {"a"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::not_found);
  EXPECT_NE(store_->find(id)->name, "x") << "nothing of a refused change is kept";
  EXPECT_EQ(store_->find("ffff").error().kind, Error::Kind::not_found);
}

TEST_P(StoreContract, KeepsManyMetricsOfOneCall) {
  const std::string id = new_run();
  constexpr int kMetrics = 1000;
  for (int call = 0; call < 3; ++call) {
    std::vector<Batch> batches;
    for (int i = 0; i < kMetrics; ++i) batches.push_back({id, fmt::format("m{}", i), {}, counting(call, 1)});
    ASSERT_TRUE(store_->append(batches));
  }
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->metrics.size(), static_cast<std::size_t>(kMetrics));
  EXPECT_EQ(run->metrics.at("m999").points, 3);
  EXPECT_EQ(store_->history(id, "m500"), counting(0, 3));
}

TEST_P(StoreContract, TakesTwoWritersOfOneRun) {
  const std::string id = new_run();
  const std::unique_ptr<Store> other = reopened();
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        Store& store = t % 2 == 0 ? *store_ : *other;
        for (int i = 0; i < 25; ++i)
          if (!store.append({{Batch{id, "m", {}, counting(t * 25 + i, 1)}}}) || !store.maintain({}))
            ++failures;
      });
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store_->history(id, "m"), counting(0, 100));
}

PLIMSOLL_IN_EVERY_STORE(StoreContract);

}  // namespace
}  // namespace plimsoll::store
