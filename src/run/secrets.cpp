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

// The short form of a password: DB_PASS, dbpass.
#define PLIMSOLL_PASS "(?:^|[^a-z])(?:admin|db|login|mail|root|smtp|sql|user)?pass(?:$|[^a-z])"

// Words of a name that say so as a whole: --token, not --tokenizer; hfToken and hftoken as well.
constexpr const char* kSecretName =
    "(?i:" PLIMSOLL_STRONG_NAME "|" PLIMSOLL_PASS
    "|(?:^|[^a-z])(?:key|jwt|jwts|auth|authorization|bearer|cookie|private|pwd|pat|sas)(?:$|[^a-z])"
    "|token(?:$|[^a-z]))"
    "|[a-z0-9](?:Key|Token|Jwt|Auth|Cookie|Pwd|Pat)(?:$|[^a-z])|[a-z0-9]Pass(?:$|[^A-Za-z])";
constexpr const char* kStrongName =
    "(?i:" PLIMSOLL_STRONG_NAME "|" PLIMSOLL_PASS
    "|(?:^|[^a-z])(?:pwd|jwt|authorization|bearer)(?:$|[^a-z]))|[a-z0-9]Pass(?:$|[^A-Za-z])";
#undef PLIMSOLL_PASS
// Tokens of a language and passes over data, which are no secrets: pad_token, eos_token_id, token_budget,
// forward_pass, pass_rate.
constexpr const char* kOpenWords =
    "(?i)(?:^|[^a-z])(?:bos|cls|eos|mask|max|min|multi|num|pad|per|sep|special|sub|unk)"
    "[_-]?token(?:[_-]?ids?)?\\b"
    "|token[_-](?:budget|count|dim|dropout|embeddings?|ids|index|len|length|level|limit|loss|ratio|size|type)"
    "(?:$|[^a-z])"
    "|(?:^|[^a-z])(?:all|backward|band|compiler|compute|final|first|forward|function|fusion|grad|graph|high|"
    "last|low|module|multi|next|num|one|optimi[sz]ation|per|render|second|single|third|three|two)"
    "[_.-]?pass(?:$|[^a-z])"
    "|(?:^|[^a-z])pass[@_.-]+([a-z0-9])";
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

/// What stands where a value is expected, as lengths from there.
struct Literal {
  std::size_t opening = 0;  ///< a prefix and quotes, as in rb"; none: a bare word
  std::size_t value = 0;
  std::size_t closing = 0;  ///< none of a quoted value: the line ends before it does
};

/// The literal at the start of a text. Its quotes may be escaped themselves, within another string; they may
/// stand three times. One that does not end goes on to the end of its line.
Literal literal_at(std::string_view text) {
  constexpr std::size_t kDeepest = 7, kLongestPrefix = 2;
  const auto slashes_at = [&](std::size_t at) {
    return std::min(text.find_first_not_of('\\', at), text.size()) - at;
  };
  const std::size_t prefix = std::min(text.find_first_not_of("rbufRBUF"), text.size());
  const std::size_t start = prefix <= kLongestPrefix ? prefix : 0;
  const std::size_t depth = slashes_at(start), quote_at = start + depth;
  if (depth > kDeepest || quote_at >= text.size() || (text[quote_at] != '"' && text[quote_at] != '\'')) {
    std::size_t end = std::min(text.find_first_of(" \t\r\n\v\f\"'&;,)"), text.size());
    // Before a quote they are a part of it.
    if (end < text.size() && (text[end] == '"' || text[end] == '\''))
      while (end > 0 && text[end - 1] == '\\') --end;
    return {0, end, 0};
  }
  const char quote = text[quote_at];
  const std::string_view mark = text.substr(start, depth + 1);
  const auto twice_more = [&](std::size_t at) {
    return text.substr(at).starts_with(mark) && text.substr(at + mark.size()).starts_with(mark);
  };
  const bool triple = twice_more(quote_at + 1);
  const std::size_t marks = (triple ? 3 : 1) * mark.size(), begin = start + marks;
  std::size_t at = begin;
  while (at < text.size() && text[at] != '\n' && text[at] != '\r') {
    const std::size_t slashes = slashes_at(at), end = at + slashes;
    if (end >= text.size() || text[end] == '\n' || text[end] == '\r') {
      at = end;
      break;
    }
    // Each level of escaping doubles what stands before a quote that belongs to the value.
    const bool closes = text[end] == quote && (slashes <= depth || slashes % (2 * (depth + 1)) == depth);
    if (closes && (!triple || twice_more(end + 1))) {
      const std::size_t own = std::min(slashes, depth);
      return {begin, end - own - begin, triple ? marks : own + 1};
    }
    at = end + 1;
  }
  return {begin, at - begin, 0};
}

/// `$NAME`, `${NAME}`, `<your key>`: where the value is to be got from, not the value.
bool is_reference(std::string_view value) {
  static const RE2 reference(
      R"(\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*]|\{[A-Za-z0-9_]+\}|\{\{[^{}]*\}\}|\([^()]*\))|<[|/]?[A-Za-z][A-Za-z0-9 _.-]*\|?>)");
  return RE2::FullMatch(piece(value), reference);
}

