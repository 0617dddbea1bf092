#include "forward/forwarder.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/test_store.hpp"

namespace plimsoll::forward {
namespace {

using Json = nlohmann::json;

/// An MLflow server in a few lines: what it was asked, and what it has.
class Server {
 public:
  struct Run {
    std::string name, status = "RUNNING", stage = "active";
    std::int64_t start = 0, end = 0;
    std::map<std::string, std::string> params, tags;
    /// Equal points once, as MLflow's SQL store keeps them.
    std::map<std::string, std::set<std::tuple<std::int64_t, std::int64_t, std::string>>> metrics;
    std::string experiment;
  };

  Result<Answer> answer(const Request& request) {
    ++calls;
    if (away) return std::unexpected(Error{"away", {}, {}, Error::Kind::unavailable});
    if (status != 200 || !refusal.empty()) return Answer{status, refusal};
    const std::string call = request.path.substr(std::string("/api/2.0/mlflow/").size());
    const Json body = request.body.empty() ? Json() : Json::parse(request.body);
    Answer out = take(call, body);
    if (lose_answers > 0 && call == "runs/create") {
      --lose_answers;
      return std::unexpected(Error{"lost", {}, {}, Error::Kind::unavailable});
    }
    return out;
  }

  Answer take(const std::string& call, const Json& body) {
    const auto after = [&](const std::string& text) { return call.substr(text.size()); };
    if (const std::string by_name = "experiments/get-by-name?experiment_name="; call.starts_with(by_name)) {
      if (!experiments.contains(after(by_name))) return missing();
      return ok({{"experiment", {{"experiment_id", experiments.at(after(by_name))}}}});
    }
    if (call == "experiments/create") {
      const std::string id = std::to_string(experiments.size());
      experiments[body["name"]] = id;
      return ok({{"experiment_id", id}});
    }
    if (const std::string get = "runs/get?run_id="; call.starts_with(get))
      return runs.contains(after(get)) ? ok({{"run", json(after(get))}}) : missing();
    if (call == "runs/search") {
      Json found = Json::array();
      for (const auto& [id, run] : runs)
        if (body["filter"] == "tags.`plimsoll.run` = '" + run.tags.at("plimsoll.run") + "'")
          found.push_back(json(id));
      return ok({{"runs", found}});
    }
    if (call == "runs/create") {
      const std::string id = "there" + std::to_string(runs.size());
      Run& run = runs[id];
      run.name = body.value("run_name", "made up");
      run.start = body["start_time"];
      run.experiment = body["experiment_id"];
      for (const Json& tag : body["tags"]) run.tags[tag["key"]] = tag["value"];
      return ok({{"run", json(id)}});
    }
    Run& run = runs.at(body["run_id"]);
    if (call == "runs/update") {
      run.status = body["status"];
      run.end = body.value("end_time", 0);
      run.name = body.value("run_name", run.name);
      return ok(Json::object());
    }
    EXPECT_EQ(call, "runs/log-batch");
    ++batches;
    for (const char* list : {"params", "tags", "metrics"})
      for (const Json& entry : body[list])
        if (entry["key"] == refused_key)
          return {400, R"({"error_code": "INVALID_PARAMETER_VALUE", "message": "not this key"})"};
    if (refuses_known_points && refuses(run, body["metrics"]))
      return {400, R"({"error_code": "BAD_REQUEST", "message": "UNIQUE constraint failed: metrics.key"})"};
    points += body["metrics"].size();
    EXPECT_LE(body["metrics"].size() + body["params"].size() + body["tags"].size(), 1000U);
    for (const Json& param : body["params"]) {
      EXPECT_FALSE(run.params.contains(param["key"])) << param;
      run.params[param["key"]] = param["value"];
    }
    for (const Json& tag : body["tags"]) run.tags[tag["key"]] = tag["value"];
    for (const Json& m : body["metrics"])
      run.metrics[m["key"]].emplace(m["timestamp"], m["step"], m["value"].dump());
    return ok(Json::object());
  }

  /// As MLflow 2's SQL stores: points that are there are found by 100 keys at a time, and others are taken
  /// for new; a NaN is never found.
  static bool refuses(const Run& run, const Json& metrics) {
    const auto known = [&](const Json& m) {
      const auto found = run.metrics.find(m["key"]);
      return found != run.metrics.end() &&
             found->second.contains({m["timestamp"], m["step"], m["value"].dump()});
    };
    if (std::ranges::none_of(metrics, known)) return false;
    for (std::size_t first = 0; first < metrics.size(); first += 100) {
      std::set<std::string> keys;
      for (std::size_t i = first; i < std::min(first + 100, metrics.size()); ++i)
        keys.insert(metrics[i]["key"].get<std::string>());
      for (const Json& m : metrics)
        if (known(m) && (m["value"] == "NaN" || !keys.contains(m["key"].get<std::string>()))) return true;
    }
    return false;
  }

