#include <charconv>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "named_registered.hpp"
#include "report/registry_table.hpp"
#include "setting_options.hpp"
#include "store/store.hpp"
#include "version_contents.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

struct RegistryOptions {
  std::string name, store;
  WeighOptions weigh;
  store::RegistrySearch search{.limit = 50};
  bool json = false;
};

Result<int> list_models(store::Store& store, const RegistryOptions& options, const report::TextStyle& style) {
  store::RegistrySearch search = options.search;
  ++search.limit;  // one more than is shown, to know whether there is more
  Result<std::vector<store::RegisteredModel>> models = store.registry().search(search);
  PLIMSOLL_TRY(models);
  const bool more = models->size() > options.search.limit;
  if (more) models->pop_back();
  if (options.json) {
    Json out = {{"store", store.location()}, {"more", more}, {"models", Json::array()}};
    for (const store::RegisteredModel& model : *models)
      out["models"].push_back(report::registered_json(model));
    print_json(out);
  } else if (models->empty()) {
    fmt::print("No registered models in {}{}.\n", printable(store.location()),
               search.filter.empty() ? "" : " that match");
  } else {
    fmt::print("{}", report::to_text(report::registry_table(*models), style));
    if (more) fmt::print("\nThere are more: --limit N shows N of them.\n");
  }
  return 0;
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

Result<int> show_model(store::Store& store, const RegistryOptions& options, const report::TextStyle& style) {
  const Result<store::RegisteredModel> model = named_registered(store, options.name);
  PLIMSOLL_TRY(model);
  const Result<std::vector<store::ModelVersion>> versions =
      store.registry().search_versions({.filter = "name = " + in_quotes(model->name),
                                        .order_by = {"version_number DESC"},
                                        .limit = options.search.limit});
  PLIMSOLL_TRY(versions);
  std::vector<report::WeighedVersion> weighed;
  for (const store::ModelVersion& version : *versions) {
    Result<report::WeighedVersion> one = weighed_version(store, version);
    PLIMSOLL_TRY(one);
    weighed.push_back(*std::move(one));
  }
  if (!options.json) {
    fmt::print("{}", report::registered_details(*model, weighed, style));
    return 0;
  }
  Json out = report::registered_json(*model);
  out["versions"] = Json::array();
  for (const report::WeighedVersion& version : weighed)
    out["versions"].push_back(report::version_json(version));
  print_json(out);
  return 0;
}

struct NamedVersion {
  std::string model;
  std::int64_t version = 0;
};

/// NAME/7 and NAME@ALIAS; nothing where it is a model's name alone.
Result<std::optional<NamedVersion>> version_named(store::Store& store, const std::string& name) {
  const std::size_t slash = name.rfind('/');  // no model's name has one
  if (slash != std::string::npos) {
    NamedVersion out{.model = name.substr(0, slash)};
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + slash + 1, end, out.version);
    if (read.ec != std::errc() || read.ptr != end || out.version < 1)
      return std::unexpected(
          Error{fmt::format("{} names no version", quote(name)), {}, "As in `plimsoll registry NAME/3`."});
    return out;
  }
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || store.registry().model(name)) return std::optional<NamedVersion>();
  const Result<store::RegisteredModel> model = named_registered(store, name.substr(0, at));
  PLIMSOLL_TRY(model);
  const auto found = model->aliases.find(name.substr(at + 1));
  if (found == model->aliases.end())
    return std::unexpected(
        Error{fmt::format("{} has no alias {}", quote(model->name), quote(name.substr(at + 1))),
              {},
              "`plimsoll registry NAME` lists them.",
              Error::Kind::not_found});
  return NamedVersion{model->name, found->second};
}

Result<int> show_version(store::Store& store, const NamedVersion& named, const RegistryOptions& options,
                         const report::TextStyle& style) {
  const Result<store::RegisteredModel> model = named_registered(store, named.model);
  PLIMSOLL_TRY(model);
  Result<store::ModelVersion> version = store.registry().version(model->name, named.version);
  if (!version && version.error().kind == Error::Kind::not_found)
    version.error().hint = fmt::format("`plimsoll registry {}` lists its versions.", printable(model->name));
  PLIMSOLL_TRY(version);
  const Result<report::WeighedVersion> weighed = weighed_version(store, *version, &options.weigh);
  PLIMSOLL_TRY(weighed);
  if (options.json) {
    Json out = {{"name", model->name}};
    out.update(report::version_json(*weighed));
    print_json(out);
  } else {
    fmt::print("{}", report::version_details(*weighed, style));
  }
  return 0;
}

Result<int> show(store::Store& store, const RegistryOptions& options, const report::TextStyle& style) {
  if (options.name.empty()) return list_models(store, options, style);
  const Result<std::optional<NamedVersion>> version = version_named(store, options.name);
  PLIMSOLL_TRY(version);
  if (*version) return show_version(store, **version, options, style);
  if (!options.weigh.devices.empty())
    return std::unexpected(
        Error{"--device is for one version", {}, "As in `plimsoll registry NAME/3 --device h200`."});
  return show_model(store, options, style);
}

}  // namespace

void add_registry(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand(
      "registry", "Registered models: their versions, aliases, and what is in their files");
  const auto options = std::make_shared<RegistryOptions>();
  command
      ->add_option(
          "name", options->name,
          "Show this model with its versions, the newest first; NAME/3 or NAME@ALIAS: that version, and "
          "what it takes of devices")
      ->option_text("REGISTERED");
  options->weigh.inspect.binding.add_to(*command, options->weigh.inspect.setting);
  add_devices_option(
      *command, options->weigh.devices,
      "Of a version in ONNX: weigh it on these devices (default: this machine's GPUs, else its CPU)");
  command
      ->add_option("--filter", options->search.filter,
                   "List only models that match this, in MLflow's language")
      ->option_text("EXPRESSION");
  command->add_option("--limit", options->search.limit, "List at most this many (default: 50)")
      ->in_range(std::size_t{1}, std::size_t{10'000})
      ->option_text("N");
  command
      ->add_option(
          "--store", options->store,
          "The store that they are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll registry\n"
      "  plimsoll registry tiny\n"
      "  plimsoll registry tiny/1 --device h200,t4");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation]() -> Result<int> {
      const auto store = store::open(options->store, {.create = false});
      if (!store) return std::unexpected(store.error());
      const report::TextStyle style = output_style(invocation);
      return show(**store, *options, style);
    };
  });
}

}  // namespace plimsoll
