#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

/// A method and the paths it is for: "/runs/{id}/metrics" takes any one non-empty segment in place of {id};
/// "/files/{path...}", at the end only, any rest, also an empty one.
struct Route {
  std::string_view method;
  std::string_view pattern;
};

/// Finds the route of a path. A literal segment wins over a {name}, which wins over a {rest...}. HEAD takes
/// the route of GET where it has none of its own.
class Router {
 public:
  /// Refuses patterns that are malformed, and two routes for the same requests.
  [[nodiscard]] static Result<Router> make(std::span<const Route> routes);

  struct Found {
    std::size_t route = 0;  ///< its place in the table
    Pairs parameters = {};  ///< by the names in braces
  };
  struct NoSuchPath {};
  struct WrongMethod {
    std::string allowed;  ///< for the header Allow: "GET, POST"
  };
  [[nodiscard]] std::variant<Found, NoSuchPath, WrongMethod> find(std::string_view method,
                                                                  std::string_view path) const;

 private:
  struct Segment {
    enum class Kind { literal, name, rest } kind = Kind::literal;
    std::string text;
  };
  struct Pattern {
    std::vector<Segment> segments;
    std::vector<std::pair<std::string, std::size_t>> methods;  // and the route of each
  };
  [[nodiscard]] static Result<std::vector<Segment>> parse(std::string_view pattern);
  [[nodiscard]] static bool match(const Pattern& pattern, std::string_view path, Pairs& parameters);

  struct Hash {
    using is_transparent = void;  // a path is looked up without a copy of it
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Pattern, Hash, std::equal_to<>>
      exact_;                    // patterns without braces, by their path
  std::vector<Pattern> others_;  // the most particular first
};

}  // namespace plimsoll::serve
