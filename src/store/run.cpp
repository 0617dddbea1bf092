#include "store/run.hpp"

#include <cstddef>

#include "base/named.hpp"

namespace plimsoll::store {
namespace {

constexpr std::string_view kRunStatuses[] = {"SCHEDULED", "RUNNING", "FINISHED", "FAILED", "KILLED"};

}  // namespace

std::string_view name(RunStatus status) {
  return kRunStatuses[static_cast<std::size_t>(status)];
}

std::optional<RunStatus> status_named(std::string_view name) {
  return named<RunStatus>(name, kRunStatuses);
}

}  // namespace plimsoll::store