  Json json(const std::string& id) const {
    const Run& run = runs.at(id);
    Json out = {{"info", {{"run_id", id}, {"experiment_id", run.experiment}, {"lifecycle_stage", run.stage}}},
                {"data", {{"params", Json::array()}, {"tags", Json::array()}, {"metrics", Json::array()}}}};
    for (const auto& [key, value] : run.params)
      out["data"]["params"].push_back({{"key", key}, {"value", value}});
    for (const auto& [key, value] : run.tags) out["data"]["tags"].push_back({{"key", key}, {"value", value}});
    for (const auto& [key, metric] : run.metrics) {
      const auto latest = std::ranges::max(
          metric, {}, [](const auto& p) { return std::pair(std::get<1>(p), std::get<0>(p)); });
      out["data"]["metrics"].push_back(
          {{"key", key}, {"timestamp", std::to_string(std::get<0>(latest))}, {"step", std::get<1>(latest)}});
    }
    return out;
  }

  static Answer ok(const Json& body) { return {200, body.dump()}; }
  static Answer missing() { return {404, R"({"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no"})"}; }

  std::map<std::string, std::string> experiments = {{"Default", "0"}};
  std::map<std::string, Run> runs;
  bool away = false, refuses_known_points = false;
  long status = 200;
  std::string refusal, refused_key;
  int calls = 0, batches = 0, lose_answers = 0;
  std::size_t points = 0;
};

class ForwarderTest : public store::test::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    id_ = new_run({.experiment = "vision",
                   .name = "first",
                   .start = 5'000'000,
                   .params = {{"lr", "0.1"}},
                   .tags = {{"note", "a"}, {"plimsoll.user", "ada"}}});
  }
  Forwarder forwarder() { return {*store_, remote_, "http://host", id_}; }
  void append(const std::string& metric, std::vector<store::Point> points) {
    const store::Batch batch{.run = id_, .metric = metric, .points = std::move(points)};
    ASSERT_TRUE(store_->append({&batch, 1}));
  }
  void end(store::RunStatus status = store::RunStatus::finished) {
    ASSERT_TRUE(store_->change(id_, {.status = status, .end = 9'000'000}));
  }
  static void send_all(Forwarder& forwarder) {
    for (;;) {
      const Result<bool> more = forwarder.send_some();
      ASSERT_TRUE(more) << more.error().text();
      if (!*more) return;
    }
  }
  std::size_t points_there(const std::string& metric) {
    return server_.runs.at("there0").metrics[metric].size();
  }

  Server server_;
  MlflowRemote remote_{[this](const Request& request) { return server_.answer(request); }, "http://host"};
  std::string id_;
};

TEST_F(ForwarderTest, BringsARunAsItGrowsAndItsEnd) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(0, 10));
  send_all(live);
  EXPECT_FALSE(live.complete());
  const Server::Run& there = server_.runs.at("there0");
  EXPECT_EQ(there.name, "first");
  EXPECT_EQ(there.start, 5000);
  EXPECT_EQ(there.experiment, server_.experiments.at("vision"));
  EXPECT_EQ(there.params, (std::map<std::string, std::string>{{"lr", "0.1"}}));
  EXPECT_EQ(there.tags.at("plimsoll.run"), id_);
  EXPECT_EQ(there.tags.at("note"), "a");
  EXPECT_EQ(points_there("loss"), 10U);
  append("loss", store::test::counting(10, 2500));
  append("accuracy", {{1000, 0, std::nan("")}, {2000, 1, std::numeric_limits<double>::infinity()}});
  ASSERT_TRUE(store_->change(id_, {.params = {{"depth", "3"}}, .tags = {{"note", "b"}}}));
  send_all(live);
  EXPECT_EQ(there.status, "RUNNING");
  EXPECT_EQ(points_there("loss"), 2510U);
  EXPECT_EQ(server_.points, 2512U);  // none twice
  EXPECT_TRUE(server_.runs.at("there0").metrics["accuracy"].contains({1, 0, "\"NaN\""}));
  EXPECT_EQ(there.tags.at("note"), "b");
  end();
  send_all(live);
  EXPECT_TRUE(live.complete());
  EXPECT_EQ(there.status, "FINISHED");
  EXPECT_EQ(there.end, 9000);
  const Result<store::Run> here = store_->find(id_);
  ASSERT_TRUE(here);
  EXPECT_EQ(here->tags.at(kServerTag), "http://host");
  EXPECT_EQ(here->tags.at(kRemoteRunTag), "there0");
  for (const auto& [tag, value] : there.tags) EXPECT_FALSE(tag.starts_with("plimsoll.mlflow")) << tag;
}

