#include "store/registry.hpp"

#include <cstddef>
#include <iterator>

#include "base/text.hpp"

namespace plimsoll::store {
namespace {

constexpr std::string_view kStages[] = {"None", "Staging", "Production", "Archived"};

}  // namespace

std::string_view name(ModelStage stage) {
  return kStages[static_cast<std::size_t>(stage)];
}

std::optional<ModelStage> model_stage_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kStages); ++i)
    if (lower_case(name) == lower_case(kStages[i])) return static_cast<ModelStage>(i);
  return std::nullopt;
}

}  // namespace plimsoll::store
