#include "run/attempt.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/printable.hpp"

namespace plimsoll::running {
namespace {

using job::Fields;
using job::Json;

constexpr std::array<std::string_view, 3> kWaysOfSharing{"alone", "naive", "mps"};
constexpr std::int64_t kMostId = 0xFFFF'FFFE;  // the last stands for "leave it"

std::unexpected<Error> cannot_become(std::string_view what, int code) {
  return std::unexpected(
      Error{fmt::format("cannot become the job's user: {}: {}", what, std::generic_category().message(code)),
            {},
            "Only root's daemon runs jobs of other users.",
            Error::Kind::machine_lacks});
}

Attempt::User read_user(const Fields& fields) {
  Attempt::User user;
  user.user = static_cast<uid_t>(fields.whole("user", 0, kMostId));
  user.group = static_cast<gid_t>(fields.whole("group", 0, kMostId));
  for (const std::int64_t group : fields.wholes("groups", 0, kMostId))
    user.groups.push_back(static_cast<gid_t>(group));
  return user;
}

Variables read_whole_environment(const Fields& fields) {
  constexpr std::string_view kKey = "environment";
  Variables out;
  for (const Json& item : fields.list(kKey)) {
    const bool two = item.is_array() && item.size() == 2;
    auto name = two ? job::text_of(item[0]) : std::nullopt;
    auto value = two ? job::text_of(item[1]) : std::nullopt;
    if (!name || !value || name->empty() || name->contains('=') || name->contains('\0') ||
        value->contains('\0')) {
      fields.complain(kKey, "is not a list of pairs of a variable's name and its value");
      return {};
    }
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

/// What root may do has gone with its number, unless the process was told to keep it; then it goes here.
bool drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

bool is_only(uid_t user, gid_t group) {
  std::array<uid_t, 3> users{};
  std::array<gid_t, 3> groups{};
  return ::getresuid(&users[0], &users[1], &users[2]) == 0 &&
         ::getresgid(&groups[0], &groups[1], &groups[2]) == 0 &&
         std::ranges::all_of(users, [&](uid_t id) { return id == user; }) &&
         std::ranges::all_of(groups, [&](gid_t id) { return id == group; });
}

}  // namespace

Json attempt_json(const Attempt& attempt) {
  Json out{{"folder", job::text_json(attempt.folder.string())},
           {"leased", attempt.leased},
           {"lease_patience_seconds", attempt.lease_patience.value()},
           {"umask", attempt.umask},
           {"shared_as", attempt.shared_as}};
  if (attempt.user)
    out["user"] = {
        {"user", attempt.user->user}, {"group", attempt.user->group}, {"groups", attempt.user->groups}};
  if (attempt.environment) {
    Json& list = out["environment"] = Json::array();
    for (const auto& [name, value] : *attempt.environment)
      list.push_back(Json::array({job::text_json(name), job::text_json(value)}));
  }
  return out;
}

Result<Attempt> read_attempt(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, "attempt", error);
  Attempt attempt;
  attempt.folder = fields.text("folder");
  attempt.leased = fields.flag("leased");
  attempt.lease_patience = Seconds(fields.not_negative("lease_patience_seconds"));
  attempt.umask = static_cast<mode_t>(fields.whole("umask", 0, 0777));
  attempt.shared_as = fields.text("shared_as");
  if (fields.has("user")) attempt.user = read_user(fields.section("user"));
  if (fields.has("environment")) attempt.environment = read_whole_environment(fields);
  if (!error && (!attempt.folder.is_absolute() || attempt.folder.native().contains('\0')))
    fields.complain("folder", "is not an absolute path");
  if (!error && std::ranges::find(kWaysOfSharing, attempt.shared_as) == kWaysOfSharing.end())
    fields.complain("shared_as", fmt::format("{} is not alone, naive or mps", quote(attempt.shared_as)));
  if (error) return std::unexpected(*std::move(error));
  return attempt;
}

Status become(const Attempt::User& user) {
  if (::prctl(PR_SET_KEEPCAPS, 0) != 0) return cannot_become("capabilities", errno);
  // In this order: who is not root any more cannot choose groups.
  if (::setgroups(user.groups.size(), user.groups.data()) != 0) return cannot_become("groups", errno);
  if (::setresgid(user.group, user.group, user.group) != 0) return cannot_become("group", errno);
  if (::setresuid(user.user, user.user, user.user) != 0) return cannot_become("user", errno);
  if (!is_only(user.user, user.group)) return cannot_become("the ids are others", EPERM);
  if (user.user == 0) return {};
  if (!drop_capabilities()) return cannot_become("capabilities", errno);
  if (::setresuid(0, 0, 0) == 0 || ::seteuid(0) == 0) return cannot_become("there is a way back", EPERM);
  // What this process was started with, its environment above all, is its starter's: as the kernel left it
  // when the ids changed, nobody of the user's reads its memory. The command is, again, like any other.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return cannot_become("memory", errno);
  return {};
}

Status replace_environment(const Variables& environment) {
  if (::clearenv() != 0) return fail("the environment cannot be replaced");
  for (const auto& [name, value] : environment)
    if (::setenv(name.c_str(), value.c_str(), 1) != 0)
      return fail("{} cannot be set in the environment: {}", quote(name),
                  std::generic_category().message(errno));
  return {};
}

}  // namespace plimsoll::running
