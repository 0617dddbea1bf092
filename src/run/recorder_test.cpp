#include "run/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>

#include "base/files.hpp"
#include "run/watch.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using namespace std::chrono_literals;

/// What a store does not take, while it does not.
struct Fault {
  std::atomic<bool> refuses = true;
  Error error{"the disk is full", {}, {}, Error::Kind::machine_lacks};
  std::string metric = {};  ///< this one alone; empty: nothing at all, the ends of runs neither
};

class Refusing final : public store::Store {
 public:
  Refusing(std::unique_ptr<store::Store> inner, const Fault& fault)
      : inner_(std::move(inner)), fault_(fault) {}
  Result<std::string> create(const store::NewRun& run) override { return inner_->create(run); }
  Status change(std::string_view run, const store::Change& change) override {
    return fault_.refuses && fault_.metric.empty() ? refused() : inner_->change(run, change);
  }
  Status append(std::span<const store::Batch> batches) override {
    const bool concerned = fault_.metric.empty() || std::ranges::any_of(batches, [&](const auto& batch) {
                             return batch.metric == fault_.metric;
                           });
    return fault_.refuses && concerned ? refused() : inner_->append(batches);
  }
  Status compact(std::string_view run) override { return inner_->compact(run); }
  Result<store::Run> find(std::string_view id) override { return inner_->find(id); }
  Result<std::vector<store::Found>> search(const store::Search& search, const store::Known& known) override {
    return inner_->search(search, known);
  }
  Result<std::int64_t> count(const store::Search& search) override { return inner_->count(search); }
  Result<store::RunKeys> keys(std::span<const std::int64_t> experiments, std::size_t most) override {
    return inner_->keys(experiments, most);
  }
  Result<std::vector<store::Point>> history(std::string_view run, std::string_view metric,
                                            std::optional<store::Time> from,
                                            std::optional<store::Time> to) override {
    return inner_->history(run, metric, from, to);
  }
  Result<store::Page> history_page(std::string_view run, std::string_view metric, std::string_view token,
                                   std::size_t limit) override {
    return inner_->history_page(run, metric, token, limit);
  }
  Result<std::vector<store::Span>> outline(std::string_view run, std::string_view metric, std::size_t most,
                                           std::optional<store::Time> from,
                                           std::optional<store::Time> to) override {
    return inner_->outline(run, metric, most, from, to);
  }
  Result<std::vector<store::Point>> sample(std::string_view run, std::string_view metric, std::size_t most,
                                           const store::Steps& steps) override {
    return inner_->sample(run, metric, most, steps);
  }
  Result<std::int64_t> create_experiment(const store::NewExperiment& experiment) override {
    return inner_->create_experiment(experiment);
  }
  Result<store::Experiment> experiment(std::int64_t id) override { return inner_->experiment(id); }
  Result<std::optional<store::Experiment>> experiment_named(std::string_view name) override {
    return inner_->experiment_named(name);
  }
  Result<std::vector<store::Experiment>> search_experiments(const store::ExperimentSearch& search) override {
    return inner_->search_experiments(search);
  }
  Status change_experiment(std::int64_t id, const store::ExperimentChange& change) override {
    return inner_->change_experiment(id, change);
  }
  Status add_inputs(std::string_view run, std::span<const store::Input> inputs,
                    std::span<const store::ModelLink> models) override {
    return inner_->add_inputs(run, inputs, models);
  }
  Status add_outputs(std::string_view run, std::span<const store::ModelLink> models) override {
    return inner_->add_outputs(run, models);
  }
  Result<std::string> create_model(const store::NewModel& model) override {
    return inner_->create_model(model);
  }
  Result<store::LoggedModel> model(std::string_view id) override { return inner_->model(id); }
  Result<std::vector<store::LoggedModel>> search_models(const store::ModelSearch& search) override {
    return inner_->search_models(search);
  }
  Status change_model(std::string_view id, const store::ModelChange& change) override {
    return inner_->change_model(id, change);
  }
  Result<bool> maintain(std::chrono::seconds quiet) override { return inner_->maintain(quiet); }
  Result<std::filesystem::path> model_artifacts(std::string_view model) override {
    return inner_->model_artifacts(model);
  }
  Status remove(std::string_view run) override { return inner_->remove(run); }
  Status restore(std::string_view run) override { return inner_->restore(run); }
  store::Claims& claims() override { return inner_->claims(); }
  store::Queue& queue() override { return inner_->queue(); }
  store::Registry& registry() override { return inner_->registry(); }
  Result<std::size_t> purge() override { return inner_->purge(); }
  Result<std::filesystem::path> artifacts(std::string_view run) override { return inner_->artifacts(run); }
  Result<std::filesystem::path> uploads() override { return inner_->uploads(); }
  Result<std::vector<store::File>> files(std::string_view run) override { return inner_->files(run); }
  std::string location() const override { return inner_->location(); }

