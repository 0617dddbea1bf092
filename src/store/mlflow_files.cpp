#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "store/import_mlflow.hpp"
#include "store/mlflow_meta.hpp"
#include "store/mlflow_registry.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestMeta = std::size_t{20} << 20;

/// "1700000000000 0.25 3": milliseconds, value, step; older ones have no step, newer ones say which data.
std::optional<Point> point_of(std::string_view line) {
  Point p;
  const char* at = line.data();
  const char* const end = at + line.size();
  std::int64_t milliseconds = 0;
  auto read = std::from_chars(at, end, milliseconds);
  const std::optional<Time> time = time_of_mlflow(milliseconds);
  if (read.ec != std::errc() || !time || read.ptr == end || *read.ptr != ' ') return {};
  p.time = *time;
  read = std::from_chars(read.ptr + 1, end, p.value);
  if (read.ec != std::errc()) return {};
  if (read.ptr == end) return p;
  if (*read.ptr != ' ') return {};
  read = std::from_chars(read.ptr + 1, end, p.step);
  if (read.ec != std::errc() || (read.ptr != end && *read.ptr != ' ')) return {};
  return p;
}

Status give_metric(const std::string& name, const fs::path& path, const PointSink& sink) {
  constexpr std::size_t kAtOnce = 100'000;
  std::ifstream file(path);
  std::string line;
  Batch batch{.run = {}, .metric = name};
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::optional<Point> point = line.size() > 4096 ? std::nullopt : point_of(line);
    if (!point)
      return std::unexpected(
          Error{fmt::format("line {} is not a point of a metric: {}", number, quote(line.substr(0, 60))),
                path.string()});
    batch.points.push_back(*point);
    if (batch.points.size() < kAtOnce) continue;
    PLIMSOLL_TRY(sink(batch));
    batch.points.clear();
  }
  if (file.bad()) return std::unexpected(Error{"the file cannot be read", path.string()});
  return batch.points.empty() ? Status() : sink(batch);
}

std::optional<RunStatus> status_of(const Texts& meta) {
  const std::string text = text_in(meta, "status");
  if (const auto named = status_named(text)) return named;
  constexpr RunStatus kStatuses[] = {RunStatus::running, RunStatus::scheduled, RunStatus::finished,
                                     RunStatus::failed, RunStatus::killed};
  const std::optional<std::int64_t> number = integer_in(meta, "status");
  if (!number || *number < 1 || *number > 5) return {};
  return kStatuses[*number - 1];
}

/// Data that the run has read: inputs/ID/meta.yaml names datasets/ID/meta.yaml of the experiment.
std::vector<Input> read_inputs(const fs::path& directory) {
  std::vector<Input> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory / "inputs", ignored)) {
    const Result<Texts> link = read_meta(entry.path());
    if (!link) continue;
    const std::string source = text_in(*link, "source_id");
    const bool plain = source.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
    if (source.empty() || !plain) continue;
    const Result<Texts> data = read_meta(directory.parent_path() / "datasets" / source);
    if (!data) continue;
    Input input{{text_in(*data, "name"), text_in(*data, "digest"), text_in(*data, "source_type"),
                 text_in(*data, "source"), text_in(*data, "schema"), text_in(*data, "profile")}};
    for (const auto& [key, value] : *link)
      if (key.starts_with("tags.")) input.tags.emplace(key.substr(5), value);
    out.push_back(std::move(input));
  }
  return out;
}

/// Logged models that the run has used or made: a folder for each, which says its step where it was made.
std::vector<ModelLink> read_models(const fs::path& folder) {
  std::vector<ModelLink> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const Result<Texts> link = read_meta(entry.path());
    if (!link) continue;
    if (const std::string model = text_in(*link, "source_id"); model.starts_with("m-"))
      out.push_back({model, integer_in(*link, "step").value_or(0)});
  }
  std::ranges::sort(out, {}, &ModelLink::model);
  return out;
}

Result<Arrival> read_run(const fs::path& directory) {
  const Result<Texts> meta = read_meta(directory);
  if (!meta) return std::unexpected(meta.error());
  const std::string id = directory.filename().string();
  const std::string claimed = text_in(*meta, "run_id");
  const std::optional<RunStatus> status = status_of(*meta);
  const std::optional<Time> start = time_in(*meta, "start_time");
  if ((!claimed.empty() && claimed != id) || !status)
    return std::unexpected(
        Error{"the run contradicts its folder's name, or has no status", directory.string()});
  const Result<Texts> params = read_texts(directory / "params"), tags = read_texts(directory / "tags");
  if (!params) return std::unexpected(params.error());
  if (!tags) return std::unexpected(tags.error());
  Arrival out{.run = {.id = id,
                      .experiment = {},
                      .name = text_in(*meta, "run_name"),
                      .status = *status,
                      // One that never began is as old as can be; 0 would be now.
                      .start = start.value_or(1),
                      .end = time_in(*meta, "end_time"),
                      .deleted = text_in(*meta, "lifecycle_stage") == "deleted",
                      .params = *params,
                      .tags = *tags,
                      .user = text_in(*meta, "user_id"),
                      .inputs = read_inputs(directory),
                      .model_inputs = read_models(directory / "inputs"),
                      .model_outputs = read_models(directory / "outputs")},
              .points = {},
              .artifacts = directory / "artifacts"};
  if (out.run.name.empty()) out.run.name = text_in(*tags, "mlflow.runName");
  out.points = [directory](const PointSink& sink) -> Status {
    for (const auto& [name, path] : files_below(directory / "metrics"))
      PLIMSOLL_TRY(give_metric(name, path, sink));
    return {};
  };
  return out;
}

