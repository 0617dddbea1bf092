#include "job/fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace plimsoll::job {
namespace {

/// Arrays and objects within each other, as far as text that may not be JSON has them.
int levels(std::string_view text, int enough) {
  int level = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && deepest <= enough; ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++level);
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return deepest;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return std::nullopt;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
    if (!high || !low) return std::nullopt;
    out.push_back(static_cast<char>(*high * 16 + *low));
  }
  return out;
}

const Json& nothing() {
  static const Json null;
  return null;
}
const Json::array_t& no_items() {
  static const Json::array_t none;
  return none;
}

}  // namespace

Json text_json(std::string_view text) {
  if (is_utf8(text)) return text;
  std::string digits;
  for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", digits}};
}

Json real_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}
Json reals_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(real_json(value));
  return list;
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> parse_within(std::string_view text, std::size_t most_bytes, int most_levels) {
  if (text.size() > most_bytes) return fail("larger than {} bytes", most_bytes);
  if (levels(text, most_levels) > most_levels) return fail("nested deeper than {} levels", most_levels);
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    std::string_view reason = e.what();  // "[json.exception.parse_error.101] parse error at line 1, …"
    if (const auto end = reason.find("] "); end != reason.npos) reason.remove_prefix(end + 2);
    return fail("not JSON: {}", printable(reason, 200));
  }
}

std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto hex = value.find("hex");
  if (hex == value.end() || !hex->is_string()) return std::nullopt;
  return from_hex(hex->get_ref<const std::string&>());
}

std::optional<double> real_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& word = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  return std::nullopt;
}

std::optional<std::int64_t> whole_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostWhole))
    return std::nullopt;
  return value.get<std::int64_t>();
}

Fields::Fields(const Json& object, std::string path, std::optional<Error>& error)
    : object_(&object), path_(std::move(path)), error_(&error) {
  if (!object.is_object()) complain("", "is not an object");
}

void Fields::complain(std::string_view key, std::string message) const {
  if (!*error_) *error_ = Error{std::move(message), place(key)};
}

void Fields::complain_of(std::string_view key, std::string_view chosen) const {
  complain(key, fmt::format("{} is not one of those known", quote(chosen)));
}

std::string Fields::place(std::string_view key) const {
  return path_.empty() || key.empty() ? fmt::format("{}{}", path_, key) : fmt::format("{}.{}", path_, key);
}

bool Fields::has(std::string_view key) const {
  if (!object_->is_object()) return false;
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

const Json& Fields::value(std::string_view key) const {
  if (has(key)) return *object_->find(key);
  complain(key, "is missing");
  return nothing();
}

std::string Fields::text(std::string_view key) const {
  auto found = text_of(value(key));
  if (!found) complain(key, "is not text");
  return std::move(found).value_or("");
}

std::int64_t Fields::whole(std::string_view key, std::int64_t least, std::int64_t most) const {
  const auto found = whole_of(value(key));
  if (found && *found >= least && *found <= most) return *found;
  complain(key, fmt::format("is not a whole number from {} to {}", least, most));
  return least;
}

std::uint64_t Fields::natural(std::string_view key) const {
  const Json& found = value(key);
  if (found.is_number_unsigned()) return found.get<std::uint64_t>();
  complain(key, "is not a whole number of 64 bits");
  return 0;
}

double Fields::real(std::string_view key) const {
  const auto found = real_of(value(key));
  if (!found) complain(key, "is not a number");
  return found.value_or(0);
}

double Fields::not_negative(std::string_view key) const {
  const double found = real(key);
  if (std::isfinite(found) && found >= 0) return found;
  complain(key, "is not a finite number of 0 or more");
  return 0;
}

bool Fields::flag(std::string_view key) const {
  const Json& found = value(key);
  if (found.is_boolean()) return found.get<bool>();
  complain(key, "is neither true nor false");
  return false;
}

const Json::array_t& Fields::list(std::string_view key) const {
  const Json& found = value(key);
  if (found.is_array()) return found.get_ref<const Json::array_t&>();
  complain(key, "is not a list");
  return no_items();
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> out;
  for (const Json& item : list(key)) {
    auto found = text_of(item);
    if (!found) return complain(key, "is not a list of texts"), std::vector<std::string>();
    out.push_back(std::move(*found));
  }
  return out;
}

std::vector<double> Fields::reals(std::string_view key) const {
  const auto& items = list(key);
  std::vector<double> out;
  out.reserve(items.size());
  for (const Json& item : items) {
    const auto found = real_of(item);
    if (!found) return complain(key, "is not a list of numbers"), std::vector<double>();
    out.push_back(*found);
  }
  return out;
}

std::vector<double> Fields::not_negatives(std::string_view key) const {
  std::vector<double> out = reals(key);
  if (std::ranges::all_of(out, [](double x) { return std::isfinite(x) && x >= 0; })) return out;
  complain(key, "is not a list of finite numbers of 0 or more");
  return {};
}

std::vector<std::int64_t> Fields::wholes(std::string_view key, std::int64_t least, std::int64_t most) const {
  const auto& items = list(key);
  std::vector<std::int64_t> out;
  out.reserve(items.size());
  for (const Json& item : items) {
    const auto found = whole_of(item);
    if (!found || *found < least || *found > most)
      return complain(key, fmt::format("is not a list of whole numbers from {} to {}", least, most)),
             std::vector<std::int64_t>();
    out.push_back(*found);
  }
  return out;
}

std::optional<std::string> Fields::text_if_any(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}
std::optional<std::int64_t> Fields::whole_if_any(std::string_view key) const {
  return has(key) ? std::optional(whole(key)) : std::nullopt;
}
std::optional<double> Fields::real_if_any(std::string_view key) const {
  return has(key) ? std::optional(real(key)) : std::nullopt;
}
std::optional<double> Fields::not_negative_if_any(std::string_view key) const {
  return has(key) ? std::optional(not_negative(key)) : std::nullopt;
}

Fields Fields::section(std::string_view key) const {
  return {value(key), place(key), *error_};
}

void Fields::each(std::string_view key, const std::function<void(const Fields&)>& each) const {
  std::size_t number = 0;
  for (const Json& item : list(key)) {
    if (!good()) return;
    each(Fields(item, fmt::format("{}[{}]", place(key), number++), *error_));
  }
}

}  // namespace plimsoll::job
