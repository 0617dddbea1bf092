#include "store/filter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "store/filter_tokens.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kMostComparisons = 100;
constexpr std::size_t kMostValues = 1000;

/// MLflow's own names and the other spellings that it takes, in lower case.
constexpr std::pair<std::string_view, Field::Kind> kPrefixes[] = {
    {"metric", Field::Kind::metric},
    {"metrics", Field::Kind::metric},
    {"param", Field::Kind::param},
    {"params", Field::Kind::param},
    {"parameter", Field::Kind::param},
    {"parameters", Field::Kind::param},
    {"dataset", Field::Kind::dataset},
    {"datasets", Field::Kind::dataset},
    {"tag", Field::Kind::tag},
    {"tags", Field::Kind::tag},
    {"attribute", Field::Kind::attribute},
    {"attributes", Field::Kind::attribute},
    {"attr", Field::Kind::attribute},
    {"run", Field::Kind::attribute},
};
using AttributeName = std::pair<std::string_view, Field::Attribute>;
constexpr AttributeName kRunAttributes[] = {
    {"run_id", Field::Attribute::run_id},
    {"run id", Field::Attribute::run_id},
    {"run_name", Field::Attribute::run_name},
    {"run name", Field::Attribute::run_name},
    {"status", Field::Attribute::status},
    {"start_time", Field::Attribute::start_time},
    {"start time", Field::Attribute::start_time},
    {"created", Field::Attribute::start_time},
    {"end_time", Field::Attribute::end_time},
    {"end time", Field::Attribute::end_time},
    {"duration", Field::Attribute::duration},
    {"experiment_name", Field::Attribute::experiment_name},
    {"user_id", Field::Attribute::user_id},
    {"user", Field::Attribute::user_id},
    {"artifact_uri", Field::Attribute::artifact_uri},
};
constexpr AttributeName kExperimentAttributes[] = {
    {"name", Field::Attribute::name},
    {"experiment_id", Field::Attribute::experiment_id},
    {"creation_time", Field::Attribute::creation_time},
    {"last_update_time", Field::Attribute::last_update_time},
};
constexpr AttributeName kModelAttributes[] = {
    {"name", Field::Attribute::name},
    {"model_id", Field::Attribute::model_id},
    {"model_type", Field::Attribute::model_type},
    {"status", Field::Attribute::status},
    {"source_run_id", Field::Attribute::source_run_id},
    {"creation_timestamp", Field::Attribute::creation_time},
    {"creation_time", Field::Attribute::creation_time},
    {"last_updated_timestamp", Field::Attribute::last_update_time},
    {"last_updated_time", Field::Attribute::last_update_time},
};
constexpr AttributeName kRegisteredAttributes[] = {
    {"name", Field::Attribute::name},
    {"creation_timestamp", Field::Attribute::creation_time},
    {"last_updated_timestamp", Field::Attribute::last_update_time},
    {"timestamp", Field::Attribute::last_update_time},
};
constexpr AttributeName kVersionAttributes[] = {
    {"name", Field::Attribute::name},
    {"version_number", Field::Attribute::version_number},
    {"run_id", Field::Attribute::run_id},
    {"source_path", Field::Attribute::source_path},
    {"creation_timestamp", Field::Attribute::creation_time},
    {"last_updated_timestamp", Field::Attribute::last_update_time},
};
constexpr std::string_view kDatasetKeys[] = {"name", "digest", "context"};

std::span<const AttributeName> attributes_of(Subject subject) {
  switch (subject) {
    case Subject::runs: return kRunAttributes;
    case Subject::experiments: return kExperimentAttributes;
    case Subject::models: return kModelAttributes;
    case Subject::registered_models: return kRegisteredAttributes;
    case Subject::model_versions: return kVersionAttributes;
  }
  return kRunAttributes;
}

/// Whether its things have tags alone.
bool has_only_tags(Subject subject) {
  return subject != Subject::runs && subject != Subject::models;
}

/// Only runs have inputs.
bool has(Subject subject, Field::Kind kind) {
  if (kind == Field::Kind::attribute || kind == Field::Kind::tag) return true;
  return subject == Subject::runs || (subject == Subject::models && kind != Field::Kind::dataset);
}

constexpr std::pair<std::string_view, Comparator> kSigns[] = {
    {"=", Comparator::equal},       {"!=", Comparator::not_equal}, {"<", Comparator::less},
    {"<=", Comparator::less_equal}, {">", Comparator::greater},    {">=", Comparator::greater_equal},
};

template <class Value>
const Value* entry(std::span<const std::pair<std::string_view, Value>> table, std::string_view name) {
  for (const auto& [known, value] : table)
    if (known == name) return &value;
  return nullptr;
}

bool is_time(Field::Attribute attribute) {
  return attribute == Field::Attribute::start_time || attribute == Field::Attribute::end_time ||
         attribute == Field::Attribute::creation_time || attribute == Field::Attribute::last_update_time;
}

