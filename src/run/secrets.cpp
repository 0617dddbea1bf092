#include "run/secrets.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

namespace plimsoll::running {
namespace {

// Parts of a name that say so anywhere; with these any literal is a secret.
#define PLIMSOLL_STRONG_NAME                                                                                \
  "secret|passw|passphrase|credential|api[_-]?key|auth[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?" \
  "key"

// Words of a name that say so as a whole: --token, not --tokenizer; hfToken as well.
constexpr const char* kSecretName =
    "(?i:" PLIMSOLL_STRONG_NAME
    "|(?:^|[^a-z])(?:key|token|jwt|jwts|auth|authorization|bearer|cookie|private|pwd|pat|sas)(?:$|[^a-z]))"
    "|[a-z0-9](?:Key|Token|Jwt|Auth|Cookie|Pwd|Pat)(?:$|[^a-z])";
constexpr const char* kStrongName =
    "(?i:" PLIMSOLL_STRONG_NAME "|(?:^|[^a-z])(?:pwd|jwt|authorization|bearer)(?:$|[^a-z]))";
#undef PLIMSOLL_STRONG_NAME

struct Shape {
  const char* pattern;
  const char* instead;
};
// Values that are secrets whatever their name.
constexpr Shape kShapes[] = {
    // A private key, in lines, in lines of a diff, or in a string with \n; to its end, or as far as it looks
    // like one.
    {R"((-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)(?:[-+ \t\r\n\\A-Za-z0-9/=:,]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[-+ \t\r\n\\A-Za-z0-9/=:,]*))",
     "\\1 ***"},
    {R"(([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/:@\s"'<>]*:[^\s"'<>]*|[^/@\s"'<>]+)@)", "\\1***@"},
    {R"(\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*)", "***"},  // JWT, JWE
    {R"(\b(?:hf|api_org)_[A-Za-z0-9]{16,})", "***"},                               // Hugging Face
    {R"(\bsk-[A-Za-z0-9_-]{16,})", "***"},                                         // OpenAI, Anthropic
    {R"(\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,})", "***"},                          // Stripe
    {R"(\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}))", "***"},
    {R"(\b(?:glpat|glrt|gldt)-[A-Za-z0-9_-]{16,})", "***"},             // GitLab
    {R"(\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b)", "***"},  // Amazon
    {R"(\bAIza[A-Za-z0-9_-]{30,})", "***"},                             // Google
    {R"(\bya29\.[A-Za-z0-9_-]{16,})", "***"},
    {R"(\bxox[abeoprs]-[A-Za-z0-9-]{10,})", "***"},  // Slack
    {R"((hooks\.slack\.com/services/)[A-Za-z0-9/_-]+)", "\\1***"},
    {R"(\b(?:npm_[A-Za-z0-9]{30,}|dop_v1_[a-f0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{40,}))",
     "***"},
    {R"(\b(?:nvapi-[A-Za-z0-9_-]{30,}|tskey-[A-Za-z0-9-]{16,}|dapi[a-f0-9]{32}))", "***"},
    {R"RE((?i)(authorization["']?\s*[:=]\s*f?["']?(?:bearer|basic|token|digest)\s+)[^\s"']+)RE", "\\1***"},
    {R"((?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,})", "\\1***"},
};

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

std::string without_shapes(std::string_view text) {
  struct Compiled {
    RE2 pattern;
    const char* instead;
  };
  static const auto* const shapes = [] {
    auto* made = new std::vector<std::unique_ptr<Compiled>>;  // lives as long as the program
    for (const Shape& shape : kShapes) made->emplace_back(new Compiled{RE2(shape.pattern), shape.instead});
    return made;
  }();
  std::string out(text);
  for (const auto& shape : *shapes) RE2::GlobalReplace(&out, shape->pattern, shape->instead);
  return out;
}

/// Long, with letters and digits: no word of a language.
bool looks_random(std::string_view value) {
  constexpr std::size_t kShortest = 12;
  const auto any = [&](auto&& of) { return std::ranges::any_of(value, of); };
  return value.size() >= kShortest && any([](char c) { return c >= '0' && c <= '9'; }) &&
         any([](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

/// How sure one must be that a literal after a secret name is a secret.
enum class Caution {
  text,     ///< code and prose, which should stay as they are where they can: by the name, or by the look
  command,  ///< what was given to a program: always
};

/// Whether what stands after a secret name is its value, rather than code that gets it.
bool is_secret_value(Caution caution, std::string_view name, std::string_view quote, std::string_view value) {
  static const RE2 strong(kStrongName);
  if (value.empty() || value == "***" || value.starts_with('$') || value.starts_with('<')) return false;
  if (quote.empty() && value.find_first_of("([{") != std::string_view::npos) return false;
  if (quote.empty())
    for (const std::string_view word : {"None", "null", "True", "False", "true", "false", "str", "string",
                                        "Bearer", "Basic", "Token", "Digest", "bearer", "basic"})
      if (value == word) return false;
  return caution == Caution::command || RE2::PartialMatch(piece(name), strong) || looks_random(value);
}

/// Literals that are given to secret names, in one line.
std::string without_assignments(std::string_view line, Caution caution) {
  // Name, what stands between (an annotation, an equals sign or a colon), a quote, the value up to its end.
  static const RE2 assignment(
      R"RE(([A-Za-z][A-Za-z0-9_.-]*)(["']?(?:\s*:\s*(?:Optional\[str\]|Final|str|bytes|string|String|SecretStr)(?:\s*\|\s*None)?)?\s*(?::=|=>|==|=|:)\s*)(?:([rbufRBUF]{0,2}")([^"]*)"|([rbufRBUF]{0,2}')([^']*)'|([^\s"'&;,)]+)))RE");
  std::string out;
  re2::StringPiece rest(line.data(), line.size());
  re2::StringPiece groups[8];
  const auto view = [](const re2::StringPiece& part) { return std::string_view(part.data(), part.size()); };
  while (assignment.Match(rest, 0, rest.size(), RE2::UNANCHORED, groups, 8)) {
    const int which = groups[4].data() != nullptr ? 4 : groups[6].data() != nullptr ? 6 : 7;
    const std::string_view name = view(groups[1]), value = view(groups[which]);
    const std::string_view quote = which == 4 ? "\"" : which == 6 ? "'" : "";
    const auto to_value = static_cast<std::size_t>(value.data() - rest.data());
    out.append(rest.data(), to_value);
    rest.remove_prefix(to_value);
    // What is no secret may hold one: `sh -c "A=1 TOKEN=x"`, `"url": "…?token=x"`.
    if (!is_secret_name(name) || !is_secret_value(caution, name, quote, value)) continue;
    out += "***";
    rest.remove_prefix(value.size());
  }
  return out.append(rest.data(), rest.size());
}

/// `--password X` within a script.
std::string without_options(std::string_view script) {
  static const RE2 option(R"((--?[A-Za-z][A-Za-z0-9_-]*)(\s+)("[^"]*"|'[^']*'|[^\s"';|&]+))");
  std::string out;
  re2::StringPiece rest(script.data(), script.size());
  re2::StringPiece groups[4];
  while (option.Match(rest, 0, rest.size(), RE2::UNANCHORED, groups, 4)) {
    const std::string_view name(groups[1].data(), groups[1].size());
    const std::size_t to_value = static_cast<std::size_t>(groups[3].data() - rest.data());
    out.append(rest.data(), to_value);
    rest.remove_prefix(to_value);
    if (groups[3].starts_with("-") || name.size() <= 2 || !is_secret_name(name)) continue;
    out += "***";
    rest.remove_prefix(groups[3].size());
  }
  return out.append(rest.data(), rest.size());
}

std::string without_secrets(std::string_view text, Caution caution) {
  static const RE2 scheme(R"((?i)\b((?:bearer|basic)\s+)[^\s"']+)");
  std::string whole = without_shapes(text);
  if (caution == Caution::command) RE2::GlobalReplace(&whole, scheme, "\\1***");
  std::string out;
  out.reserve(whole.size());
  for (std::string_view rest = whole; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    // Few lines name a secret; the others are passed by quickly.
    if (is_secret_name(line))
      out += without_assignments(line, caution);
    else
      out += line;
    rest.remove_prefix(end);
  }
  return out;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  static const RE2 pattern(kSecretName);
  return RE2::PartialMatch(piece(name), pattern);
}

std::string masked(std::string_view name, std::string_view value) {
  return is_secret_name(name) ? "***" : without_secrets(value, Caution::command);
}

std::string masked_text(std::string_view text) {
  return without_secrets(text, Caution::text);
}

std::vector<std::string> masked_command(const std::vector<std::string>& command) {
  std::vector<std::string> out;
  bool hide_next = false;
  for (const std::string& word : command) {
    const bool script = word.find_first_of(" \t\n") != std::string::npos;
    const auto equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, std::min(equals, word.size()));
    const bool one_name = name.find_first_of(" \t\n") == std::string_view::npos;
    if (hide_next)
      out.emplace_back("***");
    else if (equals != std::string::npos && one_name && is_secret_name(name))
      out.push_back(fmt::format("{}=***", name));
    else if (script)
      out.push_back(without_options(masked("", word)));
    else
      out.push_back(masked("", word));
    hide_next = word.starts_with('-') && word.size() > 2 && !script && equals == std::string::npos &&
                is_secret_name(word);
  }
  return out;
}

}  // namespace plimsoll::running
