#include "named_runs.hpp"

#include <fmt/format.h>

namespace plimsoll {

Result<store::Run> named_run(store::Store& store, std::string_view name, store::View view) {
  if (name != "last") return store.find(name);
  Result<std::vector<store::Run>> newest = store.search({.limit = 1, .view = view});
  if (!newest) return std::unexpected(std::move(newest).error());
  if (newest->empty())
    return std::unexpected(Error{
        fmt::format("there is no {}run: none is the last", view == store::View::deleted ? "deleted " : ""),
        store.location(), "`plimsoll run COMMAND` records one."});
  return std::move(newest->front());
}

Result<std::vector<store::Run>> named_runs(store::Store& store, const std::vector<std::string>& names,
                                           store::View view) {
  std::vector<store::Run> out;
  for (const std::string& name : names) {
    Result<store::Run> run = named_run(store, name, view);
    if (!run) return std::unexpected(std::move(run).error());
    out.push_back(std::move(*run));
  }
  return out;
}

}  // namespace plimsoll
