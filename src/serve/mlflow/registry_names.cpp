#include "serve/mlflow/registry_names.hpp"

#include <charconv>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/unserved.hpp"
#include "serve/mlflow/validation.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::size_t kLongestRegisteredName = 256, kLongestAlias = 255, kLongestRegistryValue = 100'000;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Outcome<void> check_registered_name(std::string_view name, std::string_view parameter) {
  if (name.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos)
    return invalid("Missing value for required parameter '{}'.", parameter);
  if (name.find_first_of("/:") != std::string_view::npos)
    return invalid("Invalid model name '{}'. Names cannot contain '/' or ':'.", printable(name, 500));
  if (normalized(name) != name || name == "." || name.starts_with(".."))
    return std::unexpected(Fault{
        Code::invalid_parameter_value,
        invalid_value("name", json_text(name),
                      fmt::format("Names may be treated as files in certain cases, and must not resolve "
                                  "to other names when treated as such. This name would resolve to '{}'",
                                  normalized(name)))});
  return check_length(name, kLongestRegisteredName, "name");
}

Outcome<void> check_alias(std::string_view alias) {
  if (alias.empty()) return invalid("Registered model alias name cannot be empty.");
  // A key without the marks that keys may have beside the letters of every script.
  if (alias.find_first_of("/. :") != std::string_view::npos || !check_key(alias, "alias"))
    return invalid(
        "Invalid alias name: '{}'. Names may only contain alphanumerics, underscores (_), and dashes (-).",
        printable(alias, 500));
  return check_length(alias, kLongestAlias, "Registered model alias name");
}

Outcome<void> check_alias_is_free(std::string_view alias) {
  if (lower_case(alias) == "latest") return invalid("'latest' alias name (case insensitive) is reserved.");
  if ((alias.starts_with('v') || alias.starts_with('V')) && is_digits(alias.substr(1)))
    return invalid("Version alias name '{}' is reserved.", printable(alias));
  return {};
}

Outcome<void> check_registry_tag(std::string_view key, std::string_view value) {
  PLIMSOLL_TRY(check_key(key, "key"));
  PLIMSOLL_TRY(check_length(key, limits::kLongestKey, "key"));
  PLIMSOLL_TRY(check_length(value, kLongestRegistryValue, "value"));
  if (key == "mlflow.prompt.is_prompt" && lower_case(value) == "true") return std::unexpected(no_prompts());
  return {};
}

Outcome<void> check_registry_tags(const std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : tags) PLIMSOLL_TRY(check_registry_tag(key, value));
  return {};
}

Outcome<std::int64_t> version_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && problem == std::errc() && end == text.data() + text.size()) return number;
  return invalid("Parameter 'version' must be an integer, got '{}'.", printable(text, 100));
}

Outcome<store::ModelStage> stage_of(std::string_view text) {
  if (const std::optional<store::ModelStage> stage = store::model_stage_named(text)) return *stage;
  return invalid("Invalid Model Version stage: {}. Value must be one of None, Staging, Production, Archived.",
                 printable(text, 100));
}

}  // namespace plimsoll::serve::mlflow