TEST_F(ForwarderTest, GoesOnWhileMoreComesWhateverTheStatus) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(0, 10));
  end();
  for (int round = 0; round < 3; ++round) {
    while (*live.send_some(true)) {
    }
    EXPECT_FALSE(live.complete());
    EXPECT_EQ(server_.runs.at("there0").status, "RUNNING");
    EXPECT_EQ(points_there("loss"), 10U + 10U * static_cast<unsigned>(round));
    append("loss", store::test::counting(10 + 10 * round, 10));
  }
  send_all(live);
  EXPECT_TRUE(live.complete());
  EXPECT_EQ(server_.runs.at("there0").status, "FINISHED");
  EXPECT_EQ(points_there("loss"), 40U);
}

TEST_F(ForwarderTest, WhatTheServerDoesNotTakeHoldsNothingBack) {
  server_.refused_key = "no:colons";
  ASSERT_TRUE(store_->change(
      id_, {.params = {{"no:colons", "1"}, {"zeta", "2"}}, .tags = {{"no:colons", "x"}, {"other", "y"}}}));
  append("loss", store::test::counting(0, 10));
  end();
  Forwarder live = forwarder();
  send_all(live);
  EXPECT_TRUE(live.complete());
  const Server::Run& there = server_.runs.at("there0");
  EXPECT_EQ(there.params, (std::map<std::string, std::string>{{"lr", "0.1"}, {"zeta", "2"}}));
  EXPECT_EQ(there.tags.at("other"), "y");
  EXPECT_FALSE(there.tags.contains("no:colons"));
  EXPECT_EQ(there.status, "FINISHED");
  EXPECT_EQ(points_there("loss"), 10U);
  EXPECT_EQ(live.refused(), (std::vector<Forwarder::Refused>{
                                {"param 'no:colons'", "runs/log-batch was answered 400: not this key"},
                                {"tag 'no:colons'", "runs/log-batch was answered 400: not this key"}}));
  const int calls = server_.calls;
  send_all(live);
  EXPECT_EQ(server_.calls, calls);
}

TEST_F(ForwarderTest, PointsThatTheServerDoesNotTakeAreAnError) {
  append("bad", store::test::counting(0, 10));
  server_.refused_key = "bad";
  Forwarder live = forwarder();
  EXPECT_EQ(live.send_some(), true);  // params and tags one by one
  const Result<bool> refused = live.send_some();
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().may_pass());
  EXPECT_TRUE(live.refused().empty());
}

TEST_F(ForwarderTest, NothingNewCostsNoCall) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(0, 10));
  send_all(live);
  const int calls = server_.calls;
  send_all(live);
  EXPECT_EQ(server_.calls, calls);
}

TEST_F(ForwarderTest, LatePointsArriveAtTheEnd) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(100, 1500));
  send_all(live);
  append("loss", store::test::counting(0, 3));  // earlier than all
  append("loss", store::test::counting(1600, 4));
  send_all(live);
  EXPECT_EQ(points_there("loss"), 1504U);
  end();
  send_all(live);
  EXPECT_EQ(points_there("loss"), 1507U);
  EXPECT_TRUE(live.complete());
}

TEST_F(ForwarderTest, PointsThatTheStoreHasTwiceAreNoReasonToSendAgain) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(0, 10));
  append("loss", store::test::counting(0, 10));
  end();
  send_all(live);
  EXPECT_EQ(server_.points, 10U);
  EXPECT_TRUE(live.complete());
}

TEST_F(ForwarderTest, GoesOnInTheSameRun) {
  append("loss", store::test::counting(0, 10));
  Forwarder first = forwarder();
  send_all(first);
  append("loss", store::test::counting(10, 10));
  end();
  Forwarder second = forwarder();
  send_all(second);
  EXPECT_FALSE(second.created());
  EXPECT_EQ(server_.runs.size(), 1U);
  EXPECT_EQ(points_there("loss"), 20U);
  EXPECT_EQ(server_.runs.at("there0").status, "FINISHED");
  const std::size_t sent = server_.points;
  Forwarder third = forwarder();
  send_all(third);
  EXPECT_TRUE(third.complete());
  EXPECT_EQ(server_.points, sent);  // all was there
}