 private:
  [[nodiscard]] Status refused() const { return std::unexpected(fault_.error); }
  std::unique_ptr<store::Store> inner_;
  const Fault& fault_;
};

struct Bench {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  std::string path = (directory->path() / "s.db").string();
  std::unique_ptr<store::Store> store = *store::open(path);
  std::string id = *store->create({.start = store::now()});
};

void wait_until(Recorder& recorder, const std::function<bool()>& condition) {
  // However slow the machine is; what never comes fails in the end.
  const auto end = std::chrono::steady_clock::now() + 120s;
  while (!condition() && std::chrono::steady_clock::now() < end) {
    pollfd ready{recorder.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 20);
    recorder.drain();
  }
  ASSERT_TRUE(condition());
}

Recorder::Finished finished_of(Recorder& recorder) {
  std::vector<Recorder::Finished> finished;
  wait_until(recorder, [&] {
    if (finished.empty()) finished = recorder.take_finished();
    return !finished.empty();
  });
  return finished.empty() ? Recorder::Finished{.kept = fail("nothing came")} : finished.front();
}

/// All that is told until `part` is.
std::string told(Recorder& recorder, std::string_view part) {
  std::string text;
  wait_until(recorder, [&] {
    for (const std::string& sentence : recorder.take_troubles()) text += sentence + "\n";
    return text.contains(part);
  });
  return text;
}

const store::Change kEnd{
    .status = store::RunStatus::finished, .end = 1'000'000, .tags = {{"plimsoll.outcome", "finished"}}};

