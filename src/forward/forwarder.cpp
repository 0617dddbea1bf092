#include "forward/forwarder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "forward/mlflow_text.hpp"
#include "store/mlflow_limits.hpp"
#include "store/point_order.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

namespace limits = store::mlflow_limits;

constexpr std::size_t kPage = 1000, kCountedPage = 20'000;
constexpr const char* kParentTag = "mlflow.parentRunId";

/// Tags that mean nothing there: about the sending itself, and models whose files are not sent.
bool stays_here(std::string_view tag) {
  return tag.starts_with("plimsoll.mlflow_") || tag == "mlflow.log-model.history" ||
         tag == "mlflow.loggedArtifacts";
}

bool has_ended(const store::Run& run) {
  return run.status != store::RunStatus::running && run.status != store::RunStatus::scheduled;
}

std::string tag_of(const store::Run& run, const char* name) {
  const auto found = run.tags.find(name);
  return found == run.tags.end() ? std::string() : found->second;
}

std::int64_t points_of(const store::Run& run) {
  std::int64_t out = 0;
  for (const auto& [name, metric] : run.metrics) out += metric.points;
  return out;
}

/// Adds what is new or different to the batch, as far as it fits, under names that are each given once.
template <class Add>
std::map<std::string, std::string> changed(const std::map<std::string, std::string>& here,
                                           const std::map<std::string, std::string>& there,
                                           std::size_t longest, bool may_change, Add add) {
  std::map<std::string, std::string> out;
  std::set<std::string> seen;
  for (const auto& [name, value] : here) {
    const std::string key = mlflow_key(name);
    if (!seen.insert(key).second) continue;
    std::string text(first_characters(value, longest));
    const auto known = there.find(key);
    if (known != there.end() && (!may_change || known->second == text)) continue;
    if (!add(key, text)) break;
    out.emplace(key, std::move(text));
  }
  return out;
}

}  // namespace

Result<bool> Forwarder::send_some(bool goes_on) {
  complete_ = false;
  const Result<store::Run> run = store_->find(id_);
  if (!run) return std::unexpected(run.error());
  points_known_ = points_of(*run);
  if (!there_) PLIMSOLL_TRY(settle(*run));
  Prepared prepared;
  const Result<std::map<std::string, std::string>> tags = tags_of(*run);
  if (!tags) return std::unexpected(tags.error());
  prepared.params = changed(run->params, there_->params, limits::kLongestParam, false,
                            [&](const auto& k, const auto& v) { return prepared.batch.add_param(k, v); });
  prepared.tags = changed(*tags, there_->tags, limits::kLongestTag, true,
                          [&](const auto& k, const auto& v) { return prepared.batch.add_tag(k, v); });
  PLIMSOLL_TRY(prepare_points(*run, prepared));
  if (!prepared.batch.empty()) {
    const Result<std::optional<Error>> refusal = remote_->log(there_->id, prepared.batch);
    if (!refusal) return std::unexpected(refusal.error());
    if (*refusal) {
      if (!prepared.params.empty() || !prepared.tags.empty()) {
        PLIMSOLL_TRY(send_singly(prepared));
        return true;  // the points are for the next batch
      }
      PLIMSOLL_TRY(send_known_points(prepared.batch, **refusal));
    }
  }
  points_sent_ += static_cast<std::int64_t>(prepared.batch.metrics());
  for (auto& [name, cursor] : prepared.cursors) cursors_[name] = std::move(cursor);
  for (auto& [key, value] : prepared.params) there_->params.insert_or_assign(key, value);
  for (auto& [key, value] : prepared.tags) there_->tags.insert_or_assign(key, value);
  if (!prepared.batch.empty()) return true;
  if (goes_on || !has_ended(*run)) return false;
  const Result<bool> late = find_late_points(*run);
  if (!late || *late) return late;
  PLIMSOLL_TRY(finish(*run));
  return false;
}

/// Servers differ in what they take: one param or tag must not hold back the rest of the run.
Status Forwarder::send_singly(const Prepared& prepared) {
  const auto send = [&](const char* kind, const auto& pairs, auto& there, auto add) -> Status {
    for (const auto& [key, value] : pairs) {
      LogBatch one;
      if (!add(one, key, value)) continue;
      const Result<std::optional<Error>> refusal = remote_->log(there_->id, one);
      if (!refusal) return std::unexpected(refusal.error());
      const std::string what = fmt::format("{} {}", kind, quote(key));
      if (*refusal && std::ranges::find(refused_, what, &Refused::what) == refused_.end())
        refused_.push_back({what, (*refusal)->message});
      there.insert_or_assign(key, value);
    }
    return {};
  };
  PLIMSOLL_TRY(send("param", prepared.params, there_->params,
                    [](LogBatch& to, const auto& k, const auto& v) { return to.add_param(k, v); }));
  return send("tag", prepared.tags, there_->tags,
              [](LogBatch& to, const auto& k, const auto& v) { return to.add_tag(k, v); });
}