TEST_F(ForwarderTest, SendsAgainWhereTheServerLostPoints) {
  append("loss", store::test::counting(0, 10));
  end();
  Forwarder first = forwarder();
  send_all(first);
  server_.runs.at("there0").metrics.clear();
  Forwarder second = forwarder();
  send_all(second);
  EXPECT_EQ(points_there("loss"), 10U);
  server_.runs.clear();
  Forwarder third = forwarder();
  send_all(third);
  EXPECT_TRUE(third.created());
  EXPECT_EQ(points_there("loss"), 10U);
}

TEST_F(ForwarderTest, ALostAnswerMakesNoSecondRun) {
  server_.lose_answers = 1;
  Forwarder live = forwarder();
  const Result<bool> lost = live.send_some();
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().may_pass());
  send_all(live);
  EXPECT_EQ(server_.runs.size(), 1U);
}

TEST_F(ForwarderTest, AServerThatIsAwayLosesNothing) {
  Forwarder live = forwarder();
  append("loss", store::test::counting(0, 1500));
  ASSERT_TRUE(live.send_some());
  server_.away = true;
  EXPECT_FALSE(live.send_some());
  append("loss", store::test::counting(1500, 5));
  EXPECT_FALSE(live.send_some());
  server_.away = false;
  end(store::RunStatus::failed);
  send_all(live);
  EXPECT_EQ(points_there("loss"), 1505U);
  EXPECT_EQ(server_.points, 1505U);
  EXPECT_EQ(server_.runs.at("there0").status, "FAILED");
}

TEST_F(ForwarderTest, NamesThatMlflowDoesNotTakeStayApart) {
  append("hit@5", store::test::counting(0, 3));
  append("hit%5", store::test::counting(0, 4));
  Forwarder live = forwarder();
  send_all(live);
  const auto& metrics = server_.runs.at("there0").metrics;
  ASSERT_EQ(metrics.size(), 2U);
  std::set<std::size_t> sizes;
  for (const auto& [key, points] : metrics) sizes.insert(points.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{3, 4}));
}

TEST_F(ForwarderTest, AParentIsNamedAsItIsThere) {
  Forwarder parent = forwarder();
  send_all(parent);
  const std::string child = new_run({.tags = {{"mlflow.parentRunId", id_}}});
  Forwarder sent(*store_, remote_, "http://host", child);
  send_all(sent);
  EXPECT_EQ(server_.runs.at("there1").tags.at("mlflow.parentRunId"), "there0");
}

TEST_F(ForwarderTest, DeletedThereIsAnErrorForGood) {
  Forwarder first = forwarder();
  send_all(first);
  server_.runs.at("there0").stage = "deleted";
  Forwarder second = forwarder();
  const Result<bool> refused = second.send_some();
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().may_pass());
}

TEST_F(ForwarderTest, WhatTheServerSaysBecomesAnError) {
  const auto error = [&](long status, const std::string& body) {
    server_.status = status;
    server_.refusal = body;
    Forwarder live = forwarder();
    const Result<bool> refused = live.send_some();
    return refused ? Error{} : refused.error();
  };
  EXPECT_EQ(error(503, "busy").kind, Error::Kind::unavailable);
  EXPECT_EQ(error(429, "").kind, Error::Kind::unavailable);
  EXPECT_EQ(error(401, "").kind, Error::Kind::bad_input);
  EXPECT_NE(error(401, "").hint.find("MLFLOW_TRACKING_TOKEN"), std::string::npos);
  EXPECT_EQ(error(302, "").kind, Error::Kind::bad_input);
  EXPECT_NE(error(404, "<html>").message.find("not an MLflow server"), std::string::npos);
  EXPECT_EQ(error(200, "<html>").kind, Error::Kind::bad_input);
  const Error said = error(400, R"({"error_code": "INVALID_PARAMETER_VALUE", "message": "bad \u001b[31m"})");
  EXPECT_NE(said.message.find("bad \\x1b[31m"), std::string::npos) << said.message;
}

TEST_F(ForwarderTest, PointsThatAreThereAlreadyAreLeftWhereTheServerRefusesThem) {
  append("loss", {{1'000'000, 0, 0.5}, {2'000'000, 1, std::nan("")}, {3'000'000, 2, 0.25}});
  constexpr int kKeys = 150;
  for (int key = 0; key < kKeys; ++key)
    append(fmt::format("key{}", key), {{1'000'000, 0, 0.5}, {2'000'000, 1, 0.25}});
  end();
  server_.refuses_known_points = true;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->change(id_, {.tags = {{kPointsTag, "0"}}}));  // as after a process that was killed
    Forwarder again = forwarder();
    send_all(again);
    EXPECT_TRUE(again.complete());
    EXPECT_EQ(points_there("loss"), 3U);
    EXPECT_EQ(points_there("key149"), 2U);
  }
}

}  // namespace
}  // namespace plimsoll::forward
