#include "forward/registry_sender.hpp"

#include <algorithm>
#include <map>

#include "base/printable.hpp"
#include "forward/again.hpp"
#include "store/registry_files.hpp"

namespace plimsoll::forward {
namespace {

constexpr std::int64_t kMostFreeNumbers = 1000;

std::string sql_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

Result<std::vector<store::ModelVersion>> versions_of(store::Store& store, const std::string& model) {
  constexpr std::size_t kMostVersions = 1'000'000;
  return store.registry().search_versions(
      {.filter = "name = " + sql_text(model), .order_by = {"version_number ASC"}, .limit = kMostVersions});
}

std::string with_rest(std::string uri, const std::string& rest) {
  while (uri.ends_with('/')) uri.pop_back();
  return rest.empty() ? uri : uri + "/" + rest;
}

std::string called(const std::string& model, std::int64_t version) {
  return fmt::format("version {} of {}", version, quote(model));
}

std::string marked(std::int64_t version) {
  return fmt::format("{}", version);
}

const RemoteVersion* tagged(const std::vector<RemoteVersion>& versions, std::int64_t version) {
  const auto found = std::ranges::find_if(versions, [&](const RemoteVersion& each) {
    const auto tag = each.tags.find(kLocalVersionTag);
    return tag != each.tags.end() && tag->second == marked(version);
  });
  return found == versions.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<std::string>> runs_of(store::Store& store, const std::string& model) {
  const Result<std::vector<store::ModelVersion>> versions = versions_of(store, model);
  if (!versions) return std::unexpected(versions.error());
  std::vector<std::string> out;
  const auto add = [&](const std::string& run) -> Status {
    if (run.empty() || std::ranges::find(out, run) != out.end()) return {};
    const Result<store::Run> found = store.find(run);
    if (!found && found.error().may_pass()) return std::unexpected(found.error());
    if (found && !found->deleted && std::ranges::find(out, found->id) == out.end()) out.push_back(found->id);
    return {};
  };
  for (const store::ModelVersion& version : *versions) {
    PLIMSOLL_TRY(add(version.run));
    const std::optional<store::FilesOwner> owner = store::files_owner(version.location);
    if (owner && !owner->of_model) PLIMSOLL_TRY(add(owner->id));
    const std::string logged = owner && owner->of_model ? owner->id : version.logged_model;
    if (logged.empty()) continue;
    const Result<store::LoggedModel> found = store.model(logged);
    if (!found && found.error().may_pass()) return std::unexpected(found.error());
    if (found) PLIMSOLL_TRY(add(found->source_run));
  }
  return out;
}

/// One thing that the server refuses for good is named and left out.
Status RegistrySender::leave_out(const Status& done, const std::string& what) {
  if (done || done.error().may_pass()) return done;
  left_out_->push_back({what, done.error().message});
  return {};
}

/// Whether the model of this name there is ours, which it is where there was none.
Result<bool> RegistrySender::settle(const store::RegisteredModel& model) {
  const std::string mark = fmt::format("{}", model.created);
  auto there = again([&] { return registry_.model(model.name); });
  if (!there) return std::unexpected(std::move(there).error());
  if (!*there) {
    const Status made =
        again([&] { return registry_.create(model.name, model.description, {{kLocalRegisteredTag, mark}}); });
    // Made by a call whose answer was lost, or by somebody else meanwhile: the tag tells.
    if (!made && made.error().kind != Error::Kind::exists_already) return std::unexpected(made.error());
    there = again([&] { return registry_.model(model.name); });
    if (!there) return std::unexpected(std::move(there).error());
    if (!*there) return fail("the registered model {} was made, and is gone", quote(model.name));
  }
  const auto own = (*there)->tags.find(kLocalRegisteredTag);
  if (own == (*there)->tags.end() || own->second != mark) return false;
  if ((*there)->description != model.description)
    PLIMSOLL_TRY(leave_out(again([&] { return registry_.describe(model.name, model.description); }),
                           fmt::format("the description of {}", quote(model.name))));
  for (const auto& [key, value] : model.tags) {
    const auto known = (*there)->tags.find(key);
    if (key == kLocalRegisteredTag || (known != (*there)->tags.end() && known->second == value)) continue;
    PLIMSOLL_TRY(leave_out(again([&] { return registry_.set_tag(model.name, key, value); }),
                           fmt::format("tag {} of {}", quote(key), quote(model.name))));
  }
  return true;
}

Result<std::optional<RegistrySender::Origin>> RegistrySender::origin_in_run(const std::string& run,
                                                                            const std::string& rest) {
  const Result<std::optional<std::string>> id = remote_run_of(*store_, url_, run);
  if (!id) return std::unexpected(id.error());
  if (!*id) return std::optional<Origin>();
  const Result<std::optional<RemoteRun>> there = again([&] { return remote_->run(**id); });
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::optional<Origin>();
  return Origin{.source = with_rest((*there)->artifact_uri, rest), .run = (*there)->id, .logged_model = {}};
}

Result<std::optional<RegistrySender::Origin>> RegistrySender::origin_in_model(const std::string& model,
                                                                              const std::string& rest) {
  const Result<store::LoggedModel> here = store_->model(model);
  if (!here && here.error().kind != Error::Kind::not_found) return std::unexpected(here.error());
  const Result<std::optional<SentModel>> sent = models_->send(model);
  if (!sent) return std::unexpected(sent.error());
  if (!here || !*sent) return std::optional<Origin>();
  const SentModel& there = **sent;
  if (there.remote.empty())
    return Origin{.source = with_rest(with_rest(there.place.uri, there.below), rest),
                  .run = there.place.run,
                  .logged_model = {}};
  const Result<std::optional<std::string>> run = remote_run_of(*store_, url_, here->source_run);
  if (!run) return std::unexpected(run.error());
  return Origin{.source = rest.empty() ? "models:/" + there.remote : with_rest(there.place.uri, rest),
                .run = run->value_or(""),
                .logged_model = there.remote};
}

/// Nothing where its files are not in this store any more.
Result<std::optional<RegistrySender::Origin>> RegistrySender::origin_of(const store::ModelVersion& version) {
  const std::string& location = version.location.empty() ? version.source : version.location;
  if (const std::optional<store::FilesOwner> owner = store::files_owner(location))
    return owner->of_model ? origin_in_model(owner->id, owner->rest) : origin_in_run(owner->id, owner->rest);
  Origin out{.source = location, .run = {}, .logged_model = {}};
  Result<std::optional<std::string>> run = remote_run_of(*store_, url_, version.run);
  if (!run) return std::unexpected(std::move(run).error());
  out.run = run->value_or("");
  return out;
}

/// False: it was left out.
Result<bool> RegistrySender::make(const store::ModelVersion& version, const std::set<std::int64_t>& here) {
  const Result<std::optional<Origin>> origin = origin_of(version);
  if (!origin) return std::unexpected(origin.error());
  const std::string what = called(version.model, version.version);
  if (!*origin) {
    left_out_->push_back({what, "its run or logged model is not there, or no longer in this store"});
    return false;
  }
  const NewRemoteVersion made{.model = version.model,
                              .source = (*origin)->source,
                              .run = (*origin)->run,
                              .logged_model = (*origin)->logged_model,
                              .description = version.description,
                              .run_link = version.run_link,
                              .tags = {{kLocalVersionTag, marked(version.version)}}};
  for (std::int64_t tries = 0; tries < kMostFreeNumbers; ++tries) {
    // Looked for first: the answer to the call before may have been lost, or the process that made it.
    const Result<std::int64_t> number = again([&]() -> Result<std::int64_t> {
      const Result<std::vector<RemoteVersion>> known = registry_.versions(version.model);
      if (!known) return std::unexpected(known.error());
      if (const RemoteVersion* there = tagged(*known, version.version)) return there->version;
      return registry_.create(made);
    });
    if (!number && number.error().may_pass()) return std::unexpected(number.error());
    if (!number) {
      left_out_->push_back({what, number.error().message});
      return false;
    }
    if (*number == version.version) return true;
    if (*number > version.version || here.contains(*number)) {
      left_out_->push_back({fmt::format("the number of {}", what),
                            fmt::format("it is {} there, as others have taken theirs", *number)});
      return true;
    }
    PLIMSOLL_TRY(again([&] { return registry_.remove(version.model, *number); }));
  }
  left_out_->push_back({what, fmt::format("more than {} numbers before it are free", kMostFreeNumbers)});
  return false;
}

Status RegistrySender::update(const store::ModelVersion& version, const RemoteVersion& there) {
  const std::string what = called(version.model, version.version);
  if (there.description != version.description)
    PLIMSOLL_TRY(leave_out(
        again([&] { return registry_.describe(version.model, there.version, version.description); }),
        "the description of " + what));
  for (const auto& [key, value] : version.tags) {
    const auto known = there.tags.find(key);
    if (key == kLocalVersionTag || (known != there.tags.end() && known->second == value)) continue;
    PLIMSOLL_TRY(leave_out(again([&] { return registry_.set_tag(version.model, there.version, key, value); }),
                           fmt::format("tag {} of {}", quote(key), what)));
  }
  const store::ModelStage stage = store::model_stage_named(there.stage).value_or(store::ModelStage::none);
  if (stage == version.stage) return {};
  return leave_out(again([&] { return registry_.set_stage(version.model, there.version, version.stage); }),
                   "the stage of " + what);
}

Result<SentRegistered> RegistrySender::send(const std::string& name,
                                            const std::function<void(std::size_t, std::size_t)>& report) {
  SentRegistered out{.model = name};
  const Result<store::RegisteredModel> model = store_->registry().model(name);
  if (!model) return std::unexpected(model.error());
  const Result<bool> ours = settle(*model);
  if (!ours) return std::unexpected(ours.error());
  out.different = !*ours;
  if (!*ours) return out;
  const Result<std::vector<store::ModelVersion>> versions = versions_of(*store_, name);
  if (!versions) return std::unexpected(versions.error());
  std::set<std::int64_t> here;
  for (const store::ModelVersion& version : *versions) here.insert(version.version);
  Result<std::vector<RemoteVersion>> there = again([&] { return registry_.versions(name); });
  if (!there) return std::unexpected(std::move(there).error());
  for (const store::ModelVersion& version : *versions) {
    if (report) report(out.sent + out.present, versions->size());
    const RemoteVersion* known = tagged(*there, version.version);
    // One that only took a free number, of a process that ended before it was removed.
    if (known != nullptr && known->version < version.version && !here.contains(known->version))
      known = nullptr;
    if (known != nullptr) {
      ++out.present;
      continue;
    }
    const Result<bool> done = make(version, here);
    if (!done) return std::unexpected(done.error());
    if (*done) ++out.sent;
  }
  if (out.sent > 0) there = again([&] { return registry_.versions(name); });
  if (!there) return std::unexpected(std::move(there).error());
  for (const store::ModelVersion& version : *versions)
    if (const RemoteVersion* known = tagged(*there, version.version)) PLIMSOLL_TRY(update(version, *known));
  const auto known = again([&] { return registry_.model(name); });
  if (!known) return std::unexpected(known.error());
  for (const auto& [alias, number] : model->aliases) {
    const RemoteVersion* version = tagged(*there, number);
    if (version == nullptr) continue;
    const bool same =
        *known && (*known)->aliases.contains(alias) && (*known)->aliases.at(alias) == version->version;
    if (!same)
      PLIMSOLL_TRY(leave_out(again([&] { return registry_.set_alias(name, alias, version->version); }),
                             fmt::format("alias {} of {}", quote(alias), quote(name))));
  }
  return out;
}

}  // namespace plimsoll::forward
