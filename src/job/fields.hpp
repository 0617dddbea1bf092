#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace plimsoll::job {

using Json = nlohmann::json;

/// Text may be any bytes (names in an ONNX file are): what is no UTF-8 stands as {"hex": "ff00"}.
[[nodiscard]] Json text_json(std::string_view text);
/// A number; "nan", "inf" and "-inf" as text, for which JSON has no number.
[[nodiscard]] Json real_json(double value);
[[nodiscard]] Json reals_json(const std::vector<double>& values);
[[nodiscard]] Json texts_json(const std::vector<std::string>& texts);
/// The text of a document on one line. Never fails: all that went in was checked to be UTF-8 before.
[[nodiscard]] std::string dump(const Json& document);

/// JSON from outside: no longer and no deeper than told, which is found before anything is built.
[[nodiscard]] Result<Json> parse_within(std::string_view text, std::size_t most_bytes, int most_levels);

inline constexpr std::int64_t kMostWhole = std::numeric_limits<std::int64_t>::max();

/// Reads one JSON object, field by field. The first error is kept and all later answers are empty, so that
/// the reading code is a list of fields. Object and error must outlive it.
class Fields {
 public:
  Fields(const Json& object, std::string path, std::optional<Error>& error);

  [[nodiscard]] bool has(std::string_view key) const;  ///< there, and not null
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t least = 0,
                                   std::int64_t most = kMostWhole) const;
  [[nodiscard]] std::uint64_t natural(std::string_view key) const;  ///< of 64 bits
  [[nodiscard]] double real(std::string_view key) const;            ///< NaN and infinities too
  [[nodiscard]] double not_negative(std::string_view key) const;    ///< finite, 0 or more
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<double> reals(std::string_view key) const;
  [[nodiscard]] std::vector<double> not_negatives(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> wholes(
      std::string_view key, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
      std::int64_t most = kMostWhole) const;
  /// The same where the field may be absent.
  [[nodiscard]] std::optional<std::string> text_if_any(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> whole_if_any(std::string_view key) const;  ///< 0 or more
  [[nodiscard]] std::optional<double> real_if_any(std::string_view key) const;
  [[nodiscard]] std::optional<double> not_negative_if_any(std::string_view key) const;

  /// A name out of an enumeration; the first of it after an error.
  template <class Enum>
  [[nodiscard]] Enum choice(std::string_view key, std::optional<Enum> (*named)(std::string_view)) const {
    const std::string chosen = text(key);
    const std::optional<Enum> found = named(chosen);
    if (!found) complain_of(key, chosen);
    return found.value_or(Enum{});
  }

  [[nodiscard]] Fields section(std::string_view key) const;
  /// Calls `each` for every object of a list, until there is an error.
  void each(std::string_view key, const std::function<void(const Fields&)>& each) const;
  /// A list's items; none where it is not one, which is an error.
  [[nodiscard]] const Json::array_t& list(std::string_view key) const;
  [[nodiscard]] const Json& value(std::string_view key) const;  ///< null, and an error, where absent

  [[nodiscard]] bool good() const { return !error_->has_value(); }
  void complain(std::string_view key, std::string message) const;

 private:
  void complain_of(std::string_view key,
                   std::string_view chosen) const;  ///< a name that is none of those known
  [[nodiscard]] std::string place(std::string_view key) const;

  const Json* object_;
  std::string path_;
  std::optional<Error>* error_;
};

/// One value, or why it is none. For lists whose items are of several kinds.
[[nodiscard]] std::optional<std::string> text_of(const Json& value);
[[nodiscard]] std::optional<double> real_of(const Json& value);
[[nodiscard]] std::optional<std::int64_t> whole_of(const Json& value);

}  // namespace plimsoll::job
