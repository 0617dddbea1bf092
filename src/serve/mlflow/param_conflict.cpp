#include "serve/mlflow/param_conflict.hpp"

#include "base/printable.hpp"

namespace plimsoll::serve::mlflow {

Fault explained(Api& api, const std::string& run, const store::Change& change, const Error& error) {
  if (error.may_pass()) return fault_of(error);
  const Outcome<store::Run> stored = api.run(run);
  if (!stored) return stored.error();
  for (const auto& [key, value] : change.params) {
    const auto before = stored->params.find(key);
    if (before == stored->params.end() || before->second == value) continue;
    constexpr std::size_t kShown = 1000;
    return {
        Code::invalid_parameter_value,
        fmt::format(
            "Changing param values is not allowed. Param with key='{}' was already logged with value='{}' "
            "for run ID='{}'. Attempted logging new value '{}'.",
            key, printable(before->second, kShown), run, printable(value, kShown))};
  }
  return fault_of(error);
}

}  // namespace plimsoll::serve::mlflow
