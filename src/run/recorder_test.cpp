#include "run/recorder.hpp"

#include <atomic>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/files.hpp"
#include "run/watch.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using namespace std::chrono_literals;

/// A store whose disk is full for a while.
class Refusing final : public store::Store {
 public:
  explicit Refusing(std::unique_ptr<store::Store> inner, std::atomic<bool>& refuses)
      : inner_(std::move(inner)), refuses_(refuses) {}
  Result<std::string> create(const store::NewRun& run) override { return inner_->create(run); }
  Status change(std::string_view run, const store::Change& change) override {
    return refuses_ ? refused() : inner_->change(run, change);
  }
  Status append(std::span<const store::Batch> batches) override {
    return refuses_ ? refused() : inner_->append(batches);
  }
  Status compact(std::string_view run) override { return inner_->compact(run); }
  Result<store::Run> find(std::string_view id) override { return inner_->find(id); }
  Result<std::vector<store::Found>> search(const store::Search& search, const store::Known& known) override {
    return inner_->search(search, known);
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
  Result<std::size_t> purge() override { return inner_->purge(); }
  Result<std::filesystem::path> artifacts(std::string_view run) override { return inner_->artifacts(run); }
  Result<std::filesystem::path> uploads() override { return inner_->uploads(); }
  Result<std::vector<store::File>> files(std::string_view run) override { return inner_->files(run); }
  std::string location() const override { return inner_->location(); }

 private:
  static Status refused() {
    return std::unexpected(Error{"the disk is full", {}, {}, Error::Kind::machine_lacks});
  }
  std::unique_ptr<store::Store> inner_;
  std::atomic<bool>& refuses_;
};

struct Bench {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  std::string path = (directory->path() / "s.db").string();
  std::unique_ptr<store::Store> store = *store::open(path);
  std::string id = *store->create({.start = store::now()});
};

void wait_until(Recorder& recorder, const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    pollfd ready{recorder.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, 20);
    recorder.drain();
  }
  ASSERT_TRUE(condition());
}

TEST(Recorder, SaysWhenAMetricIsKept) {
  Bench bench;
  Recorder recorder(*store::open(bench.path), nullptr, {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  const std::uint64_t number = recorder.metric(1, "loss", {store::now(), 3, 0.5}, {});
  wait_until(recorder, [&] { return recorder.committed() >= number; });
  EXPECT_EQ(bench.store->find(bench.id)->metrics.at("loss").latest.value, 0.5);
}

TEST(Recorder, KeepsWhatAFullDiskRefusedUntilThereIsRoom) {
  Bench bench;
  std::atomic<bool> refuses = true;
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), refuses), nullptr,
                    {.metrics_interval = 5ms});
  recorder.begin(1, bench.id, {});
  std::uint64_t number = 0;
  for (int i = 0; i < 100; ++i) number = recorder.metric(1, "loss", {store::now(), i, 1.0 * i}, {});
  recorder.finish(1, {.status = store::RunStatus::finished, .end = store::now()}, 0ms);
  wait_until(recorder, [&] { return recorder.trouble().has_value(); });
  EXPECT_EQ(recorder.committed(), 0U) << "nothing is said to be kept that is not";
  refuses = false;
  std::vector<Recorder::Finished> finished;
  wait_until(recorder, [&] {
    if (finished.empty()) finished = recorder.take_finished();
    return !finished.empty();
  });
  EXPECT_TRUE(finished.front().kept) << finished.front().kept.error().text();
  EXPECT_GE(recorder.committed(), number);
  const auto run = bench.store->find(bench.id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->metrics.at("loss").points, 100);
  EXPECT_EQ(run->status, store::RunStatus::finished);
}

TEST(Recorder, GivesUpAfterItsPatience) {
  Bench bench;
  std::atomic<bool> refuses = true;
  Recorder recorder(std::make_unique<Refusing>(*store::open(bench.path), refuses), nullptr,
                    {.metrics_interval = 5ms, .patience = 30ms});
  recorder.begin(1, bench.id, {});
  static_cast<void>(recorder.metric(1, "loss", {store::now(), 1, 1}, {}));
  recorder.finish(1, {.status = store::RunStatus::finished}, 0ms);
  std::vector<Recorder::Finished> finished;
  wait_until(recorder, [&] {
    if (finished.empty()) finished = recorder.take_finished();
    return !finished.empty();
  });
  EXPECT_FALSE(finished.front().kept);
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