/// Whether what stands after a secret name is its value, rather than code that gets it.
bool is_secret_value(Caution caution, std::string_view name, const Literal& literal, std::string_view value) {
  static const RE2 strong(kStrongName);
  const bool quoted = literal.opening > 0;
  // So long a value is not looked into again and again.
  constexpr std::size_t kLongest = 4096;
  if (value.size() > kLongest) return true;
  if (value.empty() || value == "***" || is_reference(value)) return false;
  if (!quoted && (value.starts_with('$') || value.starts_with('<'))) return false;
  if (!quoted && value.find_first_of("([{") != std::string_view::npos) return false;
  // A quote that ends a string, as in `"password=" + x`.
  if (quoted && literal.closing == 0 && std::string_view(" \t)]}+,;.%").contains(value.front())) return false;
  if (!quoted)
    for (const std::string_view word : {"None", "null", "True", "False", "true", "false", "str", "string",
                                        "bool", "Bearer", "Basic", "Token", "Digest", "bearer", "basic"})
      if (value == word) return false;
  if (caution == Caution::command || looks_random(value)) return true;
  const bool verdict = !quoted && name == "PASS";  // of a test
  return !verdict && RE2::PartialMatch(piece(name), strong);
}

/// Literals that are given to secret names, in one line.
std::string without_assignments(std::string_view line, Caution caution) {
  // What stands before a value: `f("NAME", `, `"--name", `, or a name and what stands between (the end of a
  // subscript, an annotation, an equals sign or a colon).
  static const RE2 before(
      R"RE((?:([A-Za-z0-9_.]*)\(\s*[rbufRBUF]{0,2}\\{0,7}["'](-{0,2}[A-Za-z][A-Za-z0-9_.-]*)|["'](--?[A-Za-z][A-Za-z0-9_-]*))\\{0,7}["']\s*,\s*|([A-Za-z][A-Za-z0-9_.-]*)(?:\\{0,7}["']\s*(\])|\\{0,7}["'])?(?:\s*:\s*(?:Optional\[str\]|Final|str|bytes|string|String|SecretStr)(?:\s*\|\s*None)?)?\s*(?::=|=>|==|=|:)\s*)RE");
  constexpr int kGroups = 6;
  std::string out;
  std::string_view rest = line;
  re2::StringPiece groups[kGroups];
  const auto view = [](const re2::StringPiece& part) { return std::string_view(part.data(), part.size()); };
  while (before.Match(piece(rest), 0, rest.size(), RE2::UNANCHORED, groups, kGroups)) {
    const bool argument = groups[4].data() == nullptr, subscript = groups[5].data() != nullptr;
    const std::string_view called = view(groups[1]);
    const std::string_view name = view(groups[!argument ? 4 : groups[2].data() != nullptr ? 2 : 3]);
    std::string_view ahead = rest.substr(0, static_cast<std::size_t>(name.data() - rest.data()));
    const auto to_value = static_cast<std::size_t>(groups[0].data() + groups[0].size() - rest.data());
    out += rest.substr(0, to_value);
    rest.remove_prefix(to_value);
    // What is no secret may hold one: `sh -c "A=1 TOKEN=x"`, `"url": "…?token=x"`.
    if (!is_secret_name(name)) continue;
    const Literal literal = literal_at(rest);
    const std::string_view value = rest.substr(literal.opening, literal.value);
    const bool quoted = literal.opening > 0;
    if (argument && (!quoted || literal.closing == 0 || value.starts_with('-'))) continue;
    if (subscript && !quoted && !value.empty() && !(value.front() >= '0' && value.front() <= '9')) continue;
    ahead = ahead.substr(0, ahead.find_last_not_of("\\\"'") + 1);
    const bool environment = called.ends_with("putenv") || called.ends_with("setenv") ||
                             (subscript && ahead.ends_with("environ["));
    if (!is_secret_value(environment ? Caution::command : caution, name, literal, value)) continue;
    out += rest.substr(0, literal.opening);
    out += "***";
    rest.remove_prefix(literal.opening + literal.value);
  }
  return out += rest;
}

/// `--password X` within a script.
std::string without_options(std::string_view script) {
  static const RE2 option(R"((--?[A-Za-z][A-Za-z0-9_-]*)\s+)");
  std::string out;
  std::string_view rest = script;
  re2::StringPiece groups[2];
  while (option.Match(piece(rest), 0, rest.size(), RE2::UNANCHORED, groups, 2)) {
    const std::string_view name(groups[1].data(), groups[1].size());
    const auto to_value = static_cast<std::size_t>(groups[0].data() + groups[0].size() - rest.data());
    out += rest.substr(0, to_value);
    rest.remove_prefix(to_value);
    if (rest.starts_with('-') || name.size() <= 2 || !is_secret_name(name)) continue;
    const Literal literal = literal_at(rest);
    const std::size_t size = literal.opening + literal.value + literal.closing;
    if (size == 0) continue;
    out += "***";
    rest.remove_prefix(size);
  }
  return out += rest;
}

/// Whether a text may hold a secret name.
bool names_secret(std::string_view text) {
  static const RE2 pattern(kSecretName);
  return RE2::PartialMatch(piece(text), pattern);
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
    if (names_secret(line))
      out += without_assignments(line, caution);
    else
      out += line;
    rest.remove_prefix(end);
  }
  return out;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  static const RE2 open(kOpenWords);
  if (!names_secret(name)) return false;
  std::string others(name);
  return RE2::GlobalReplace(&others, open, "_\\1") == 0 || names_secret(others);
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
