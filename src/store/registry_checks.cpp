#include "store/registry_checks.hpp"

#include <algorithm>
#include <array>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace plimsoll::store {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"PENDING_REGISTRATION", "FAILED_REGISTRATION",
                                                       "READY"};

Status check_text(std::string_view what, std::string_view text, std::size_t most) {
  constexpr std::size_t kLongestCharacter = 4;  // bytes
  if (text.size() <= most * kLongestCharacter && first_characters(text, most).size() == text.size())
    return {};
  return fail("{} has {} bytes; {} characters are the most", what, text.size(), most);
}

}  // namespace

Status check_registered_name(std::string_view name) {
  const bool climbs = name == "." || name == "..";
  if (is_name(name, kLongestRegisteredName) && name.find_first_of("/:") == std::string_view::npos && !climbs)
    return {};
  return fail("{} is not the name of a registered model: 1 to {} characters without / and :", quote(name),
              kLongestRegisteredName);
}

Status check_alias(std::string_view alias) {
  if (is_name(alias, kLongestAlias) && alias.find_first_of("/:@") == std::string_view::npos) return {};
  return fail("{} is not an alias: 1 to {} characters without /, : and @", quote(alias), kLongestAlias);
}

Status check_registry_tags(const Texts& tags) {
  for (const auto& [name, value] : tags) {
    PLIMSOLL_TRY(check_name("tag", name));
    PLIMSOLL_TRY(check_text(fmt::format("the value of tag {}", quote(name)), value, kLongestRegistryValue));
  }
  return {};
}

Status check_description(std::string_view description) {
  return check_text("the description", description, kLongestRegistryValue);
}

Status check_version(const NewModelVersion& version) {
  constexpr std::size_t kLongestPlace = 8192, kLongestId = 256;
  PLIMSOLL_TRY(check_text("the source", version.source, kLongestPlace));
  PLIMSOLL_TRY(check_text("the location", version.location, kLongestPlace));
  PLIMSOLL_TRY(check_text("the link to a run", version.run_link, kLongestPlace));
  PLIMSOLL_TRY(check_text("the status", version.status_message, kLongestPlace));
  PLIMSOLL_TRY(check_text("the id of a run", version.run, kLongestId));
  PLIMSOLL_TRY(check_text("the id of a logged model", version.logged_model, kLongestId));
  PLIMSOLL_TRY(check_text("the user's name", version.user, kLongestId));
  PLIMSOLL_TRY(check_description(version.description));
  if (version.version && *version.version < 1) return fail("{} is not a version: 1, 2, 3…", *version.version);
  if (std::ranges::find(kStatuses, version.status) == kStatuses.end())
    return fail("{} is not the status of a version", quote(version.status));
  return check_registry_tags(version.tags);
}

}  // namespace plimsoll::store
