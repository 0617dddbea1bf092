#include "store/import_mlflow.hpp"

#include <cmath>
#include <fstream>

#include <sqlite3.h>

#include "store/mlflow_yaml.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

TEST(MlflowYaml, ReadsWhatMlflowWrites) {
  const auto meta = parse_mlflow_yaml(
      "artifact_uri: file:///x y/mlruns/0/abc/artifacts\n"
      "end_time: null\nstatus: 3\ntags: []\nname: 'it''s: here'\n"
      "long: a text that is\n  folded here\n"
      "quoted: 'two\n\n  lines'\n"
      "double: \"tab\\t\\u20AC \\\n  \\ glued\"\n"
      "negative: -1\n"
      "'odd key': x\n");
  ASSERT_TRUE(meta) << meta.error().text();
  EXPECT_EQ(meta->at("artifact_uri"), "file:///x y/mlruns/0/abc/artifacts");
  EXPECT_EQ(meta->at("end_time"), "");
  EXPECT_EQ(meta->at("name"), "it's: here");
  EXPECT_EQ(meta->at("long"), "a text that is folded here");
  EXPECT_EQ(meta->at("quoted"), "two\nlines");
  EXPECT_EQ(meta->at("double"), "tab\t\xE2\x82\xAC  glued");
  EXPECT_EQ(meta->at("negative"), "-1");
  EXPECT_EQ(meta->at("odd key"), "x");
  const auto tags =
      parse_mlflow_yaml("source_id: abc\ntags:\n  mlflow.data.context: train\n  b: 'c'\nz: 1\n");
  ASSERT_TRUE(tags) << tags.error().text();
  EXPECT_EQ(tags->at("tags.mlflow.data.context"), "train");
  EXPECT_EQ(tags->at("tags.b"), "c");
  EXPECT_EQ(tags->at("z"), "1");
  const auto aliases = parse_mlflow_yaml("aliases:\n  champion: '1'\nname: net\n");
  ASSERT_TRUE(aliases) << aliases.error().text();
  EXPECT_EQ(aliases->at("aliases.champion"), "1");
}

TEST(MlflowYaml, RefusesWhatItDoesNotWrite) {
  for (const char* text : {"a: &x 1\n", "a: *x\n", "a: !!python/object:os.system x\n", "a: |\n  b\n",
                           "a: >\n  b\n", "- a\n", "a: [1, 2]\n", "a: {b: c}\n", "a: 'open\n",
                           "a: \"bad \\q\"\n", "a: 1\na: 2\n", "no colon here\n", "---\na: 1\n", "  a: 1\n",
                           "a: 'x' y\n", "a: \"\\uZZZZ\"\n", "%YAML 1.1\n", "a: \"\\U00110000\"\n", ": x\n"})
    EXPECT_FALSE(parse_mlflow_yaml(text)) << text;
  EXPECT_TRUE(parse_mlflow_yaml(""));
}

class Importing : public test::EveryStore {
 protected:
  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  /// An experiment with a run, as MLflow 2 leaves it.
  fs::path file_store() {
    const fs::path root = directory_->path() / "work" / "mlruns", experiment = root / "123456789012345678";
    write(root / "0" / "meta.yaml",
          "artifact_location: mlruns/0\ncreation_time: 1700000000000\nexperiment_id: '0'\n"
          "last_update_time: 1700000000000\nlifecycle_stage: active\nname: Default\n");
    write(experiment / "meta.yaml",
          "artifact_location: mlruns/1\ncreation_time: 1700000000000\nexperiment_id: '123456789012345678'\n"
          "last_update_time: 1700000000001\nlifecycle_stage: active\nname: vision\n");
    write(experiment / "tags" / "team", "a");
    const fs::path run = experiment / id_;
    write(run / "meta.yaml",
          "artifact_uri: file:///etc\nend_time: 1700000002000\nentry_point_name: ''\n"
          "experiment_id: '123456789012345678'\nlifecycle_stage: active\nrun_id: " +
              id_ + "\nrun_name: sunny-crab-1\nrun_uuid: " + id_ +
              "\nsource_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: 1700000001000\nstatus: 3\n"
              "tags: []\nuser_id: somebody\n");
    write(run / "params" / "lr", "0.1");
    write(run / "tags" / "mlflow.note.content", "two\nlines");
    write(run / "metrics" / "val" / "loss",
          "1700000001000 0.5 0\n1700000001500 nan 1\n1700000001600 inf 2\n1700000001700 0.25\n");
    write(run / "artifacts" / "model" / "weights.bin", "12345");
    fs::create_symlink("/etc/passwd", run / "artifacts" / "passwd");
    fs::create_symlink("/etc/passwd", run / "params" / "stolen");
    write(experiment / "datasets" / "abcd" / "meta.yaml",
          "digest: d1\nname: mnist\nprofile: '{}'\nschema: '{}'\nsource: '{}'\nsource_type: local\n");
    write(run / "inputs" / "ef01" / "meta.yaml",
          "destination_id: x\ndestination_type: RUN\nsource_id: abcd\nsource_type: DATASET\n"
          "tags:\n  mlflow.data.context: train\n");
    return root;
  }