/// Whether the whole of `text` is one; a floating-point number would not hold all of its digits.
bool is_id_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, Subject subject)
      : text_(text), tokens_(std::move(tokens)), subject_(subject) {}

  Result<Filter> filter() {
    Filter out;
    if (now().kind == Token::Kind::end) return out;
    for (;;) {
      Result<Comparison> comparison = this->comparison();
      if (!comparison) return std::unexpected(std::move(comparison).error());
      out.push_back(std::move(*comparison));
      if (out.size() > kMostComparisons)
        return problem(fmt::format("more than {} comparisons", kMostComparisons));
      if (now().kind == Token::Kind::end) return out;
      if (is_word("or")) return problem("comparisons can only be joined by AND, not by OR");
      if (!is_word("and")) return expected("AND, or the end");
      ++at_;
    }
  }

  Result<Order> order() {
    Order out;
    Result<Field> field = this->field();
    if (!field) return std::unexpected(std::move(field).error());
    out.field = std::move(*field);
    out.descending = is_word("desc");
    if (out.descending || is_word("asc")) ++at_;
    if (now().kind != Token::Kind::end) return expected("ASC, DESC or the end");
    return out;
  }

 private:
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return now().kind == Token::Kind::word && lower_case(now().text) == word;
  }
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return now().kind == Token::Kind::sign && now().text == sign;
  }
  [[nodiscard]] std::unexpected<Error> problem(std::string message) const {
    return std::unexpected(filter_error(text_, now().at, std::move(message)));
  }
  [[nodiscard]] std::unexpected<Error> expected(std::string_view what) const {
    return problem(now().kind == Token::Kind::end
                       ? fmt::format("expected {}, but the text ends", what)
                       : fmt::format("expected {}, but found {}", what, quote(now().text)));
  }

  Result<Field> field() {
    if (now().kind == Token::Kind::key) return attribute(now().text);  // `Start Time`
    if (now().kind != Token::Kind::word)
      return expected("metrics.NAME, params.NAME, tags.NAME or an attribute such as status");
    const Token& first = now();
    const Field::Kind* const kind = entry<Field::Kind>(kPrefixes, lower_case(first.text));
    ++at_;
    if (!is_sign(".")) {
      // MLflow takes an attribute without its prefix.
      --at_;
      return attribute(first.text);
    }
    if (kind == nullptr || !has(subject_, *kind)) {
      --at_;
      return problem(fmt::format("{} is none of {}", quote(first.text),
                                 has_only_tags(subject_) ? "tags, attributes"
                                 : subject_ == Subject::models
                                     ? "metrics, params, tags, attributes"
                                     : "metrics, params, tags, datasets, attributes"));
    }
    ++at_;
    const bool quoted =
        now().kind == Token::Kind::key || (now().kind == Token::Kind::string && now().quote == '"');
    if (!quoted && now().kind != Token::Kind::word) return expected("a name after the dot");
    if (*kind == Field::Kind::attribute) return attribute(now().text);
    if (*kind == Field::Kind::dataset &&
        std::ranges::find(kDatasetKeys, lower_case(now().text)) == std::end(kDatasetKeys))
      return problem("of datasets there are name, digest and context");
    if (!is_name(now().text, kLongestName))
      return problem(fmt::format("a name has 1 to {} characters", kLongestName));
    const std::string& key = tokens_[at_++].text;
    return Field{.kind = *kind, .key = *kind == Field::Kind::dataset ? lower_case(key) : key};
  }

  Result<Field> attribute(std::string_view name) {
    const Field::Attribute* const known = entry(attributes_of(subject_), lower_case(name));
    if (known == nullptr) {
      std::vector<std::string_view> names;
      for (const auto& [attribute, value] : attributes_of(subject_)) names.push_back(attribute);
      auto failure = problem(fmt::format("there is no attribute {}", quote(name)));
      failure.error().hint = did_you_mean(name, names);
      if (failure.error().hint.empty())
        failure.error().hint = fmt::format("Attributes: {}; others are tags.NAME{}.", fmt::join(names, ", "),
                                           has_only_tags(subject_) ? "" : ", metrics.NAME, params.NAME");
      return failure;
    }
    ++at_;
    return Field{Field::Kind::attribute, {}, *known};
  }

  Result<Comparison> comparison() {
    Comparison out;
    Result<Field> field = this->field();
    if (!field) return std::unexpected(std::move(field).error());
    out.field = std::move(*field);
    const Result<Comparator> comparator = this->comparator(out.field);
    if (!comparator) return std::unexpected(comparator.error());
    out.comparator = *comparator;
    PLIMSOLL_TRY(values(out));
    return out;
  }

  Result<Comparator> comparator(const Field& field) {
    if (now().kind == Token::Kind::sign)
      if (const Comparator* const known = entry<Comparator>(kSigns, now().text); known != nullptr) {
        const bool ordering = *known != Comparator::equal && *known != Comparator::not_equal;
        if (ordering && !is_number(field)) return problem("texts are compared by =, !=, LIKE and ILIKE only");
        ++at_;
        return *known;
      }
    const bool text = !is_number(field), in_list = text || is_id(field);
    if (is_word("is") && has_only_tags(subject_) && field.kind == Field::Kind::attribute)
      return problem("IS NULL / IS NOT NULL is only supported for tags: attributes are always there");
    if (is_word("is")) return null_test();
    if (text && is_word("like")) return ++at_, Comparator::like;
    if (text && is_word("ilike")) return ++at_, Comparator::ilike;
    if (in_list && is_word("in")) return ++at_, Comparator::in;
    if (in_list && is_word("not")) {
      ++at_;
      if (!is_word("in")) return expected("IN after NOT");
      return ++at_, Comparator::not_in;
    }
    return expected(text      ? "=, !=, LIKE, ILIKE, IN, NOT IN or IS NULL"
                    : in_list ? "=, !=, <, <=, >, >=, IN, NOT IN or IS NULL"
                              : "=, !=, <, <=, >, >= or IS NULL");
  }

  Result<Comparator> null_test() {
    ++at_;
    const bool negated = is_word("not");
    if (negated) ++at_;
    if (!is_word("null")) return expected("NULL");
    ++at_;
    return negated ? Comparator::is_not_null : Comparator::is_null;
  }

  Status values(Comparison& out) {
    if (out.comparator == Comparator::is_null || out.comparator == Comparator::is_not_null) return {};
    if (out.comparator != Comparator::in && out.comparator != Comparator::not_in) return value(out);
    if (!is_sign("(")) return expected("( after IN");
    do {
      ++at_;
      PLIMSOLL_TRY(value(out));
      if (out.values.size() > kMostValues) return problem(fmt::format("more than {} values", kMostValues));
    } while (is_sign(","));
    if (!is_sign(")")) return expected(", or )");
    ++at_;
    return {};
  }

  Status value(Comparison& out) {
    if (!is_number(out.field)) {
      if (now().kind != Token::Kind::string) return expected("a text in quotes");
      const bool status =
          out.field.kind == Field::Kind::attribute && out.field.attribute == Field::Attribute::status;
      std::string text = tokens_[at_].text;
      // Statuses are in capitals; who writes 'failed' means FAILED.
      if (status)
        for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      out.values.emplace_back(std::move(text));
      ++at_;
      return {};
    }
    if (is_id(out.field) && (now().kind == Token::Kind::string || now().kind == Token::Kind::number)) {
      if (!is_id_number(now().text))
        return problem(fmt::format("{} is not the number of {}", quote(now().text),
                                   subject_ == Subject::experiments ? "an experiment" : "a version"));
      out.values.emplace_back(tokens_[at_++].text);
      return {};
    }
    if (now().kind == Token::Kind::number) {
      out.values.emplace_back(tokens_[at_++].number);
      return {};
    }
    const bool time = out.field.kind == Field::Kind::attribute && is_time(out.field.attribute);
    if (!time || now().kind != Token::Kind::string)
      return expected(time ? "milliseconds since 1970, or a date in quotes" : "a number");
    const std::optional<Time> moment = parse_time(now().text);
    if (!moment)
      return problem(
          fmt::format("{} is not a date: write '2026-11-15' or '2026-11-15T10:30:00Z'", quote(now().text)));
    const Time milliseconds = *moment / 1000;
    out.values.emplace_back(static_cast<double>(milliseconds));
    ++at_;
    return {};
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  Subject subject_;
  std::size_t at_ = 0;
};

