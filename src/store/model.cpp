#include "store/model.hpp"

#include <cstddef>
#include <iterator>

#include "base/named.hpp"

namespace plimsoll::store {
namespace {

constexpr std::string_view kModelStatuses[] = {"UNSPECIFIED", "PENDING", "READY", "FAILED"};

}  // namespace

std::string_view name(ModelStatus status) {
  return kModelStatuses[static_cast<std::size_t>(status)];
}

std::optional<ModelStatus> model_status_named(std::string_view name) {
  return named<ModelStatus>(name, kModelStatuses);
}

ModelStatus model_status_numbered(std::int64_t number) {
  return number >= 0 && number < std::ssize(kModelStatuses) ? static_cast<ModelStatus>(number)
                                                            : ModelStatus::unspecified;
}

}  // namespace plimsoll::store
