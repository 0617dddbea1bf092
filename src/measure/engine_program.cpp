#include "measure/engine_program.hpp"

#include "base/companion.hpp"

namespace plimsoll::measure {
namespace {

constexpr Companion kEngine{
    .name = "plimsoll-engine",
    .variable = "PLIMSOLL_ENGINE",
    .hint = "`make engine` builds it (docs/engine.md); PLIMSOLL_ENGINE names one in another place."};

}  // namespace

EngineSearch EngineSearch::of_this_process() {
  CompanionSearch search = CompanionSearch::of_this_process(kEngine);
  return {std::move(search.named), std::move(search.beside), std::move(search.search_path)};
}

Result<std::filesystem::path> find_engine(const EngineSearch& search) {
  return find_companion(kEngine, {search.named, search.beside, search.search_path});
}

}  // namespace plimsoll::measure