bool is_run_directory(const fs::directory_entry& entry) {
  std::error_code ignored;
  const std::string name = entry.path().filename().string();
  return !entry.is_symlink(ignored) && entry.is_directory(ignored) && name.size() == 32 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<Experiment> read_experiment(const fs::path& directory) {
  const Result<Texts> meta = read_meta(directory);
  if (!meta) return std::unexpected(meta.error());
  const std::optional<std::int64_t> id = integer_in(*meta, "experiment_id");
  const std::string name = text_in(*meta, "name");
  if (!id || *id < 0 || name.empty())
    return std::unexpected(
        Error{"the experiment has no number or no name", (directory / "meta.yaml").string()});
  Result<Texts> tags = read_texts(directory / "tags");
  if (!tags) return std::unexpected(std::move(tags).error());
  return Experiment{.id = *id,
                    .name = name,
                    .deleted = text_in(*meta, "lifecycle_stage") == "deleted",
                    .created = time_in(*meta, "creation_time").value_or(1),
                    .tags = std::move(*tags)};
}

/// A point of a model's metric: as of a run's, and which run, and perhaps which data, it is of.
std::optional<ModelMetric> model_metric_of(const std::string& name, const std::string& line) {
  const std::optional<Point> point = point_of(line);
  std::istringstream words(line);
  std::string time, value, step, run, dataset, digest;
  if (!point || !(words >> time >> value >> step >> run)) return {};
  words >> dataset >> digest;
  return ModelMetric{
      .run = run, .metric = name, .latest = *point, .dataset_name = dataset, .dataset_digest = digest};
}

Result<LoggedModel> read_model(const fs::path& directory) {
  const Result<Texts> meta = read_meta(directory);
  if (!meta) return std::unexpected(meta.error());
  const Result<Texts> params = read_texts(directory / "params"), tags = read_texts(directory / "tags");
  if (!params) return std::unexpected(params.error());
  if (!tags) return std::unexpected(tags.error());
  LoggedModel out{.id = directory.filename().string(),
                  .name = text_in(*meta, "name"),
                  .created = time_in(*meta, "creation_timestamp").value_or(1),
                  .status = model_status_numbered(integer_in(*meta, "status").value_or(0)),
                  .type = text_in(*meta, "model_type"),
                  .source_run = text_in(*meta, "source_run_id"),
                  .deleted = text_in(*meta, "lifecycle_stage") == "deleted",
                  .tags = *tags,
                  .params = *params};
  for (const auto& [name, path] : files_below(directory / "metrics")) {
    const Result<std::string> text = read_file(path, kLargestMeta);
    if (!text) return std::unexpected(text.error());
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);)
      if (std::optional<ModelMetric> metric = model_metric_of(name, line))
        out.metrics.push_back(std::move(*metric));
  }
  return out;
}

/// Logged models, which MLflow has since version 3: in a folder of their own beside the runs.
Status import_models(const fs::path& directory, std::int64_t experiment, Store& to, Transferred& counts) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(directory / "models", problem)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) || !fs::is_regular_file(entry.path() / "meta.yaml", ignored)) continue;
    Result<LoggedModel> model = read_model(entry.path());
    if (!model) return std::unexpected(std::move(model).error());
    // One that a run of another store has been measured with has nothing here to hold on to.
    std::erase_if(model->metrics, [&](const ModelMetric& m) { return !to.find(m.run); });
    PLIMSOLL_TRY(receive_model(to, experiment, *model, entry.path() / "artifacts", counts));
  }
  return {};
}

Status import_experiment(const fs::path& directory, Store& to, Transferred& counts,
                         const Progress& progress) {
  const Result<Experiment> experiment = read_experiment(directory);
  if (!experiment) return std::unexpected(experiment.error());
  const Result<std::int64_t> id = receive_experiment(to, *experiment, counts);
  if (!id) return std::unexpected(id.error());
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(directory, problem)) {
    if (!is_run_directory(entry)) continue;
    const Result<Arrival> run = read_run(entry.path());
    if (!run) return std::unexpected(run.error());
    PLIMSOLL_TRY(receive_run(to, *id, *run, counts));
    if (progress) progress(counts);
  }
  PLIMSOLL_TRY(import_models(directory, *id, to, counts));
  return experiment->deleted ? to.change_experiment(*id, {.deleted = true}) : Status();
}

}  // namespace

Result<Transferred> import_mlflow_files(const fs::path& root, Store& to, const Progress& progress) {
  Transferred counts;
  for (const fs::path& place : {root, root / ".trash"}) {
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(place, problem)) {
      std::error_code ignored;
      if (entry.is_symlink(ignored) || !fs::is_regular_file(entry.path() / "meta.yaml", ignored)) continue;
      PLIMSOLL_TRY(import_experiment(entry.path(), to, counts, progress));
    }
  }
  PLIMSOLL_TRY(import_registry_files(root / "models", to, counts));
  return counts;
}

}  // namespace plimsoll::store
