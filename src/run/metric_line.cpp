#include "run/metric_line.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include <re2/re2.h>

#include "base/printable.hpp"
#include "store/host_series.hpp"

namespace plimsoll::running {
namespace {

constexpr std::size_t kLongestStatement = 16384;
constexpr std::size_t kLongestSaved = 4096;

std::string_view take_word(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  text.remove_prefix(begin);
  const auto end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The whole word as a number; "nan" and "inf" are values that trainings really have. What is too small for
/// any number is nothing but 0; what is too large is not infinity.
template <class Number>
std::optional<Number> number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) {
    if constexpr (std::is_same_v<Number, double>)
      if (end == word.data() + word.size() && std::abs(std::strtod(std::string(word).c_str(), nullptr)) < 1)
        return 0;
    return {};
  }
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return {};
  return value;
}

/// Whether it is written as a number, of whatever size.
bool is_digits(std::string_view word) {
  static const RE2 kNumber(R"([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)");
  return RE2::FullMatch(re2::StringPiece(word.data(), word.size()), kNumber);
}

bool is_metric_name(std::string_view name) {
  // What the sampler writes itself may not be forged by a command.
  return !name.empty() && name.size() <= kLongestMetricName && store::is_own_metric(name) &&
         printable(name) == name;
}

Result<Statement> parse_metric(std::string_view rest) {
  MetricLine line;
  line.name = take_word(rest);
  if (!is_metric_name(line.name))
    return fail("'{}' cannot be a metric's name", printable(line.name.substr(0, 60)));
  const std::string_view value = take_word(rest);
  const auto parsed = number<double>(value);
  if (!parsed && is_digits(value))
    return fail("'{}' is too large for a number that can be kept", printable(value.substr(0, 60)));
  if (!parsed) return fail("'{}' is not a number", printable(value.substr(0, 60)));
  line.value = *parsed;
  for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
    const std::string_view given = take_word(rest);
    const auto count = number<std::int64_t>(given);
    if (!count || (word != "step" && word != "epoch"))
      return fail("after the value only 'step N' and 'epoch N' may follow");
    (word == "step" ? line.step : line.epoch) = count;
  }
  return line;
}

}  // namespace

Result<Statement> parse_statement(std::string_view text) {
  text = trimmed(text);
  const std::string_view verb = take_word(text);
  if (verb == "metric") return parse_metric(text);
  if (verb == "epoch") {
    const auto epoch = number<std::int64_t>(trimmed(text));
    if (!epoch) return fail("'epoch' wants a whole number");
    return EpochLine{*epoch};
  }
  if (verb == "param") {
    const std::string_view name = take_word(text);
    const std::string_view value = trimmed(text);
    if (!is_metric_name(name) || value.size() > 6000) return fail("'param' wants a name and a value");
    return ParamLine{std::string(name), std::string(value)};
  }
  if (verb == "artifact") {
    const std::string_view path = trimmed(text);
    if (path.empty() || path.size() > 4096) return fail("'artifact' wants a path");
    return ArtifactLine{std::string(path)};
  }
  if (verb == "saved") return SavedLine{std::string(trimmed(text).substr(0, kLongestSaved))};
  return fail("'{}' is not metric, epoch, param, artifact or saved", printable(verb.substr(0, 60)));
}

std::optional<Statement> statement_in(std::string_view line) {
  if (!line.starts_with(kStatementPrefix) || line.size() > kLongestStatement) return {};
  if (Result<Statement> statement = parse_statement(line.substr(kStatementPrefix.size())))
    return *std::move(statement);
  return {};
}

std::optional<std::string> unreadable_metric(std::string_view line) {
  if (!line.starts_with(kStatementPrefix)) return {};
  std::string_view rest = line.substr(kStatementPrefix.size());
  if (take_word(rest) != "metric") return {};
  if (line.size() > kLongestStatement) return "the line is too long";
  const Result<Statement> statement = parse_metric(trimmed(rest));
  return statement ? std::nullopt : std::optional(statement.error().message);
}

struct MetricPattern::Compiled {
  std::string name;  // empty: the group `name` gives it
  RE2 expression;
  int value = 1;
  std::optional<int> name_group = {};
  std::optional<int> step = {};
  std::optional<int> epoch = {};

  Compiled(std::string metric, std::string_view text, const RE2::Options& options)
      : name(std::move(metric)), expression(re2::StringPiece(text.data(), text.size()), options) {}
};

MetricPattern::MetricPattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
MetricPattern::MetricPattern(MetricPattern&&) noexcept = default;
MetricPattern& MetricPattern::operator=(MetricPattern&&) noexcept = default;
MetricPattern::~MetricPattern() = default;

Result<MetricPattern> MetricPattern::make(std::string_view text) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 20);
  std::string name;
  std::string_view expression = text;
  const auto equals = text.find('=');
  if (equals != std::string_view::npos && !text.starts_with('(') && is_metric_name(text.substr(0, equals))) {
    name = text.substr(0, equals);
    expression = text.substr(equals + 1);
  }
  auto compiled = std::make_unique<Compiled>(std::move(name), expression, options);
  if (!compiled->expression.ok())
    return fail("'{}' is not a regular expression: {}", printable(expression), compiled->expression.error());
  const std::map<std::string, int>& groups = compiled->expression.NamedCapturingGroups();
  const auto group = [&](const char* which) -> std::optional<int> {
    const auto found = groups.find(which);
    return found == groups.end() ? std::nullopt : std::optional(found->second);
  };
  compiled->name_group = group("name");
  compiled->step = group("step");
  compiled->epoch = group("epoch");
  const auto& names = compiled->expression.CapturingGroupNames();
  int first_unnamed = 1;
  while (names.contains(first_unnamed)) ++first_unnamed;
  compiled->value = group("value").value_or(first_unnamed);
  if (compiled->value > compiled->expression.NumberOfCapturingGroups() ||
      (compiled->name.empty() && !compiled->name_group)) {
    Error error{fmt::format("'{}' does not say which metric and which part is its value", printable(text))};
    error.hint =
        R"(Write NAME=EXPRESSION with a group: loss=Loss: ([0-9.]+), or groups (?P<name>…) (?P<value>…).)";
    return std::unexpected(std::move(error));
  }
  return MetricPattern(std::move(compiled));
}

std::optional<MetricLine> MetricPattern::match(std::string_view line) const {
  const int groups = compiled_->expression.NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups));
  const re2::StringPiece piece(line.data(), line.size());
  if (!compiled_->expression.Match(piece, 0, line.size(), RE2::UNANCHORED, found.data(), groups)) return {};
  const auto text = [&](int group) {
    const re2::StringPiece& part = found[static_cast<std::size_t>(group)];
    return std::string_view(part.data(), part.size());
  };
  MetricLine out;
  out.name = compiled_->name_group ? std::string(text(*compiled_->name_group)) : compiled_->name;
  const auto value = number<double>(text(compiled_->value));
  if (!value || !is_metric_name(out.name)) return {};
  out.value = *value;
  if (compiled_->step) out.step = number<std::int64_t>(text(*compiled_->step));
  if (compiled_->epoch) out.epoch = number<std::int64_t>(text(*compiled_->epoch));
  return out;
}

}  // namespace plimsoll::running
