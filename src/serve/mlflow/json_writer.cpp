#include "serve/mlflow/json_writer.hpp"

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "serve/http/target.hpp"

namespace plimsoll::serve::mlflow {
namespace {

/// How many bytes of `text` make up its first character; 0 where they are no UTF-8.
std::size_t character_length(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length)
    if (is_utf8(text.substr(0, length))) return length;
  return 0;
}

void append_repaired(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool needs_escape(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

void JsonWriter::separate() {
  if (!first_) out_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  std::string repaired;
  if (!is_utf8(value)) {
    append_repaired(repaired, value);
    value = repaired;
  }
  out_ += '"';
  std::size_t written = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!needs_escape(value[i])) continue;
    out_ += value.substr(written, i - written);
    append_escape(out_, value[i]);
    written = i + 1;
  }
  out_ += value.substr(written);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  const fmt::format_int digits(value);
  out_.append(digits.data(), digits.size());
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (std::isnan(value)) return text("NaN");
  if (std::isinf(value)) return text(value > 0 ? "Infinity" : "-Infinity");
  separate();
  char digits[32];
  const auto [end, problem] = std::to_chars(std::begin(digits), std::end(digits), value);
  const std::string_view shortest(std::begin(digits), end);
  out_ += shortest;
  // Python reads "10" as an integer and "10.0" as what it is.
  if (shortest.find_first_of(".en") == std::string_view::npos) out_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

std::string JsonWriter::take() {
  first_ = true;
  return std::exchange(out_, {});
}

}  // namespace plimsoll::serve::mlflow