/// Bytes of the character at the front, 1 where it is no UTF-8.
std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && length < 4 && (static_cast<unsigned char>(text[length]) >> 6U) == 2)
    ++length;
  return length;
}

char folded(char c, bool ignore_case) {
  return static_cast<char>(ignore_case && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

}  // namespace

bool is_number(const Field& field) {
  if (field.kind == Field::Kind::metric) return true;
  return field.kind == Field::Kind::attribute &&
         (is_time(field.attribute) || field.attribute == Field::Attribute::duration || is_id(field));
}

bool is_id(const Field& field) {
  return field.kind == Field::Kind::attribute && (field.attribute == Field::Attribute::experiment_id ||
                                                  field.attribute == Field::Attribute::version_number);
}

Result<Filter> parse_filter(std::string_view text, Subject subject) {
  Result<std::vector<Token>> tokens = tokenize_filter(text);
  if (!tokens) return std::unexpected(std::move(tokens).error());
  return Parser(text, std::move(*tokens), subject).filter();
}

Result<Order> parse_order(std::string_view text, Subject subject) {
  Result<std::vector<Token>> tokens = tokenize_filter(text);
  Result<Order> order =
      tokens ? Parser(text, std::move(*tokens), subject).order() : std::unexpected(std::move(tokens).error());
  if (!order) {
    order.error().where.replace(0, std::string_view("filter").size(), "order");
    order.error().hint = "Examples: metrics.loss ASC, attributes.start_time DESC, params.lr";
  }
  return order;
}

bool like(std::string_view text, std::string_view pattern, bool ignore_case) {
  // Only the last % is ever returned to: what an earlier one could match, the later one can too.
  std::size_t t = 0, p = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == '_') {
      ++p;
      t += character_length(text.substr(t));
    } else if (p < pattern.size() && folded(pattern[p], ignore_case) == folded(text[t], ignore_case)) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

}  // namespace plimsoll::store
