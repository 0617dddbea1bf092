#include "serve/http/router.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "base/printable.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::string_view kRest = "...";

/// Cuts the next segment off a path that begins with "/".
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

}  // namespace

Result<std::vector<Router::Segment>> Router::parse(std::string_view pattern) {
  const std::string where = std::string(pattern);
  if (!pattern.starts_with('/')) return std::unexpected(Error{"a pattern begins with '/'", where});
  std::vector<Segment> segments;
  while (!pattern.empty()) {
    std::string_view text = next_segment(pattern);
    if (text.find_first_of("{}") == std::string_view::npos) {
      segments.push_back({Segment::Kind::literal, std::string(text)});
      continue;
    }
    if (text.size() < 3 || !text.starts_with('{') || text.find_first_of("{}", 1) != text.size() - 1)
      return std::unexpected(Error{"braces hold a name and are a whole segment", where});
    text = text.substr(1, text.size() - 2);
    const bool rest = text.ends_with(kRest);
    if (rest) text.remove_suffix(kRest.size());
    if (text.empty()) return std::unexpected(Error{"braces hold a name", where});
    if (rest && !pattern.empty()) return std::unexpected(Error{"a rest stands at the end", where});
    segments.push_back({rest ? Segment::Kind::rest : Segment::Kind::name, std::string(text)});
  }
  return segments;
}

Result<Router> Router::make(std::span<const Route> routes) {
  Router router;
  std::set<std::string> taken;  // method and pattern, names left out
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const std::string text(routes[i].pattern);
    auto segments = parse(text);
    PLIMSOLL_TRY(segments);
    std::string shape(routes[i].method);
    for (const Segment& segment : *segments)
      shape += segment.kind == Segment::Kind::literal ? "/" + segment.text
               : segment.kind == Segment::Kind::name  ? "/{}"
                                                      : "/{...}";
    if (!taken.insert(shape).second) return std::unexpected(Error{"two routes for the same requests", text});
    const bool exact = std::ranges::all_of(
        *segments, [](const Segment& segment) { return segment.kind == Segment::Kind::literal; });
    Pattern& pattern = exact ? router.exact_[text] : router.others_.emplace_back();
    pattern.segments = *std::move(segments);
    pattern.methods.emplace_back(routes[i].method, i);
  }
  std::ranges::stable_sort(router.others_, [](const Pattern& a, const Pattern& b) {
    return std::ranges::lexicographical_compare(a.segments, b.segments, {}, &Segment::kind, &Segment::kind);
  });
  return router;
}

bool Router::match(const Pattern& pattern, std::string_view path, Pairs& parameters) {
  parameters = {};
  for (const Segment& wanted : pattern.segments) {
    if (path.empty()) return false;
    if (wanted.kind == Segment::Kind::rest) {
      parameters.add(wanted.text, std::string(path.substr(1)));
      return true;
    }
    const std::string_view segment = next_segment(path);
    if (wanted.kind == Segment::Kind::literal ? segment != wanted.text : segment.empty()) return false;
    if (wanted.kind == Segment::Kind::name) parameters.add(wanted.text, std::string(segment));
  }
  return path.empty();
}

std::variant<Router::Found, Router::NoSuchPath, Router::WrongMethod> Router::find(
    std::string_view method, std::string_view path) const {
  if (!path.starts_with('/')) return NoSuchPath{};
  std::set<std::string_view> allowed;
  Pairs parameters;
  const auto route_for = [&](const Pattern& pattern, std::string_view wanted) -> const std::size_t* {
    for (const auto& [known, route] : pattern.methods) {
      if (known == wanted) return &route;
      allowed.insert(known);
    }
    return nullptr;
  };
  // HEAD is asked for first in all patterns; then, as GET, once more.
  for (const std::string_view wanted : {method, method == "HEAD" ? std::string_view("GET") : method}) {
    if (const auto exact = exact_.find(path); exact != exact_.end())
      if (const std::size_t* route = route_for(exact->second, wanted)) return Found{*route, {}};
    for (const Pattern& pattern : others_) {
      if (!match(pattern, path, parameters)) continue;
      if (const std::size_t* route = route_for(pattern, wanted)) return Found{*route, std::move(parameters)};
    }
  }
  if (allowed.empty()) return NoSuchPath{};
  if (allowed.contains("GET")) allowed.insert("HEAD");
  return WrongMethod{fmt::format("{}", fmt::join(allowed, ", "))};
}

}  // namespace plimsoll::serve