  void check_run() {
    const Result<store::Run> run = store_->find(id_);
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->experiment, "vision");
    EXPECT_EQ(run->name, "sunny-crab-1");
    EXPECT_EQ(run->status, RunStatus::finished);
    EXPECT_EQ(run->start, 1'700'000'001'000'000);
    EXPECT_EQ(run->end, 1'700'000'002'000'000);
    EXPECT_EQ(run->user, "somebody");
    EXPECT_EQ(run->params, (std::map<std::string, std::string>{{"lr", "0.1"}}));
    EXPECT_EQ(run->tags.at("mlflow.note.content"), "two\nlines");
    ASSERT_EQ(run->inputs.size(), 1U);
    EXPECT_EQ(run->inputs[0].dataset.name, "mnist");
    EXPECT_EQ(run->inputs[0].tags.at("mlflow.data.context"), "train");
    const std::vector<Point> points = *store_->history(id_, "val/loss");
    ASSERT_EQ(points.size(), 4U);
    EXPECT_EQ(points[0], (Point{1'700'000'001'000'000, 0, 0.5}));
    EXPECT_TRUE(std::isnan(points[1].value));
    EXPECT_TRUE(std::isinf(points[2].value));
    EXPECT_EQ(points[3].step, 0);
    EXPECT_EQ(store_->files(id_), (std::vector<File>{{"model/weights.bin", 5}}));
  }

  std::string id_ = "0123456789abcdef0123456789abcdef";
};

TEST_P(Importing, TakesAFileStore) {
  const fs::path root = file_store();
  for (const fs::path& path : {root, root.parent_path()}) {
    const Result<Transferred> done = import_mlflow(path, *store_);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->runs + done->present, 1U);
    check_run();
  }
  EXPECT_EQ((*store_->experiment_named("vision"))->id, 123456789012345678);
  EXPECT_EQ((*store_->experiment_named("vision"))->tags.at("team"), "a");
}

TEST_P(Importing, TakesDeletedOnes) {
  const fs::path root = file_store();
  fs::create_directories(root / ".trash");
  fs::rename(root / "123456789012345678", root / ".trash" / "123456789012345678");
  fs::path meta = root / ".trash" / "123456789012345678" / "meta.yaml";
  std::string text = *read_file(meta, 10'000);
  text.replace(text.find("active"), 6, "deleted");
  write(meta, text);
  ASSERT_TRUE(import_mlflow(root, *store_));
  EXPECT_TRUE(store_->find(id_)->deleted);
  EXPECT_TRUE((*store_->experiment_named("vision"))->deleted);
}

TEST_P(Importing, RefusesWhatIsNotMlflows) {
  const fs::path root = file_store(), run = root / "123456789012345678" / id_;
  EXPECT_FALSE(import_mlflow(directory_->path() / "absent", *store_));
  fs::create_directories(directory_->path() / "empty");
  EXPECT_FALSE(import_mlflow(directory_->path() / "empty", *store_));
  write(run / "metrics" / "bad", "1700000001000 0.5 0\nnonsense\n");
  const Result<Transferred> bad = import_mlflow(root, *store_);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find("line 2"), std::string::npos) << bad.error().text();
  fs::remove(run / "metrics" / "bad");
  write(run / "meta.yaml", "run_id: ../../../etc\nstatus: 3\n");
  EXPECT_FALSE(import_mlflow(root, *store_));
  write(directory_->path() / "text.db", "no database");
  EXPECT_FALSE(import_mlflow(directory_->path() / "text.db", *store_));
}

TEST_P(Importing, TakesADatabase) {
  const fs::path file = directory_->path() / "work" / "mlflow.db";
  const fs::path artifacts = directory_->path() / "work" / "mlruns" / "1" / id_ / "artifacts";
  write(artifacts / "model" / "weights.bin", "12345");
  write(directory_->path() / "secret" / "key", "x");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
  const std::string sql = fmt::format(
      R"sql(
CREATE TABLE experiments(experiment_id INTEGER PRIMARY KEY, name TEXT, artifact_location TEXT, lifecycle_stage TEXT,
  creation_time BIGINT, last_update_time BIGINT);
CREATE TABLE experiment_tags(key TEXT, value TEXT, experiment_id INTEGER);
CREATE TABLE runs(run_uuid TEXT PRIMARY KEY, name TEXT, source_type TEXT, source_name TEXT, entry_point_name TEXT,
  user_id TEXT, status TEXT, start_time BIGINT, end_time BIGINT, deleted_time BIGINT, source_version TEXT,
  lifecycle_stage TEXT, artifact_uri TEXT, experiment_id INTEGER);
CREATE TABLE params(key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags(key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE metrics(key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN);
CREATE TABLE datasets(dataset_uuid TEXT, experiment_id INTEGER, name TEXT, digest TEXT, dataset_source_type TEXT,
  dataset_source TEXT, dataset_schema TEXT, dataset_profile TEXT);
CREATE TABLE inputs(input_uuid TEXT, source_type TEXT, source_id TEXT, destination_type TEXT, destination_id TEXT);
CREATE TABLE input_tags(input_uuid TEXT, name TEXT, value TEXT);
INSERT INTO experiments VALUES (0, 'Default', '', 'active', 1700000000000, 1700000000000),
  (1, 'vision', '', 'active', 1700000000000, 1700000000000);
INSERT INTO runs VALUES ('{0}', 'sunny-crab-1', '', '', '', 'somebody', 'FINISHED', 1700000001000, 1700000002000, NULL, '',
  'active', './mlruns/1/{0}/artifacts', 1),
  ('ffffffffffffffffffffffffffffffff', 'thief', '', '', '', 'x', 'FAILED', 1700000001000, NULL, NULL, '', 'active',
  '{1}', 1);
INSERT INTO params VALUES ('lr', '0.1', '{0}');
INSERT INTO tags VALUES ('mlflow.note.content', 'two' || char(10) || 'lines', '{0}');
INSERT INTO metrics VALUES ('val/loss', 0.5, 1700000001000, '{0}', 0, 0), ('val/loss', 0, 1700000001500, '{0}', 1, 1),
  ('val/loss', 9e999, 1700000001600, '{0}', 2, 0), ('val/loss', 0.25, 1700000001700, '{0}', 0, 0);
INSERT INTO datasets VALUES ('d', 1, 'mnist', 'd1', 'local', '', '', '');
INSERT INTO inputs VALUES ('i', 'DATASET', 'd', 'RUN', '{0}');
INSERT INTO input_tags VALUES ('i', 'mlflow.data.context', 'train');
)sql",
      id_, (directory_->path() / "secret").string());
  ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  sqlite3_close(handle);
  for (int i = 0; i < 2; ++i) {
    const Result<Transferred> done = import_mlflow(file, *store_);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->runs + done->present, 2U);
  }
  check_run();
  EXPECT_TRUE(store_->files("ffffffff")->empty()) << "nothing is copied from elsewhere";
}

PLIMSOLL_IN_EVERY_STORE(Importing);

}  // namespace
}  // namespace plimsoll::store
