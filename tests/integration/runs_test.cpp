// `plimsoll runs` as a person runs it, on a store that was made beforehand.
#include <cmath>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

class Runs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    path_ = (directory_->path() / "runs.db").string();
    const auto opened = store::open(path_);
    ASSERT_TRUE(opened) << opened.error().text();
    store::Store& store = **opened;
    first_ = add(store, "first", "0.1", "finished", 0.5);
    second_ = add(store, "second", "0.01", "cuda-out-of-memory", 0.25);
    const Result<std::filesystem::path> files = store.artifacts(first_);
    ASSERT_TRUE(files);
    std::ofstream(*files / "output.log") << "epoch 1\n";
  }

  static std::string add(store::Store& store, const std::string& name, const std::string& lr,
                         const std::string& outcome, double loss) {
    constexpr store::Time kStart = 1'763'202'600'000'000;  // 2025-11-15 10:30:00 UTC
    const Result<std::string> id =
        store.create({.experiment = "vision",
                      .name = name,
                      .start = kStart + (name == "second" ? 1'000'000 : 0),
                      .params = {{"lr", lr}, {"batch", "64"}},
                      .tags = {{"plimsoll.outcome", outcome}, {"model", "resnet50"}}});
    EXPECT_TRUE(id);
    const std::vector<store::Batch> batches = {
        {*id, "loss", {"1", "the command's output"}, {{kStart, 0, 2.5}, {kStart + 500'000, 1, loss}}},
        {*id, "odd", {}, {{kStart, 0, std::nan("")}}},
        {*id, "system/gpu/0/power", {"W", "NVML"}, {{kStart, 0, 301.5}}},
        {*id, "summary/gpu_energy", {"J", "NVML"}, {{kStart, 0, name == "first" ? 1000.0 : 1500.0}}}};
    EXPECT_TRUE(store.append(batches));
    EXPECT_TRUE(store.change(*id, {.status = store::RunStatus::finished, .end = kStart + 90'000'000}));
    return *id;
  }

  ProcessOutput plimsoll(std::vector<std::string> arguments, bool with_store = true) {
    ProcessOptions options;
    options.argv = {PLIMSOLL_PROGRAM, "runs"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    if (with_store) options.argv.insert(options.argv.end(), {"--store", path_});
    options.environment = {{"TZ", "UTC"}, {"PLIMSOLL_STORE", path_}, {"COLUMNS", "120"}};
    options.timeout = std::chrono::minutes(4);
    Result<ProcessOutput> got = run(options);
    if (got) return *got;
    ADD_FAILURE() << got.error().text();
    return {};
  }

  Json json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const ProcessOutput got = plimsoll(std::move(arguments));
    EXPECT_TRUE(got.succeeded()) << got.outcome() << got.error;
    EXPECT_EQ(got.error, "");
    return Json::parse(got.output, nullptr, false);
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("runs-test");
  std::string path_, first_, second_;
};

TEST_F(Runs, AreListedNewestFirst) {
  const ProcessOutput got = plimsoll({});
  EXPECT_EQ(got.exit_code, 0) << got.error;
  EXPECT_EQ(got.output,
            "Run       Name    Experiment  Outcome             Started           Duration   Energy\n" +
                second_.substr(0, 8) +
                "  second  vision      cuda-out-of-memory  2025-11-15 10:30      89 s  1.50 kJ\n" +
                first_.substr(0, 8) +
                "  first   vision      finished            2025-11-15 10:30      90 s  1.00 kJ\n");
  EXPECT_EQ(plimsoll({}, false).output, got.output) << "the same through PLIMSOLL_STORE";
}

TEST_F(Runs, AreListedAsOneDocument) {
  const Json out = json({});
  ASSERT_EQ(out.at("runs").size(), 2U);
  const Json& run = out.at("runs").at(1);
  EXPECT_EQ(run.at("id"), first_);
  EXPECT_EQ(run.at("status"), "FINISHED");
  EXPECT_EQ(run.at("outcome"), "finished");
  EXPECT_EQ(run.at("start"), "2025-11-15T10:30:00.000000Z");
  EXPECT_EQ(run.at("seconds"), 90.0);
  EXPECT_EQ(run.at("joules"), 1000.0);
  EXPECT_EQ(run.at("params"), (Json{{"lr", "0.1"}, {"batch", "64"}}));
  EXPECT_EQ(run.at("metrics").at("loss").at("value"), 0.5);
  EXPECT_EQ(run.at("metrics").at("loss").at("points"), 2);
  EXPECT_EQ(run.at("metrics").at("odd").at("value"), "NaN");
  EXPECT_EQ(run.at("metrics").at("summary/gpu_energy").at("unit"), "J");
}

TEST_F(Runs, AreFilteredOrderedAndLimited) {
  EXPECT_EQ(json({"--filter", "metrics.loss < 0.5"}).at("runs").size(), 1U);
  EXPECT_EQ(json({"--filter", "params.lr = '0.1' and tags.model LIKE 'res%'"}).at("runs").at(0).at("id"),
            first_);
  EXPECT_EQ(json({"--order-by", "metrics.loss DESC"}).at("runs").at(0).at("id"), first_);
  EXPECT_EQ(json({"--order-by", "metrics.summary/gpu_energy"}).at("runs").at(0).at("id"), first_);
  EXPECT_EQ(json({"--experiment", "text"}).at("runs").size(), 0U);
  const Json limited = json({"--limit", "1"});
  EXPECT_EQ(limited.at("runs").size(), 1U);
  EXPECT_EQ(limited.at("more"), true);
  const ProcessOutput wrong = plimsoll({"--filter", "metrics.loss << 0.5"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.error.find("filter, character 15: expected a number, but found '<'"), std::string::npos)
      << wrong.error;
  EXPECT_NE(plimsoll({"--experiment", "text"}).output.find("that match"), std::string::npos);
}

TEST_F(Runs, AsCsvHaveAColumnForEverything) {
  const std::string out = plimsoll({"--csv"}).output;
  EXPECT_EQ(out.substr(0, out.find('\r')),
            "run_id,run_name,experiment,status,start,end,seconds,joules,params.batch,params.lr,metrics.loss,"
            "metrics.odd,"
            "metrics.summary/gpu_energy,metrics.system/gpu/0/power,tags.model,tags.plimsoll.outcome");
  EXPECT_NE(out.find(first_ +
                     ",first,vision,FINISHED,2025-11-15T10:30:00.000000Z,2025-11-15T10:31:30.000000Z,90,1000,"
                     "64,0.1,0.5,nan,1000,301.5,resnet50,finished\r\n"),
            std::string::npos)
      << out;
}

TEST_F(Runs, ShowTheColumnsThatAreAskedFor) {
  const std::string out = plimsoll({"--columns", "metrics.loss,params.lr"}).output;
  EXPECT_NE(out.find("metrics.loss  params.lr\n"), std::string::npos) << out;
  EXPECT_NE(out.find("1.00 kJ           0.5  0.1\n"), std::string::npos) << out;
  EXPECT_EQ(plimsoll({"--columns", "loss"}).exit_code, 2);
}

TEST_F(Runs, AreShownWhole) {
  const ProcessOutput got = plimsoll({"show", first_.substr(0, 8)});
  EXPECT_EQ(got.exit_code, 0) << got.error;
  for (const char* part : {": first\n", "  outcome     finished\n", "  started     2025-11-15 10:30\n",
                           "lr     0.1\n", "NVML", "302 W", "output.log   8 B\n"})
    EXPECT_NE(got.output.find(part), std::string::npos) << part << " in\n" << got.output;
  EXPECT_EQ(plimsoll({first_}).output, got.output) << "`runs RUN` is `runs show RUN`";
  EXPECT_EQ(json({"show", first_}).at("files"), (Json::array({{{"path", "output.log"}, {"bytes", 8}}})));
  const ProcessOutput absent = plimsoll({"show", "0000"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.error.find("there is no run '0000'"), std::string::npos);
  const ProcessOutput idle = plimsoll({"show", first_, "--limit", "3"});
  EXPECT_EQ(idle.exit_code, 2);
  EXPECT_NE(idle.error.find("`runs show` does not take --limit"), std::string::npos) << idle.error;
  EXPECT_NE(plimsoll({"delte"}).error.find("Did you mean delete?"), std::string::npos);
}

TEST_F(Runs, AreComparedByWhatDiffers) {
  const ProcessOutput got = plimsoll({"compare", first_, second_});
  EXPECT_EQ(got.exit_code, 0) << got.error;
  const std::string& out = got.output;
  EXPECT_NE(out.find("params.lr                   0.1             0.01\n"), std::string::npos) << out;
  EXPECT_NE(out.find("metrics.summary/gpu_energy  1.00 kJ         1.50 kJ (+50 %)\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("metrics.loss                0.5             0.25 (-50 %)\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("batch"), std::string::npos) << "agrees";
  EXPECT_EQ(out.find("system/"), std::string::npos);
  const std::string all = plimsoll({"compare", first_, second_, "--all"}).output;
  EXPECT_NE(all.find("params.batch"), std::string::npos) << all;
  EXPECT_NE(all.find("metrics.system/gpu/0/power"), std::string::npos) << all;
  const Json rows = json({"compare", first_, second_}).at("rows");
  EXPECT_EQ(
      rows.at(0),
      (Json{
          {"kind", "param"}, {"name", "lr"}, {"unit", ""}, {"differs", true}, {"values", {"0.1", "0.01"}}}));
  EXPECT_EQ(plimsoll({"compare", first_}).exit_code, 2);
}

TEST_F(Runs, ExportTheirPoints) {
  const std::string expected = "run,metric,unit,time,seconds,step,value\r\n" + first_ +
                               ",loss,1,2025-11-15T10:30:00.000000Z,0.000000,0,2.5\r\n" + first_ +
                               ",loss,1,2025-11-15T10:30:00.500000Z,0.500000,1,0.5\r\n";
  EXPECT_EQ(plimsoll({"export", first_, "--metric", "loss"}).output, expected);
  const std::string file = (directory_->path() / "points.csv").string();
  const ProcessOutput written = plimsoll({"export", first_, "--metric", "loss", "--output", file});
  EXPECT_EQ(written.output, "");
  EXPECT_NE(written.error.find("2 points written"), std::string::npos);
  EXPECT_EQ(read_file(file, 1 << 20).value_or(""), expected);
  const Json points = json({"export", first_, second_}).at("points");
  ASSERT_EQ(points.size(), 10U);
  EXPECT_EQ(points.at(2).at("value"), "NaN");
  EXPECT_EQ(points.at(1), (Json{{"run", first_},
                                {"metric", "loss"},
                                {"unit", "1"},
                                {"time", "2025-11-15T10:30:00.500000Z"},
                                {"seconds", 0.5},
                                {"step", 1},
                                {"value", 0.5}}));
  const ProcessOutput wrong = plimsoll({"export", first_, "--metric", "los"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.error.find("Did you mean loss?"), std::string::npos) << wrong.error;
  const ProcessOutput nowhere = plimsoll({"export", first_, "--output", "/nonexistent/points.csv"});
  EXPECT_EQ(nowhere.exit_code, 2);
}

TEST_F(Runs, AreDeletedRestoredAndPurged) {
  EXPECT_EQ(plimsoll({"delete", first_, "0000"}).exit_code, 2);
  EXPECT_EQ(json({}).at("runs").size(), 2U) << "nothing is deleted where one is not known";
  EXPECT_EQ(json({"delete", first_.substr(0, 6)}).at("deleted"), Json::array({first_}));
  EXPECT_EQ(json({}).at("runs").size(), 1U);
  EXPECT_EQ(json({"--deleted"}).at("runs").at(0).at("id"), first_);
  EXPECT_EQ(json({"restore", first_}).at("restored"), Json::array({first_}));
  EXPECT_EQ(json({"purge"}).at("purged"), 0);
  json({"delete", first_});
  const ProcessOutput asked = plimsoll({"purge"});
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_NE(asked.error.find("--yes"), std::string::npos);
  EXPECT_EQ(json({"purge", "--yes"}).at("purged"), 1);
  EXPECT_EQ(plimsoll({"show", first_}).exit_code, 2);
  EXPECT_EQ(plimsoll({"show", second_}).exit_code, 0);
}

TEST_F(Runs, HostileNamesDoNotReachTheTerminal) {
  const auto opened = store::open(path_);
  ASSERT_TRUE(opened);
  const Result<std::string> id = (*opened)->create({.experiment = "\x1b[31mred",
                                                    .name = "two\nlines\xff",
                                                    .params = {{"a\tb", "\x1b]0;title\x07"}},
                                                    .tags = {{"plimsoll.reason", "first\nsecond\x1b[2J"}}});
  ASSERT_TRUE(id);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"show", *id},
                                                    {"compare", *id, first_, "--all"},
                                                    {"--csv"},
                                                    {"export", *id}}) {
    const ProcessOutput got = plimsoll(arguments);
    EXPECT_EQ(got.exit_code, 0) << got.error;
    EXPECT_EQ(got.output.find_first_of("\x1b\x07\t"), std::string::npos) << got.output;
  }
  EXPECT_EQ(json({"show", *id}).at("name"), "two\nlines\ufffd");
}

}  // namespace
}  // namespace plimsoll
