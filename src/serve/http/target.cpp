#include "serve/http/target.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::serve {

Result<Pairs> parse_query(std::string_view query) {
  Pairs pairs;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), true);
    PLIMSOLL_TRY(name);
    auto value =
        equals == std::string_view::npos ? std::string() : percent_decode(part.substr(equals + 1), true);
    PLIMSOLL_TRY(value);
    pairs.add(*std::move(name), *std::move(value));
  }
  return pairs;
}

Result<Target> parse_target(std::string_view target) {
  Target parsed;
  const std::size_t slashes = target.starts_with('/') ? std::string_view::npos : target.find("://");
  const std::string scheme = slashes == std::string_view::npos ? "" : lower_case(target.substr(0, slashes));
  if (scheme == "http" || scheme == "https") {
    target.remove_prefix(slashes + 3);
    const std::size_t end = target.find_first_of("/?#");
    parsed.host = target.substr(0, end);
    target.remove_prefix(parsed.host.size());
    if (parsed.host.empty()) return fail("the target names no host");
  } else if (!target.starts_with('/')) {
    return fail("the target {} does not begin with '/'", quote(target));
  }
  if (target.find('#') != std::string_view::npos) return fail("the target {} has a '#'", quote(target));
  const std::size_t question = target.find('?');
  auto path = percent_decode(target.substr(0, question));
  PLIMSOLL_TRY(path);
  parsed.path = path->empty() ? "/" : *std::move(path);
  if (question == std::string_view::npos) return parsed;
  auto query = parse_query(target.substr(question + 1));
  PLIMSOLL_TRY(query);
  parsed.query = *std::move(query);
  return parsed;
}

}  // namespace plimsoll::serve
