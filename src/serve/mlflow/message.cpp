#include "serve/mlflow/message.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace plimsoll::serve::mlflow {
namespace {

using nlohmann::json;

/// Deeper than any message of MLflow's; the parser and the destructor of a deep document cost stack or time.
constexpr std::size_t kDeepest = 32;

/// A value takes some hundred bytes in memory, however short its text is.
constexpr std::size_t kMostValues = 500'000;

/// Looks at the text before it is parsed: objects and lists in one another, and how many values there are.
Outcome<void> check_extent(std::string_view text) {
  std::size_t depth = 0, values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest)
        return invalid("The request's JSON is nested more than {} levels deep.", kDeepest);
      ++values;
    } else if (c == ',') {
      ++values;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
    if (values > kMostValues) return invalid("The request's JSON has more than {} values.", kMostValues);
  }
  return {};
}

std::string camel_case(std::string_view name) {
  std::string out;
  bool upper = false;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return out;
}

template <class Number>
std::optional<Number> from_text(std::string_view text) {
  Number value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_of(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_string()) return from_text<std::int64_t>(value.get_ref<const std::string&>());
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::trunc(number) != number || std::abs(number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  return from_text<double>(text);
}

bool all_texts(const json& value) {
  if (!value.is_array()) return false;
  for (const json& entry : value)
    if (!entry.is_string()) return false;
  return true;
}

bool fits(const json& value, Type type) {
  switch (type) {
    case Type::text: return value.is_string();
    case Type::integer: return integer_of(value).has_value();
    case Type::number: return number_of(value).has_value();
    case Type::boolean: return value.is_boolean();
    case Type::choice: return value.is_string() || integer_of(value).has_value();
    case Type::list: return value.is_array();
    case Type::texts: return all_texts(value);
    case Type::object: return value.is_object();
  }
  return false;
}

/// As Python calls them, for the hint that MLflow gives.
std::string_view type_name(const json& value) {
  if (value.is_string()) return "str";
  if (value.is_boolean()) return "bool";
  if (value.is_number_float()) return "float";
  if (value.is_number()) return "int";
  return value.is_array() ? "list" : "dict";
}

const json* find_field(const json& object, std::string_view name) {
  auto found = object.find(name);
  if (found == object.end() && name.find('_') != std::string_view::npos)
    found = object.find(camel_case(name));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

constexpr std::string_view kSeeDocs = " See the API docs for more information about request parameters.";

std::string dumped(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

Fault wrong_type(const json& value, std::string_view path) {
  return {
      Code::invalid_parameter_value,
      invalid_value(path, dumped(value), fmt::format(" Hint: Value was of type '{}'.", type_name(value))) +
          std::string(kSeeDocs)};
}

std::string path_of(std::string_view before, std::string_view name) {
  return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
}

/// MLflow's older name of run_id serves in its place.
const json* find_or_alias(const json& object, std::string_view name) {
  const json* value = find_field(object, name);
  return value == nullptr && name == "run_id" ? find_field(object, "run_uuid") : value;
}

std::optional<Fault> check(const json& object, std::span<const Field> fields, std::string_view before) {
  for (const Field& field : fields) {
    const json* value = find_or_alias(object, field.name);
    if (value != nullptr && !fits(*value, field.type)) return wrong_type(*value, path_of(before, field.name));
    const bool empty =
        value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty());
    if (field.required && empty)
      return Fault{Code::invalid_parameter_value, fmt::format("Missing value for required parameter '{}'.{}",
                                                              path_of(before, field.name), kSeeDocs)};
  }
  return std::nullopt;
}

Outcome<json> from_query(const Pairs& query, std::span<const Field> fields) {
  json out = json::object();
  for (const Field& field : fields) {
    const std::vector<std::string> values = query.all(field.name);
    if (values.empty()) continue;
    if (field.type == Type::list || field.type == Type::texts) {
      out[std::string(field.name)] = values;
    } else if (field.type == Type::boolean) {
      const bool yes = values.front() == "true" || values.front() == "True";
      if (!yes && values.front() != "false" && values.front() != "False")
        return invalid("Invalid boolean value: {}, must be 'true' or 'false'.", json_text(values.front()));
      out[std::string(field.name)] = yes;
    } else {
      out[std::string(field.name)] = values.front();
    }
  }
  if (const std::string* older = query.find("run_uuid")) out["run_uuid"] = *older;
  return out;
}

Outcome<json> parsed(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return json::object();
  PLIMSOLL_TRY(check_extent(text));
  json out = json::parse(text, nullptr, false);
  if (out.is_string()) {  // old clients encode their JSON once more, as a text
    PLIMSOLL_TRY(check_extent(out.get_ref<const std::string&>()));
    out = json::parse(out.get<std::string>(), nullptr, false);
  }
  if (out.is_null()) return json::object();
  if (!out.is_object()) return invalid("The request's body is not a JSON object.");
  return out;
}

}  // namespace

Outcome<void> check_content_type(const Request& request) {
  if (request.method != "POST" && request.method != "PUT" && request.method != "PATCH") return {};
  const std::string_view value = request.header("content-type");
  if (value.empty()) return invalid("Bad Request. Content-Type header is missing.");
  if (value.substr(0, value.find_first_of("; ")) != "application/json")
    return invalid("Bad Request. Content-Type must be one of ['application/json'].");
  return {};
}

std::string invalid_value(std::string_view path, std::string_view value_as_json, std::string_view why) {
  constexpr std::size_t kShown = 300;
  std::string shown(value_as_json.substr(0, kShown));
  if (value_as_json.size() > kShown) shown += "...";
  if (why.empty()) return fmt::format("Invalid value {} for parameter '{}' supplied.", shown, path);
  return fmt::format("Invalid value {} for parameter '{}' supplied: {}", shown, path, why);
}

std::string json_text(std::string_view text) {
  return dumped(json(text));
}

const json* Message::find(std::string_view name) const {
  return find_or_alias(*node_, name);
}

std::string Message::text(std::string_view name) const {
  return find_text(name).value_or(std::string());
}

std::optional<std::string> Message::find_text(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<std::int64_t> Message::integer(std::string_view name) const {
  const json* value = find(name);
  return value == nullptr ? std::nullopt : integer_of(*value);
}

std::optional<double> Message::number(std::string_view name) const {
  const json* value = find(name);
  return value == nullptr ? std::nullopt : number_of(*value);
}

std::optional<bool> Message::boolean(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

std::vector<std::string> Message::texts(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr || !all_texts(*value)) return {};
  return value->get<std::vector<std::string>>();
}

Outcome<std::optional<std::int64_t>> Message::choice(
    std::string_view name, std::span<const std::pair<std::string_view, std::int64_t>> choices) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = integer_of(*value);
  for (const auto& [known, code] : choices)
    if (number == code || (value->is_string() && value->get_ref<const std::string&>() == known)) return code;
  return std::unexpected(wrong_type(*value, name));
}

std::size_t Message::size(std::string_view name) const {
  const json* value = find(name);
  return value == nullptr || !value->is_array() ? 0 : value->size();
}

Outcome<std::vector<Message>> Message::list(std::string_view name, std::span<const Field> fields) const {
  std::vector<Message> out;
  const json* value = find(name);
  if (value == nullptr) return out;
  if (!value->is_array()) return std::unexpected(wrong_type(*value, name));
  out.reserve(value->size());
  for (const json& entry : *value) {
    if (!entry.is_object()) return std::unexpected(wrong_type(*value, name));
    if (check(entry, fields, {}))  // the path is made only where it is shown
      return std::unexpected(*check(entry, fields, fmt::format("{}[{}]", name, out.size())));
    out.push_back(Message(&entry));
  }
  return out;
}

Outcome<std::optional<Message>> Message::object(std::string_view name, std::span<const Field> fields) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) return std::unexpected(wrong_type(*value, name));
  if (std::optional<Fault> fault = check(*value, fields, name)) return std::unexpected(std::move(*fault));
  return Message(value);
}

