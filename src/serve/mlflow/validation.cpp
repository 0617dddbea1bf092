#include "serve/mlflow/validation.hpp"

#include <vector>

#include "serve/mlflow/message.hpp"

namespace plimsoll::serve::mlflow {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// MLflow takes the letters of every script. Beyond ASCII all is taken but what is no character to read:
/// controls (U+0080–U+009F), and the spaces, marks of direction and line ends of U+2000–U+206F.
bool readable_beyond_ascii(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  if (byte(at) == 0xC2 && byte(at + 1) <= 0x9F) return false;
  if (byte(at) == 0xE2 && (byte(at + 1) == 0x80 || (byte(at + 1) == 0x81 && byte(at + 2) <= 0xAF)))
    return false;
  return byte(at) != 0xEF || byte(at + 1) < 0xBB;
}

bool only_key_characters(std::string_view key) {
  constexpr std::string_view kMarks = "/.- :";
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (ascii ? !is_word(c) && kMarks.find(c) == std::string_view::npos : !readable_beyond_ascii(key, i))
      return false;
  }
  return true;
}

std::string joined(std::string_view before, std::string_view name) {
  return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
}

}  // namespace

std::string normalized(std::string_view path) {
  if (path.empty()) return ".";
  // POSIX gives two leading slashes a meaning of their own; Python keeps them.
  const std::size_t slashes = path.find_first_not_of('/') == 2 ? 2 : path.starts_with('/') ? 1 : 0;
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    const bool climbs = part == "..";
    if (!climbs || (slashes == 0 && (parts.empty() || parts.back() == "..")))
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out(slashes, '/');
  for (const std::string_view part : parts) {
    if (out.size() > slashes) out += '/';
    out += part;
  }
  return out.empty() ? "." : out;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

Outcome<void> check_key(std::string_view key, std::string_view path) {
  if (!only_key_characters(key))
    return std::unexpected(
        Fault{Code::invalid_parameter_value,
              invalid_value(path, json_text(key),
                            "Names may only contain alphanumerics, underscores (_), dashes (-), periods (.), "
                            "spaces ( ), colon(:) and slashes (/).")});
  const std::string plain = normalized(key);
  if (plain != key || plain == "." || plain.starts_with("..") || plain.starts_with('/'))
    return std::unexpected(Fault{
        Code::invalid_parameter_value,
        invalid_value(path, json_text(key),
                      fmt::format("Names may be treated as files in certain cases, and must not resolve to "
                                  "other names when treated as such. This name would resolve to '{}'",
                                  plain))});
  return {};
}

Outcome<void> check_length(std::string_view text, std::size_t limit, std::string_view name) {
  if (text.size() > limit && characters(text) > limit)
    return invalid("'{}' exceeds the maximum length of {} characters", name, limit);
  return {};
}

Outcome<void> check_param(std::string_view key, std::string_view value, std::string_view before) {
  PLIMSOLL_TRY(check_key(key, joined(before, "key")));
  PLIMSOLL_TRY(check_length(key, limits::kLongestKey, "Param key"));
  return check_length(value, limits::kLongestParam, "Param value");
}

Outcome<void> check_tag(std::string_view key, std::string_view value, std::string_view before) {
  PLIMSOLL_TRY(check_key(key, joined(before, "key")));
  PLIMSOLL_TRY(check_length(key, limits::kLongestKey, joined(before, "key")));
  return check_length(value, limits::kLongestTag, joined(before, "value"));
}

Outcome<void> check_experiment_tag(std::string_view key, std::string_view value) {
  PLIMSOLL_TRY(check_key(key, "key"));
  PLIMSOLL_TRY(check_length(key, limits::kLongestKey, "key"));
  return check_length(value, limits::kLongestExperimentTag, "value");
}

Outcome<void> check_experiment_name(std::string_view name) {
  if (name.empty()) return invalid("Invalid experiment name: ''");
  return check_length(name, limits::kLongestExperimentName, "name");
}

Outcome<void> check_model_name(std::string_view name) {
  if (name.empty() || name.find_first_of("/:.%\"'") != std::string_view::npos)
    return invalid(
        "Invalid model name ({}) provided. Model name must be a non-empty string and cannot contain the "
        "following "
        "characters: ('/', ':', '.', '%', '\"', \"'\")",
        json_text(name));
  return check_length(name, limits::kLongestExperimentName, "name");
}

Outcome<void> check_run_id(std::string_view id) {
  constexpr std::size_t kLongestId = 256;
  bool good = !id.empty() && id.size() <= kLongestId && is_word(id.front()) && id.front() != '_';
  for (const char c : id) good = good && (is_word(c) || c == '-');
  if (good) return {};
  return std::unexpected(Fault{Code::invalid_parameter_value, invalid_value("run_id", json_text(id))});
}

Outcome<void> check_batch(std::string_view name, std::size_t limit, std::size_t size) {
  if (size <= limit) return {};
  return invalid(
      "A batch logging request can contain at most {} {}. Got {} {}. Please split up {} across multiple "
      "requests and "
      "try again.",
      limit, name, size, name, name);
}

}  // namespace plimsoll::serve::mlflow