TEST(Recorder, SaysWhenAMetricIsKept) {
  Bench bench;
  Recorder recorder(*store::open(bench.path), nullptr, {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  const std::uint64_t number = recorder.metric(1, "loss", {store::now(), 3, 0.5}, {});
  wait_until(recorder, [&] { return recorder.committed(1) >= number; });
  EXPECT_EQ(bench.store->find(bench.id)->metrics.at("loss").latest.value, 0.5);
  EXPECT_THAT(recorder.take_troubles(), testing::IsEmpty());
}

TEST(Recorder, KeepsWhatAFullDiskRefusedUntilThereIsRoom) {
  Bench bench;
  Fault fault;
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                    {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  for (int i = 0; i < 100; ++i) std::ignore = recorder.metric(1, "loss", {store::now(), i, 1.0 * i}, {});
  EXPECT_THAT(told(recorder, "nothing"), testing::HasSubstr("the disk is full")) << "at once, not at the end";
  EXPECT_EQ(recorder.committed(1), 0U) << "nothing is said to be kept that is not";
  recorder.finish(1, kEnd, {}, 0ms);
  fault.refuses = false;
  const Recorder::Finished finished = finished_of(recorder);
  EXPECT_TRUE(finished.kept) << finished.kept.error().text();
  EXPECT_EQ(finished.metrics_lost, 0U);
  EXPECT_EQ(told(recorder, "again"), "the store takes metrics again\n");
  const auto run = bench.store->find(bench.id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->metrics.at("loss").points, 100);
  EXPECT_EQ(run->status, store::RunStatus::finished);
  EXPECT_THAT(run->tags.at("plimsoll.store.trouble"), testing::HasSubstr("the disk is full"));
}

TEST(Recorder, GivesUpAfterItsPatience) {
  Bench bench;
  Fault fault;
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                    {.metrics_interval = 5ms, .patience = 30ms});
  recorder.begin(1, bench.id, {});
  std::ignore = recorder.metric(1, "loss", {store::now(), 1, 1}, {});
  recorder.finish(1, kEnd, {}, 0ms);
  const Recorder::Finished finished = finished_of(recorder);
  EXPECT_FALSE(finished.kept);
  EXPECT_EQ(finished.metrics_lost, 1U);
}

/// An error that nobody foresaw, or damage that somebody mends, is no reason to forget what was taken.
TEST(Recorder, KeepsWhatWasRefusedForAnyReasonUntilTheStoreComesBack) {
  for (const Error::Kind kind : {Error::Kind::bad_input, Error::Kind::internal}) {
    Bench bench;
    Fault fault{.error = {"SQLite says: no such table", {}, {}, kind}};
    Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                      {.metrics_interval = 5ms, .refused = {.pause = 5ms}});
    recorder.begin(1, bench.id, {});
    std::uint64_t number = 0;
    for (int i = 0; i < 100; ++i)
      number = recorder.metric(1, i % 2 == 0 ? "loss" : "accuracy", {store::now(), i, 1.0 * i}, {});
    EXPECT_THAT(told(recorder, "refuses"), testing::HasSubstr("no such table"));
    EXPECT_EQ(recorder.committed(1), 0U);
    fault.refuses = false;
    wait_until(recorder, [&] { return recorder.committed(1) >= number; });
    EXPECT_EQ(bench.store->find(bench.id)->metrics.at("loss").points, 50);
    EXPECT_EQ(bench.store->find(bench.id)->metrics.at("accuracy").points, 50);
  }
}

/// The others of the run are kept; but what stands after the refused one is not acknowledged: "the first N"
/// would include it.
TEST(Recorder, AcknowledgesNothingBeyondAMetricThatIsRefused) {
  Bench bench;
  const std::string other = *bench.store->create({.start = store::now()});
  Fault fault{.error = {"the store is damaged", {}, {}, Error::Kind::bad_input}, .metric = "bad"};
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                    {.metrics_interval = 5ms, .refused = {.patience = 50ms, .pause = 5ms}});
  recorder.begin(1, bench.id, {});
  recorder.begin(2, other, {});
  const std::uint64_t before = recorder.metric(1, "good", {store::now(), 1, 1}, {});
  std::ignore = recorder.metric(1, "bad", {store::now(), 1, 1}, {});
  std::ignore = recorder.metric(1, "good", {store::now(), 2, 1}, {});
  const std::uint64_t elsewhere = recorder.metric(2, "good", {store::now(), 1, 1}, {});
  wait_until(recorder, [&] { return recorder.committed(2) >= elsewhere; });
  EXPECT_EQ(recorder.committed(1), before);
  EXPECT_EQ(bench.store->find(bench.id)->metrics.at("good").points, 2) << "it keeps no other out";
  EXPECT_THAT(told(recorder, "lost"), testing::HasSubstr("metric 'bad'"));
  ASSERT_TRUE(recorder.lost(1));
  EXPECT_THAT(*recorder.lost(1), testing::HasSubstr("damaged"));
  EXPECT_FALSE(recorder.lost(2));
  const std::uint64_t later = recorder.metric(1, "good", {store::now(), 3, 1}, {});
  wait_until(recorder, [&] { return bench.store->find(bench.id)->metrics.at("good").points == 3; });
  EXPECT_LT(recorder.committed(1), later);
  EXPECT_THAT(bench.store->find(bench.id)->tags["plimsoll.store.trouble"], testing::HasSubstr("'bad'"))
      << "the record says it while the run goes on";
  recorder.finish(1, kEnd, {}, 0ms);
  const Recorder::Finished finished = finished_of(recorder);
  EXPECT_TRUE(finished.kept);
  EXPECT_EQ(finished.metrics_lost, 1U);
  EXPECT_EQ(bench.store->find(bench.id)->tags.at("plimsoll.metrics_lost"), "1");
}

