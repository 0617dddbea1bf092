#include "base/companion.hpp"

#include <cstdlib>
#include <system_error>

#include "base/process.hpp"

namespace plimsoll {
namespace {

std::unexpected<Error> lacking(const Companion& companion, std::string message) {
  return std::unexpected(Error{.message = std::move(message),
                               .hint = std::string(companion.hint),
                               .kind = Error::Kind::machine_lacks});
}

}  // namespace

CompanionSearch CompanionSearch::of_this_process(const Companion& companion) {
  CompanionSearch search;
  const std::string variable(companion.variable);
  if (const char* named = std::getenv(variable.c_str()); named != nullptr && *named != '\0')
    search.named = named;
  std::error_code ignored;
  search.beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return search;
}

Result<std::filesystem::path> find_companion(const Companion& companion, const CompanionSearch& search) {
  if (search.named) {
    if (auto found = find_program(*search.named, search.search_path)) return found;
    return lacking(companion,
                   fmt::format("there is no program {}, which {} names", *search.named, companion.variable));
  }
  if (!search.beside.empty())
    if (auto found = find_program((search.beside / companion.name).string())) return found;
  if (auto found = find_program(companion.name, search.search_path)) return found;
  return lacking(companion, fmt::format("{} is neither beside plimsoll nor in PATH", companion.name));
}

}  // namespace plimsoll
