#include "measure/engine_program.hpp"

#include <cstdlib>
#include <system_error>

#include "base/process.hpp"

namespace plimsoll::measure {
namespace {

constexpr std::string_view kName = "plimsoll-engine";

std::unexpected<Error> lacking(std::string message) {
  return std::unexpected(Error{
      .message = std::move(message),
      .hint = "`make engine` builds it (docs/engine.md); PLIMSOLL_ENGINE names one that stands elsewhere",
      .kind = Error::Kind::machine_lacks});
}

}  // namespace

EngineSearch EngineSearch::of_this_process() {
  EngineSearch search;
  if (const char* named = std::getenv("PLIMSOLL_ENGINE"); named != nullptr && *named != '\0')
    search.named = named;
  std::error_code ignored;
  search.beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return search;
}

Result<std::filesystem::path> find_engine(const EngineSearch& search) {
  if (search.named) {
    if (auto found = find_program(*search.named, search.search_path)) return found;
    return lacking(fmt::format("there is no program {}, which PLIMSOLL_ENGINE names", *search.named));
  }
  if (!search.beside.empty())
    if (auto found = find_program((search.beside / kName).string())) return found;
  if (auto found = find_program(kName, search.search_path)) return found;
  return lacking(fmt::format("{} is neither beside plimsoll nor in PATH", kName));
}

}  // namespace plimsoll::measure