/// MLflow 2's SQL stores drop a point that is there already, but for two cases, in which they refuse the
/// whole batch in the words of their database: where it has more than 100 points (they look for those that
/// are there by 100 keys at a time, and take the others for new), and where one is no number.
Status Forwarder::send_known_points(const LogBatch& batch, const Error& why) {
  constexpr std::size_t kLookedForAtOnce = 100;
  const auto is_there_already = [](const Error& error) {
    return std::ranges::any_of(std::initializer_list<std::string_view>{"UNIQUE constraint", "IntegrityError",
                                                                       "UniqueViolation", "Duplicate entry"},
                               [&](std::string_view words) { return error.message.contains(words); });
  };
  if (!is_there_already(why)) return std::unexpected(why);
  const auto send = [&](const LogBatch& part, bool may_be_there) -> Status {
    if (part.empty()) return {};
    const Result<std::optional<Error>> refusal = remote_->log(there_->id, part);
    if (!refusal) return std::unexpected(refusal.error());
    if (*refusal && !(may_be_there && is_there_already(**refusal))) return std::unexpected(**refusal);
    return {};
  };
  LogBatch numbers;
  for (const LogBatch::Added& each : batch.points()) {
    if (std::isfinite(each.point.value)) {
      static_cast<void>(numbers.add_metric(each.key_json, each.point));
      if (numbers.points().size() < kLookedForAtOnce) continue;
      PLIMSOLL_TRY(send(numbers, false));
      numbers = LogBatch();
      continue;
    }
    LogBatch one;
    if (one.add_metric(each.key_json, each.point)) PLIMSOLL_TRY(send(one, true));
  }
  return send(numbers, false);
}

/// Finds the run there, or makes it.
Status Forwarder::settle(const store::Run& run) {
  Result<std::optional<RemoteRun>> known = known_there(run);
  if (!known) return std::unexpected(std::move(known).error());
  if (*known) return begin(run, std::move(**known));
  const Result<std::string> experiment = remote_->experiment(run.experiment);
  if (!experiment) return std::unexpected(experiment.error());
  // It may be there without our knowing: made by a call whose answer was lost, or by way of another store.
  Result<std::optional<RemoteRun>> tagged = remote_->run_tagged(*experiment, kLocalRunTag, run.id);
  if (!tagged) return std::unexpected(std::move(tagged).error());
  if (*tagged) return begin(run, std::move(**tagged));
  Result<RemoteRun> made =
      remote_->create({.experiment_id = *experiment,
                       .name = run.name,
                       .user = run.user.empty() ? tag_of(run, "plimsoll.user") : run.user,
                       .start = run.start,
                       .tags = {{kLocalRunTag, run.id}}});
  if (!made) return std::unexpected(std::move(made).error());
  created_ = true;
  return begin(run, std::move(*made));
}

/// The run that its tags here name, where the server still has it.
Result<std::optional<RemoteRun>> Forwarder::known_there(const store::Run& run) {
  const std::string id = tag_of(run, kRemoteRunTag);
  if (id.empty() || tag_of(run, kServerTag) != url_) return std::optional<RemoteRun>();
  Result<std::optional<RemoteRun>> found = remote_->run(id);
  if (found && *found && (*found)->deleted)
    return std::unexpected(Error{fmt::format("run {} was deleted there", printable(id)), url_,
                                 "Restore it on the server, and send it again."});
  return found;
}

Status Forwarder::begin(const store::Run& run, RemoteRun there) {
  if (tag_of(run, kRemoteRunTag) != there.id || tag_of(run, kServerTag) != url_)
    PLIMSOLL_TRY(
        store_->change(run.id, {.tags = {{kServerTag, url_}, {kRemoteRunTag, there.id}, {kPointsTag, "0"}}}));
  there_ = std::move(there);
  trust_what_was_sent(run);
  return {};
}

/// Where all of an ended run was sent, and the server's latest points are ours, its points are not sent
/// again.
void Forwarder::trust_what_was_sent(const store::Run& run) {
  if (!has_ended(run) || tag_of(run, kRemoteRunTag) != there_->id || tag_of(run, kServerTag) != url_ ||
      tag_of(run, kPointsTag) != fmt::format("{}", points_of(run)))
    return;
  const bool agrees = std::ranges::all_of(run.metrics, [&](const auto& entry) {
    const auto found = there_->metrics.find(cursor_of(entry.first).key);
    const store::Point& latest = entry.second.latest;
    return found != there_->metrics.end() &&
           found->second == RemoteRun::Latest{store::milliseconds(latest.time), latest.step};
  });
  if (!agrees) return;
  for (const auto& [name, metric] : run.metrics) {
    Cursor& cursor = cursor_of(name);
    cursor.sent = cursor.settled = metric.points;
  }
}

