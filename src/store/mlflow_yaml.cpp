#include "store/mlflow_yaml.hpp"

#include <optional>
#include <vector>

#include "base/printable.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kLongestFile = std::size_t{20} << 20;  // a dataset's profile may have 16 MiB
constexpr std::size_t kMostKeys = 10'000;

struct Line {
  std::size_t indent = 0;
  std::string_view text = {};  ///< without the indent
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out.push_back({indent, line.substr(indent)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void append_utf8(std::string& out, unsigned long code) {
  const auto add = [&](unsigned long byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6U);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12U);
    } else {
      add(0xF0 | code >> 18U);
      add(0x80 | (code >> 12U & 0x3F));
    }
    add(0x80 | (code >> 6U & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

/// The digits of \xNN, \uNNNN or \UNNNNNNNN at `at`, which is moved past them.
std::optional<unsigned long> hexadecimal(std::string_view text, std::size_t& at, std::size_t digits) {
  if (at + digits >= text.size()) return {};
  unsigned long code = 0;
  for (std::size_t i = 1; i <= digits; ++i) {
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(text[at + i]);
    if (digit == std::string_view::npos) return {};
    code = code * 16 + (digit < 16 ? digit : digit - 6);
  }
  at += digits;
  if (code > 0x10FFFF) return {};
  return code;
}

/// What stands between double quotes, its escapes resolved.
std::optional<std::string> unescaped(std::string_view text) {
  constexpr std::string_view kNames = "0abtnvfre\"/\\ N_LP", kValues("\0\a\b\t\n\v\f\r\x1B\"/\\ ", 13);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return {};
    if (text[i] == 'x' || text[i] == 'u' || text[i] == 'U') {
      const auto code = hexadecimal(text, i, text[i] == 'x' ? 2 : text[i] == 'u' ? 4 : 8);
      if (!code) return {};
      append_utf8(out, *code);
      continue;
    }
    const std::size_t name = kNames.find(text[i]);
    if (name == std::string_view::npos) return {};
    constexpr unsigned long kOthers[] = {0x85, 0xA0, 0x2028, 0x2029};
    if (name < kValues.size())
      out += kValues[name];
    else
      append_utf8(out, kOthers[name - kValues.size()]);
  }
  return out;
}

/// Lines of one scalar are joined by spaces; an empty one is a line break.
std::string joined(std::string_view first, const std::vector<std::string_view>& rest, bool escapes) {
  std::string out(first);
  std::size_t breaks = 0;
  for (std::string_view line : rest) {
    if (line.empty()) {
      ++breaks;
      continue;
    }
    // In double quotes a backslash at the end of a line says that the next follows at once.
    const bool glued = escapes && breaks == 0 && out.ends_with('\\') && !out.ends_with("\\\\");
    if (glued) {
      out.pop_back();
      // The one that begins the next line keeps its spaces.
      if (line.starts_with("\\ ")) line.remove_prefix(1);
    } else {
      out += breaks > 0 ? std::string(breaks, '\n') : " ";
    }
    out += line;
    breaks = 0;
  }
  return out;
}

std::optional<std::string> scalar(std::string_view first, const std::vector<std::string_view>& rest) {
  if (first == "[]" || first == "{}" || first == "null" || first == "~" || first.empty())
    return rest.empty() ? std::optional(std::string()) : std::nullopt;
  if (first[0] == '"' || first[0] == '\'') {
    std::string whole = joined(first, rest, first[0] == '"');
    if (whole.size() < 2 || whole.back() != whole.front()) return {};
    whole = whole.substr(1, whole.size() - 2);
    if (first[0] == '"') return unescaped(whole);
    std::string out;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      out += whole[i];
      if (whole[i] != '\'') continue;
      if (i + 1 == whole.size() || whole[++i] != '\'') return {};
    }
    return out;
  }
  if (std::string_view("&*!|>%@`[]{},#?-").find(first[0]) != std::string_view::npos &&
      !(first[0] == '-' && first.size() > 1 && first[1] != ' '))
    return {};
  return joined(first, rest, false);
}

/// "key: value" or "key:"; keys may be in quotes.
std::optional<std::pair<std::string, std::string_view>> key_of(std::string_view line) {
  const std::size_t colon =
      line.starts_with('"') || line.starts_with('\'')
          ? line.find(std::string{line[0], ':'}, 1) + 1
          : line.find(line.ends_with(':') && line.find(": ") == std::string_view::npos ? ":" : ": ");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::optional<std::string> key = scalar(line.substr(0, colon), {});
  if (!key || key->empty()) return {};
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  while (value.ends_with(' ')) value.remove_suffix(1);
  return std::pair(*key, value);
}

}  // namespace

Result<std::map<std::string, std::string>> parse_mlflow_yaml(std::string_view text) {
  if (text.size() > kLongestFile) return fail("more than {} bytes", kLongestFile);
  const std::vector<Line> lines = lines_of(text);
  std::map<std::string, std::string> out;
  std::string group;  // "tags." within tags, as of aliases
  for (std::size_t i = 0; i < lines.size();) {
    const Line& line = lines[i];
    const auto wrong = [&](std::string_view what) {
      return fail("line {}: {}: {}", i + 1, what, quote(line.text.substr(0, 60)));
    };
    if (line.text.empty() || line.text.starts_with('#')) {
      ++i;
      continue;
    }
    if (line.indent != (group.empty() ? 0U : 2U)) {
      if (line.indent != 0 || group.empty()) return wrong("this is not as MLflow writes it");
      group.clear();
    }
    const auto entry = key_of(line.text);
    if (!entry) return wrong("expected KEY: VALUE");
    const auto& [key, value] = *entry;
    std::size_t next = i + 1;
    const bool has_level = key == "tags" || key == "aliases";
    if (group.empty() && has_level && value.empty() && next < lines.size() && lines[next].indent > 0) {
      group = std::string(key) + ".";
      i = next;
      continue;
    }
    std::vector<std::string_view> rest;
    while (next < lines.size() && (lines[next].text.empty() || lines[next].indent > line.indent))
      rest.push_back(lines[next++].text);
    while (!rest.empty() && rest.back().empty()) rest.pop_back();
    std::optional<std::string> read = scalar(value, rest);
    if (!read) return wrong("this is not as MLflow writes it");
    if (!out.emplace(group + key, std::move(*read)).second) return wrong("twice");
    if (out.size() > kMostKeys) return wrong("more keys than MLflow writes");
    i = next;
  }
  return out;
}

}  // namespace plimsoll::store
