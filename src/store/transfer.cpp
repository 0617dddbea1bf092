#include "store/transfer.hpp"

#include <algorithm>
#include <system_error>

#include "store/location.hpp"
#include "store/point_order.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArriving = "plimsoll.arriving";

/// Points that were sent twice are counted until they are joined: the latest ones are compared, not the
/// counts.
bool same_metrics(const Run& a, const Run& b) {
  return std::ranges::equal(a.metrics, b.metrics, [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second.latest, y.second.latest);
  });
}

/// As far as people can see.
bool same_run(const Run& there, const Run& arriving) {
  return there.name == arriving.name && there.status == arriving.status && there.start == arriving.start &&
         there.end == arriving.end && there.params == arriving.params && there.tags == arriving.tags &&
         there.deleted == arriving.deleted && (arriving.metrics.empty() || same_metrics(there, arriving));
}

Status make_run(Store& to, std::int64_t experiment, const Run& run) {
  NewRun made{.name = run.name,
              .status = run.status,
              .start = run.start,
              .params = run.params,
              .tags = run.tags,
              .experiment_id = experiment,
              .id = run.id,
              .user = run.user,
              .end = run.end};
  made.tags[kArriving] = "not whole yet";
  const Result<std::string> id = to.create(made);
  if (!id) return std::unexpected(id.error());
  return {};
}

Status receive_points(Store& to, const Arrival& arrival, Transferred& counts) {
  return arrival.points([&](const Batch& batch) -> Status {
    Batch mine = batch;
    mine.run = arrival.run.id;
    PLIMSOLL_TRY(to.append({&mine, 1}));
    counts.points += static_cast<std::int64_t>(mine.points.size());
    return {};
  });
}

Error cannot_copy(const std::error_code& problem, const fs::path& path) {
  return Error{fmt::format("a file cannot be copied: {}", problem.message()), path.string(),
               "Check permissions and room on the disk; the same command goes on where it stopped.",
               Error::Kind::unavailable};
}

Status copy_one(const fs::path& from, const fs::path& to, Transferred& counts) {
  std::error_code problem;
  const auto size = fs::file_size(from, problem);
  if (problem) return std::unexpected(cannot_copy(problem, from));
  std::error_code absent;
  if (fs::is_regular_file(to, absent) && fs::file_size(to, absent) == size && !absent) return {};
  PLIMSOLL_TRY(make_private_directory(to.parent_path()));
  // Under another name first: one that is cut short has another size, or is not there.
  const fs::path part = to.string() + ".part";
  fs::copy_file(from, part, fs::copy_options::overwrite_existing, problem);
  if (!problem) fs::permissions(part, fs::perms::owner_read | fs::perms::owner_write, problem);
  if (!problem) fs::rename(part, to, problem);
  if (problem) return std::unexpected(cannot_copy(problem, to));
  ++counts.files;
  counts.bytes += static_cast<std::int64_t>(size);
  return {};
}

}  // namespace

Status copy_files(const fs::path& from, const fs::path& to, Transferred& counts) {
  constexpr int kDeepest = 64;
  std::error_code problem;
  fs::recursive_directory_iterator at(from, fs::directory_options::skip_permission_denied, problem);
  if (problem == std::errc::no_such_file_or_directory) return {};
  for (; !problem && at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code gone;
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    PLIMSOLL_TRY(copy_one(at->path(), to / at->path().lexically_relative(from), counts));
  }
  if (problem) return std::unexpected(cannot_copy(problem, from));
  return {};
}

Result<std::int64_t> receive_experiment(Store& to, const Experiment& experiment, Transferred& counts) {
  const Result<std::optional<Experiment>> known = to.experiment_named(experiment.name);
  if (!known) return std::unexpected(known.error());
  if (*known) return (*known)->id;
  NewExperiment made{.name = experiment.name,
                     .artifact_location = {},  // files are where this store keeps them
                     .tags = experiment.tags,
                     .id = experiment.id,
                     .created = experiment.created};
  Result<std::int64_t> id = to.create_experiment(made);
  if (!id && id.error().kind == Error::Kind::exists_already) {
    made.id = {};
    id = to.create_experiment(made);
  }
  if (id) ++counts.experiments;
  return id;
}

Status receive_run(Store& to, std::int64_t experiment, const Arrival& arrival, Transferred& counts) {
  const Run& run = arrival.run;
  const Result<Run> there = to.find(run.id);
  if (!there && there.error().kind != Error::Kind::not_found) return std::unexpected(there.error());
  if (there && !there->tags.contains(kArriving)) {
    ++(same_run(*there, run) ? counts.present : counts.different);
    return {};
  }
  if (!there) PLIMSOLL_TRY(make_run(to, experiment, run));
  PLIMSOLL_TRY(receive_points(to, arrival, counts));
  PLIMSOLL_TRY(to.compact(run.id));
  if (!run.inputs.empty() || !run.model_inputs.empty())
    PLIMSOLL_TRY(to.add_inputs(run.id, run.inputs, run.model_inputs));
  if (!run.model_outputs.empty()) PLIMSOLL_TRY(to.add_outputs(run.id, run.model_outputs));
  std::error_code ignored;
  if (!arrival.artifacts.empty() && fs::is_directory(arrival.artifacts, ignored)) {
    const Result<fs::path> place = to.artifacts(run.id);
    if (!place) return std::unexpected(place.error());
    PLIMSOLL_TRY(copy_files(arrival.artifacts, *place, counts));
  }
  PLIMSOLL_TRY(to.change(run.id, {.tags_removed = {kArriving}}));
  if (run.deleted) PLIMSOLL_TRY(to.remove(run.id));
  ++counts.runs;
  return {};
}

Status receive_model(Store& to, std::int64_t experiment, const LoggedModel& model, const fs::path& artifacts,
                     Transferred& counts) {
  constexpr std::string_view kServed = "mlflow-artifacts:/";
  const bool elsewhere = !model.artifact_uri.empty() && !model.artifact_uri.starts_with(kServed);
  const Result<std::string> made = to.create_model(
      {.experiment_id = experiment,
       .name = model.name,
       .artifact_uri = elsewhere ? model.artifact_uri
                                 : fmt::format("{}{}/models/{}/artifacts", kServed, experiment, model.id),
       .type = model.type,
       .source_run = model.source_run,
       .tags = model.tags,
       .params = model.params,
       .status = model.status,
       .id = model.id,
       .created = model.created});
  if (!made && made.error().kind != Error::Kind::exists_already) return std::unexpected(made.error());
  if (made) ++counts.models;
  // The points are there already; this says which of them are about the model.
  for (const ModelMetric& metric : model.metrics)
    PLIMSOLL_TRY(to.append({{Batch{.run = metric.run,
                                   .metric = metric.metric,
                                   .points = {metric.latest},
                                   .model = model.id,
                                   .dataset_name = metric.dataset_name,
                                   .dataset_digest = metric.dataset_digest}}}));
  std::error_code ignored;
  if (!artifacts.empty() && fs::is_directory(artifacts, ignored)) {
    const Result<fs::path> place = to.model_artifacts(model.id);
    if (!place) return std::unexpected(place.error());
    PLIMSOLL_TRY(copy_files(artifacts, *place, counts));
  }
  return model.deleted && made ? to.change_model(model.id, {.deleted = true}) : Status();
}

}  // namespace plimsoll::store