/// Tags as they are to be there: a parent by the name that it has there.
Result<std::map<std::string, std::string>> Forwarder::tags_of(const store::Run& run) const {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : run.tags)
    if (!stays_here(name) && name != kParentTag) out.emplace(name, value);
  out.insert_or_assign(kLocalRunTag, run.id);
  const std::string parent = tag_of(run, kParentTag);
  if (parent.empty()) return out;
  const Result<store::Run> found = store_->find(parent);
  if (!found && found.error().may_pass()) return std::unexpected(found.error());
  if (found && tag_of(*found, kServerTag) == url_)
    if (const std::string id = tag_of(*found, kRemoteRunTag); !id.empty()) out.emplace(kParentTag, id);
  return out;
}

/// Names that MLflow does not take are changed, and two must not become one.
Forwarder::Cursor& Forwarder::cursor_of(const std::string& metric) {
  Cursor& cursor = cursors_[metric];
  if (!cursor.key.empty()) return cursor;
  cursor.key = mlflow_key(metric);
  if (!keys_.insert(cursor.key).second) {
    constexpr std::size_t kRoom = 240;
    cursor.key = fmt::format("{}_{:08x}", cursor.key.substr(0, kRoom),
                             static_cast<std::uint32_t>(std::hash<std::string>()(metric)));
    keys_.insert(cursor.key);
  }
  return cursor;
}

Status Forwarder::prepare_points(const store::Run& run, Prepared& out) {
  for (const auto& [name, metric] : run.metrics) {
    Cursor cursor = cursor_of(name);
    if (cursor.settled == metric.points) continue;
    PLIMSOLL_TRY(read_points(name, metric, cursor, out.batch));
    const bool full = cursor.settled != metric.points;
    out.cursors.insert_or_assign(name, std::move(cursor));
    if (full) break;
  }
  return {};
}

/// Adds a metric's points behind the cursor to the batch, until it is full, and moves the cursor.
Status Forwarder::read_points(const std::string& name, const store::Metric& metric, Cursor& cursor,
                              LogBatch& batch) {
  const std::string key = json_text(cursor.key);
  for (;;) {
    Result<store::Page> page = store_->history_page(id_, name, cursor.token, kPage);
    if (!page) return std::unexpected(std::move(page).error());
    const std::optional<store::Point> before = cursor.last;
    for (const store::Point& point : page->points) {
      // The page that the last point is in is read again: its end had no token yet.
      if (before && !store::comes_before(*before, point)) continue;
      if (!batch.add_metric(key, point)) return {};
      cursor.last = point;
      ++cursor.sent;
      cursor.counted = false;
    }
    if (!page->next) break;
    cursor.token = *std::move(page->next);
  }
  cursor.settled = metric.points;
  return {};
}

/// Points that came with an earlier time than others that had been sent are behind no cursor. Where the
/// counts differ the metric is sent once more; those that are there already count once.
Result<bool> Forwarder::find_late_points(const store::Run& run) {
  bool found = false;
  for (const auto& [name, metric] : run.metrics) {
    Cursor& cursor = cursor_of(name);
    if (cursor.sent == metric.points || cursor.counted || cursor.again) continue;
    const Result<std::int64_t> count = count_points(name);  // the store's own may hold points twice
    if (!count) return std::unexpected(count.error());
    cursor.counted = true;
    if (*count == cursor.sent) continue;
    cursor = {.key = cursor.key, .again = true};
    found = true;
  }
  return found;
}

Result<std::int64_t> Forwarder::count_points(const std::string& name) const {
  std::int64_t out = 0;
  for (std::string token;;) {
    Result<store::Page> page = store_->history_page(id_, name, token, kCountedPage);
    if (!page) return std::unexpected(std::move(page).error());
    out += static_cast<std::int64_t>(page->points.size());
    if (!page->next) return out;
    token = *std::move(page->next);
  }
}

Status Forwarder::finish(const store::Run& run) {
  const RemoteChange end{.status = run.status, .end = run.end, .name = run.name};
  if (end_ != end) PLIMSOLL_TRY(remote_->change(there_->id, end));
  end_ = end;
  if (const std::string points = fmt::format("{}", points_of(run)); tag_of(run, kPointsTag) != points)
    PLIMSOLL_TRY(store_->change(run.id, {.tags = {{kPointsTag, points}}}));
  complete_ = true;
  return {};
}

}  // namespace plimsoll::forward