/// Each kind of trouble is one line, whatever the number of metrics and attempts.
TEST(Recorder, TellsATroubleOnce) {
  Bench bench;
  Fault fault{.error = {"the store is damaged", {}, {}, Error::Kind::bad_input}};
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                    {.metrics_interval = 1ms, .refused = {.patience = 0ms, .pause = 1ms}});
  recorder.begin(1, bench.id, {});
  for (int i = 0; i < 200; ++i) std::ignore = recorder.metric(1, fmt::format("m{}", i % 20), {i, i, 0}, {});
  std::string text = told(recorder, "lost");
  for (int i = 0; i < 200; ++i) std::ignore = recorder.metric(1, fmt::format("m{}", i % 20), {i, i, 0}, {});
  recorder.finish(1, kEnd, {}, 0ms);
  const Recorder::Finished finished = finished_of(recorder);
  EXPECT_FALSE(finished.kept);
  EXPECT_EQ(finished.metrics_lost, 400U);
  for (const std::string& sentence : recorder.take_troubles()) text += sentence + "\n";
  EXPECT_LE(std::ranges::count(text, '\n'), 3) << text;
}

/// Status, time and outcome come first, and cost nothing that comes after them.
TEST(Recorder, WritesTheEndOfARunBeforeAllElse) {
  Bench bench;
  Fault fault{.error = {"the store is damaged", {}, {}, Error::Kind::bad_input}, .metric = "loss"};
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), fault), nullptr,
                    {.metrics_interval = 5ms, .patience = 1h, .refused = {.patience = 1h, .pause = 5ms}});
  recorder.begin(1, bench.id, {});
  std::ignore = recorder.metric(1, "loss", {store::now(), 1, 1}, {});
  recorder.finish(1, kEnd, {.tags = {{"late", "1"}}}, 0ms);
  wait_until(recorder, [&] { return bench.store->find(bench.id)->status == store::RunStatus::finished; });
  const auto run = bench.store->find(bench.id);
  EXPECT_EQ(run->end, 1'000'000);
  EXPECT_EQ(run->tags.at("plimsoll.outcome"), "finished");
  EXPECT_FALSE(run->tags.contains("late")) << "the metric is still waited for";
  fault.refuses = false;
  EXPECT_TRUE(finished_of(recorder).kept);
  EXPECT_EQ(bench.store->find(bench.id)->tags.at("late"), "1");
  EXPECT_EQ(bench.store->find(bench.id)->metrics.at("loss").points, 1);
}

