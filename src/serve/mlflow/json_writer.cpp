#include "serve/mlflow/json_writer.hpp"

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace plimsoll::serve::mlflow {
namespace {

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

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else if (length == 1 && !is_plain(text.substr(0, 1)))
      append_escape(out, text.front());
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
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
  separate();
  out_ += '"';
  out_ += name;
  out_ += "\":";
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  out_ += '"';
  if (is_plain(value))
    out_ += value;
  else
    append_escaped(out_, value);
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

JsonWriter& JsonWriter::written(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

std::string JsonWriter::take() {
  first_ = true;
  return std::exchange(out_, {});
}

}  // namespace plimsoll::serve::mlflow
