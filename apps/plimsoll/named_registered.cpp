#include "named_registered.hpp"

#include <string_view>
#include <vector>

#include "base/suggest.hpp"

namespace plimsoll {

Result<store::RegisteredModel> named_registered(store::Store& store, const std::string& name) {
  Result<store::RegisteredModel> model = store.registry().model(name);
  if (model || model.error().kind != Error::Kind::not_found) return model;
  const Result<std::vector<store::RegisteredModel>> all = store.registry().search({.limit = 1000});
  if (!all) return model;
  std::vector<std::string_view> names;
  for (const store::RegisteredModel& each : *all) names.push_back(each.name);
  model.error().hint = did_you_mean(name, names);
  if (model.error().hint.empty()) model.error().hint = "`plimsoll registry` lists them.";
  return model;
}

}  // namespace plimsoll