TEST(Recorder, KeepsTheEndOfARunWhoseOutcomeCannotBeWritten) {
  Bench bench;
  Recorder recorder(*store::open(bench.path), nullptr, {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  store::Change end = kEnd;
  end.tags["plimsoll.reason"] = std::string(std::size_t{1} << 20, 'x');  // longer than a tag may be
  recorder.finish(1, end, {}, 0ms);
  EXPECT_TRUE(finished_of(recorder).kept);
  EXPECT_EQ(bench.store->find(bench.id)->status, store::RunStatus::finished);
}

/// A million points from eight clients' sides, through a store that refuses, is damaged, and comes back.
TEST(Recorder, EveryAcknowledgedPointOfAMillionIsInTheStore) {
  constexpr std::int64_t kTotal = 1'000'000;
  constexpr int kRuns = 8;
  Bench bench;
  Fault fault{.error = {"SQLite says: something new", {}, {}, Error::Kind::internal}};
  fault.refuses = false;
  std::vector<std::string> ids;
  std::vector<std::uint64_t> last(kRuns);
  for (int run = 0; run < kRuns; ++run) ids.push_back(*bench.store->create({.start = store::now()}));
  Recorder recorder(
      std::make_unique<Refusing>(*store::open(bench.path, {.survives_power_cut = false}), fault), nullptr,
      {.metrics_interval = 20ms, .refused = {.patience = 1h, .pause = 5ms}});
  for (int run = 0; run < kRuns; ++run) recorder.begin(run, ids[static_cast<std::size_t>(run)], {});
  for (std::int64_t i = 0; i < kTotal; ++i) {
    const auto run = static_cast<std::size_t>(i % kRuns);
    last[run] = recorder.metric(static_cast<int>(run), "loss", {i, i, 1.0 * static_cast<double>(i)}, {});
    if (i % 100'000 == 0) fault.refuses = i % 200'000 == 0;
    if (i % 10'000 != 0) continue;
    // What is acknowledged now is there now. Numbers are given in turn, from 1 on.
    const auto committed = static_cast<std::int64_t>(recorder.committed(0));
    const auto there = bench.store->find(ids[0])->metrics;
    const std::int64_t points = there.contains("loss") ? there.at("loss").points : 0;
    ASSERT_GE(points, (committed + kRuns - 1) / kRuns) << i;
  }
  fault.refuses = false;
  for (std::size_t run = 0; run < kRuns; ++run) {
    wait_until(recorder, [&] { return recorder.committed(static_cast<int>(run)) >= last[run]; });
    const auto history = bench.store->history(ids[run], "loss");
    ASSERT_TRUE(history);
    ASSERT_EQ(history->size(), static_cast<std::size_t>(kTotal / kRuns));
    for (std::size_t i = 0; i < history->size(); ++i)
      ASSERT_EQ((*history)[i].step, static_cast<std::int64_t>(i * kRuns + run));
  }
}

TEST(Summary, IsTakenFromWhatWasSampled) {
  Bench bench;
  const store::Time start = 1'000'000'000;
  const auto id = bench.store->create(
      {.start = start,
       .tags = {
           {"plimsoll.fingerprint", "f"}, {"plimsoll.mode", "alone"}, {"plimsoll.device.0.name", "H200"}}});
  ASSERT_TRUE(id);
  const auto series = [&](const std::string& metric, std::vector<double> values) {
    store::Batch batch{*id, metric, {}, {}};
    for (std::size_t i = 0; i < values.size(); ++i)
      batch.points.push_back({start + static_cast<store::Time>(i) * 1'000'000, 0, values[i]});
    ASSERT_TRUE(bench.store->append({&batch, 1}));
  };
  series("system/gpu/0/energy", {5, 10, 25, 35});
  series("system/gpu/0/sm_activity", {0, 0.2, 0.4, 0.6});
  series("system/run/gpu/0/memory", {1, 9, 3, 2});
  series("system/run/cpu_time", {0, 1, 3, 4});
  const store::Batch steps{*id, "loss", {}, {{start + 1'000'000, 10, 1}, {start + 3'000'000, 30, 0.5}}};
  ASSERT_TRUE(bench.store->append({&steps, 1}));
  const auto summary = summarise(*bench.store, *bench.store->find(*id), start + 4'000'000);
  ASSERT_TRUE(summary) << summary.error().text();
  std::map<std::string, double> values;
  for (const store::Batch& batch : *summary) values[batch.metric] = batch.points.at(0).value;
  EXPECT_EQ(values.at("summary/seconds"), 4);
  EXPECT_EQ(values.at("summary/gpu_energy"), 30);
  EXPECT_DOUBLE_EQ(values.at("summary/sm_activity_mean"), 0.3);
  EXPECT_EQ(values.at("summary/gpu_memory_peak"), 9);
  EXPECT_EQ(values.at("summary/cpu_seconds"), 4);
  EXPECT_EQ(values.at("summary/steps_per_second"), 10);
  EXPECT_DOUBLE_EQ(values.at("summary/sm_activity_working"), 0.4) << "start-up left out";
  EXPECT_FALSE(values.contains("summary/host_energy")) << "what was not sampled is absent";
  ASSERT_TRUE(bench.store->append(*summary));
  ASSERT_TRUE(bench.store->change(*id, {.status = store::RunStatus::finished}));
  const auto alone = solo_profile(*bench.store, "f", "H200");
  ASSERT_TRUE(alone);
  EXPECT_DOUBLE_EQ(alone->sm_activity, 0.4);
  EXPECT_EQ(alone->steps_per_second, 10);
  EXPECT_FALSE(solo_profile(*bench.store, "f", "A100"));
  EXPECT_EQ(last_gpu_memory(*bench.store, "f"), Bytes(9));
}

/// A chunk that cannot be read costs the figures that need it, and no others.
TEST(Summary, IsTakenAsFarAsItCanBeHad) {
  Bench bench;
  const auto series = [&](const std::string& metric) {
    store::Batch batch{bench.id, metric, {}, {}};
    for (int i = 0; i < 10; ++i) batch.points.push_back({i * 1'000'000, i, 1.0 * i});
    ASSERT_TRUE(bench.store->append({&batch, 1}));
  };
  series("system/gpu/0/energy");
  series("system/gpu/1/energy");
  series("system/run/cpu_time");
  series("loss");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(bench.path.c_str(), &handle), SQLITE_OK);
  const char* const damage =
      "UPDATE chunk SET bytes = x'0102' WHERE metric IN (SELECT id FROM metric WHERE name IN "
      "('system/gpu/1/energy', 'loss'))";
  ASSERT_EQ(sqlite3_exec(handle, damage, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  const auto summary = summarise(*bench.store, *bench.store->find(bench.id), 20'000'000);
  ASSERT_TRUE(summary) << summary.error().text();
  std::map<std::string, double> values;
  for (const store::Batch& batch : *summary) values[batch.metric] = batch.points.at(0).value;
  EXPECT_EQ(values.at("summary/cpu_seconds"), 9);
  EXPECT_TRUE(values.contains("summary/seconds"));
  EXPECT_FALSE(values.contains("summary/gpu_energy")) << "of one GPU of two is no energy of the run";

  Recorder recorder(*store::open(bench.path), nullptr, {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  recorder.finish(1, kEnd, {}, 0ms);
  EXPECT_TRUE(finished_of(recorder).kept);
  const auto run = bench.store->find(bench.id);
  EXPECT_EQ(run->status, store::RunStatus::finished);
  EXPECT_EQ(run->metrics.at("summary/cpu_seconds").latest.value, 9);
}

/// Chunks with many points have outlines; a summary needs no others.
TEST(Summary, NeedsNoPointsWhereThereAreOutlines) {
  Bench bench;
  store::Batch batch{bench.id, "system/run/cpu_time", {}, {}};
  for (int i = 0; i < 10'000; ++i) batch.points.push_back({i * 100'000, 0, 0.05 * i});
  ASSERT_TRUE(bench.store->append({&batch, 1}));
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(bench.path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "UPDATE chunk SET bytes = x'0102'", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  ASSERT_FALSE(bench.store->history(bench.id, "system/run/cpu_time"));
  const auto summary = summarise(*bench.store, *bench.store->find(bench.id), 20'000'000);
  ASSERT_TRUE(summary) << summary.error().text();
  std::map<std::string, double> values;
  for (const store::Batch& each : *summary) values[each.metric] = each.points.at(0).value;
  EXPECT_DOUBLE_EQ(values.at("summary/cpu_seconds"), 0.05 * 9999);
}

TEST(KernelKills, AreReadFromTheCgroupElseFromTheMachine) {
  const auto root = TemporaryDirectory::make();
  ASSERT_TRUE(root);
  std::filesystem::create_directories(root->path() / "self");
  std::filesystem::create_directories(root->path() / "fs/cgroup/pod");
  EXPECT_EQ(kernel_memory_kills(root->path(), root->path()), 0);
  ASSERT_TRUE(write_file(root->path() / "vmstat", "pgfault 1\noom_kill 3\n"));
  EXPECT_EQ(kernel_memory_kills(root->path(), root->path()), 3);
  ASSERT_TRUE(write_file(root->path() / "self/cgroup", "0::/pod\n"));
  ASSERT_TRUE(write_file(root->path() / "fs/cgroup/pod/memory.events",
                         "low 0\noom 9\noom_kill 7\noom_group_kill 1\n"));
  EXPECT_EQ(kernel_memory_kills(root->path(), root->path()), 7);
  ASSERT_TRUE(write_file(root->path() / "self/cgroup", "0::/../../x\n"));
  EXPECT_EQ(kernel_memory_kills(root->path(), root->path()), 3);
}

}  // namespace
}  // namespace plimsoll::running