Outcome<std::map<std::string, std::string>> Message::pairs(std::string_view name) const {
  static constexpr Field kPair[] = {{"key", Type::text, true}, {"value"}};
  const Outcome<std::vector<Message>> entries = list(name, kPair);
  if (!entries) return std::unexpected(entries.error());
  std::map<std::string, std::string> out;
  for (const Message& entry : *entries) out.insert_or_assign(entry.text("key"), entry.text("value"));
  return out;
}

Document::Document(std::unique_ptr<json> root) : root_(std::move(root)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Outcome<Document> Document::checked(json root, std::span<const Field> fields) {
  if (std::optional<Fault> fault = check(root, fields, {})) return std::unexpected(std::move(*fault));
  return Document(std::make_unique<json>(std::move(root)));
}

Outcome<Document> Document::parse(std::string_view json_text, std::span<const Field> fields) {
  Outcome<json> root = parsed(json_text);
  if (!root) return std::unexpected(std::move(root).error());
  return checked(std::move(*root), fields);
}

Outcome<Document> Document::read(const Request& request, std::span<const Field> fields) {
  if (request.method == "GET" || request.method == "HEAD") {
    Outcome<json> root = from_query(request.query, fields);
    if (!root) return std::unexpected(std::move(root).error());
    return checked(std::move(*root), fields);
  }
  PLIMSOLL_TRY(check_content_type(request));
  return parse(request.body, fields);
}

}  // namespace plimsoll::serve::mlflow
