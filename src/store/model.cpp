#include "store/model.hpp"

#include <cstddef>
#include <iterator>

#include "base/named.hpp"

namespace plimsoll::store {
namespace {

constexpr std::string_view kStatuses[] = {"UNSPECIFIED", "PENDING", "READY", "FAILED"};

}  // namespace

std::string_view name(ModelStatus status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

std::optional<ModelStatus> model_status_named(std::string_view name) {
  return named<ModelStatus>(name, kStatuses);
}

ModelStatus model_status_numbered(std::int64_t number) {
  return number >= 0 && number < std::ssize(kStatuses) ? static_cast<ModelStatus>(number)
                                                       : ModelStatus::unspecified;
}

}  // namespace plimsoll::store
