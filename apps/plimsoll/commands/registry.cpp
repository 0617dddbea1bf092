#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "named_registered.hpp"
#include "report/registry_table.hpp"
#include "store/store.hpp"
#include "version_contents.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

struct RegistryOptions {
  std::string name, store;
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

}  // namespace

void add_registry(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand(
      "registry", "Registered models: their versions, aliases, and what is in their files");
  const auto options = std::make_shared<RegistryOptions>();
  command->add_option("name", options->name, "Show this model with its versions, the newest first")
      ->option_text("NAME");
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
      "  plimsoll registry tiny");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation]() -> Result<int> {
      const auto store = store::open(options->store, {.create = false});
      if (!store) return std::unexpected(store.error());
      const report::TextStyle style = output_style(invocation);
      return options->name.empty() ? list_models(**store, *options, style)
                                   : show_model(**store, *options, style);
    };
  });
}

}  // namespace plimsoll
