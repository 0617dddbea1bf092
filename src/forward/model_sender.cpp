#include "forward/model_sender.hpp"

#include <algorithm>
#include <set>

#include "base/printable.hpp"
#include "forward/again.hpp"
#include "forward/forwarder.hpp"
#include "forward/mlflow_text.hpp"

namespace plimsoll::forward {
namespace {

/// A server keeps this one itself, when versions are made.
bool is_the_servers(const std::string& tag) {
  return tag == "mlflow.modelVersions" || tag == kLocalModelTag;
}

}  // namespace

Result<std::optional<std::string>> remote_run_of(store::Store& store, const std::string& url,
                                                 const std::string& run) {
  if (run.empty()) return std::optional<std::string>();
  const Result<store::Run> found = store.find(run);
  if (!found && found.error().may_pass()) return std::unexpected(found.error());
  if (!found || text_at(found->tags, kServerTag) != url) return std::optional<std::string>();
  std::string id = text_at(found->tags, kRemoteRunTag);
  return id.empty() ? std::optional<std::string>() : std::move(id);
}

/// One that the server refuses for good is named and left out.
Status ModelSender::leave_out(const Status& done, const std::string& what) {
  if (done || done.error().may_pass()) return done;
  left_out_->push_back({what, done.error().message});
  return {};
}

Result<std::optional<SentModel>> ModelSender::send(const std::string& id) {
  if (const auto known = std::ranges::find(sent_, id, &SentModel::model); known != sent_.end()) return *known;
  const Result<store::LoggedModel> model = store_->model(id);
  if (!model && model.error().kind != Error::Kind::not_found) return std::unexpected(model.error());
  if (!model || model->deleted) return std::optional<SentModel>();
  const Result<store::Experiment> of = store_->experiment(model->experiment_id);
  if (!of) return std::unexpected(of.error());
  const Result<std::string> experiment = again([&] { return remote_->experiment(of->name); });
  if (!experiment) return std::unexpected(experiment.error());
  const Result<bool> served = again([&] { return models_.served(*experiment); });
  if (!served) return std::unexpected(served.error());
  Result<std::optional<SentModel>> sent = *served ? send_whole(*model, *experiment) : send_as_files(*model);
  if (sent && *sent) sent_.push_back(**sent);
  return sent;
}

/// MLflow 2 has a model's files among those of its run, in a folder of the model's name.
Result<std::optional<SentModel>> ModelSender::send_as_files(const store::LoggedModel& model) {
  const Result<std::optional<std::string>> run = remote_run_of(*store_, url_, model.source_run);
  if (!run) return std::unexpected(run.error());
  if (!*run) return std::optional<SentModel>();
  const Result<std::optional<RemoteRun>> there = again([&] { return remote_->run(**run); });
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::optional<SentModel>();
  const Result<std::filesystem::path> files = store_->model_artifacts(model.id);
  if (!files) return std::unexpected(files.error());
  SentModel out{
      .model = model.id, .place = place_of((*there)->artifact_uri, (*there)->id), .below = model.name};
  PLIMSOLL_TRY(artifacts_->send(*files, out.place, out.below));
  return out;
}

Result<std::optional<SentModel>> ModelSender::send_whole(const store::LoggedModel& model,
                                                         const std::string& experiment) {
  auto found = again([&] { return models_.tagged(experiment, kLocalModelTag, model.id); });
  if (!found) return std::unexpected(std::move(found).error());
  SentModel out{.model = model.id, .created = !*found};
  if (!*found) {
    const Result<std::optional<std::string>> run = remote_run_of(*store_, url_, model.source_run);
    if (!run) return std::unexpected(run.error());
    // Asked again it is looked for first: the answer may have been lost, and not the model.
    auto made = again([&]() -> Result<RemoteModel> {
      auto there = models_.tagged(experiment, kLocalModelTag, model.id);
      if (!there) return std::unexpected(std::move(there).error());
      if (*there) return std::move(**there);
      return models_.create(experiment, model, run->value_or(""), {{kLocalModelTag, model.id}});
    });
    if (!made) return std::unexpected(std::move(made).error());
    *found = std::move(*made);
  }
  const RemoteModel& there = **found;
  out.remote = there.id;
  out.place = place_of(there.artifact_uri);
  PLIMSOLL_TRY(send_params(model, there));
  PLIMSOLL_TRY(send_tags(model, there));
  const Result<std::filesystem::path> files = store_->model_artifacts(model.id);
  if (!files) return std::unexpected(files.error());
  PLIMSOLL_TRY(artifacts_->send(*files, out.place));
  const Result<bool> waits = send_metrics(model, there);
  if (!waits) return std::unexpected(waits.error());
  out.waits = *waits;
  const bool ended = model.status == store::ModelStatus::ready || model.status == store::ModelStatus::failed;
  if (ended && there.status != model.status)
    PLIMSOLL_TRY(again([&] { return models_.finalize(there.id, model.status); }));
  return out;
}

Status ModelSender::send_params(const store::LoggedModel& model, const RemoteModel& there) {
  constexpr std::size_t kAtOnce = 100;
  std::map<std::string, std::string> some;
  const auto flush = [&]() -> Status {
    if (some.empty()) return {};
    Status done = again([&] { return models_.add_params(there.id, some); });
    if (!done && !done.error().may_pass() && some.size() > 1) {
      for (const auto& [name, value] : some)
        PLIMSOLL_TRY(leave_out(again([&] { return models_.add_params(there.id, {{name, value}}); }),
                               fmt::format("param {} of model {}", quote(name), quote(model.name))));
      done = {};
    }
    PLIMSOLL_TRY(
        leave_out(done, fmt::format("param {} of model {}", quote(some.begin()->first), quote(model.name))));
    some.clear();
    return {};
  };
  for (const auto& [name, value] : model.params) {
    if (there.params.contains(name)) continue;
    some.emplace(name, value);
    if (some.size() == kAtOnce) PLIMSOLL_TRY(flush());
  }
  return flush();
}

Status ModelSender::send_tags(const store::LoggedModel& model, const RemoteModel& there) {
  for (const auto& [name, value] : model.tags) {
    const auto known = there.tags.find(name);
    if (is_the_servers(name) || (known != there.tags.end() && known->second == value)) continue;
    PLIMSOLL_TRY(leave_out(again([&] { return models_.set_tag(there.id, name, value); }),
                           fmt::format("tag {} of model {}", quote(name), quote(model.name))));
  }
  return {};
}

/// Of each metric the latest point, which is what is kept of it beside the run's own history. True: the run
/// of one is not there yet.
Result<bool> ModelSender::send_metrics(const store::LoggedModel& model, const RemoteModel& there) {
  bool waits = false;
  for (const store::ModelMetric& metric : model.metrics) {
    const Result<std::optional<std::string>> run = remote_run_of(*store_, url_, metric.run);
    if (!run) return std::unexpected(run.error());
    const std::string key = mlflow_key(metric.metric);
    waits = waits || !*run;
    if (!*run || there.metrics.contains({**run, key})) continue;
    PLIMSOLL_TRY(leave_out(again([&] { return models_.link_metric(there.id, **run, key, metric); }),
                           fmt::format("metric {} of model {}", quote(metric.metric), quote(model.name))));
  }
  return waits;
}

Status ModelSender::finish() {
  for (SentModel& sent : sent_) {
    if (!sent.waits) continue;
    const Result<store::LoggedModel> model = store_->model(sent.model);
    if (!model) return std::unexpected(model.error());
    const auto there = again([&] { return models_.model(sent.remote); });
    if (!there) return std::unexpected(there.error());
    PLIMSOLL_TRY(send_metrics(*model, *there));
    sent.waits = false;
  }
  return {};
}

}  // namespace plimsoll::forward
