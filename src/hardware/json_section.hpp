#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace plimsoll::hardware {

/// JSON from outside: at most four mebibytes long (a calibration has thousands of points) and six levels
/// deep, and no key twice in an object, which the library's parser would all accept.
inline constexpr std::size_t kMostJsonBytes = 4 << 20;
[[nodiscard]] Result<nlohmann::json> parse_strictly(std::string_view text);

/// Reads one object of a data file, key by key. The first error is kept and all later answers are empty, so
/// that the reading code is a list of fields; done() finds the keys that nobody asked for. Object and error
/// must outlive it.
class JsonSection {
 public:
  using Json = nlohmann::json;
  JsonSection(const Json& object, std::string path, std::optional<Error>& error);

  const Json* take(const std::string& key);  ///< null where absent
  std::string text(const std::string& key);
  std::string required_text(const std::string& key);
  std::vector<std::string> texts(const std::string& key);
  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least, std::int64_t most);
  bool flag(const std::string& key);         ///< false where absent
  const Json* list(const std::string& key);  ///< null where absent

  /// A name out of an enumeration; `fallback` after an error.
  template <class Enum>
  Enum choice(const std::string& key, const std::string& chosen,
              std::optional<Enum> (*named)(std::string_view), Enum fallback) {
    const auto found = named(chosen);
    if (!found) complain(key, fmt::format("\"{}\" is not one of those known", chosen), "see docs/devices.md");
    return found.value_or(fallback);
  }

  void done();
  void complain(std::string_view key, std::string message, std::string hint = {});
  [[nodiscard]] std::string place(std::string_view key) const;  ///< "peak.fp16"
  [[nodiscard]] std::optional<Error>& error() { return error_; }

 private:
  std::string words(const std::string& key, const Json& value);

  const Json& object_;
  std::string path_;
  std::optional<Error>& error_;
  std::vector<std::string> known_;
};

}  // namespace plimsoll::hardware
