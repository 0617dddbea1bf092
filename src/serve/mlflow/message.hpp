#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "serve/http/request.hpp"
#include "serve/mlflow/fault.hpp"

namespace plimsoll::serve::mlflow {

/// What a field of a request may hold, by protobuf's rules for JSON: an integer may come as a number or as
/// text, a number also as "NaN", "Infinity" or "-Infinity", a choice by its name or its number.
enum class Type { text, integer, number, boolean, choice, list, texts, object };

struct Field {
  std::string_view name;
  Type type = Type::text;
  bool required = false;  ///< neither absent, null nor empty text
};

/// An object of a request that has been held against its fields: what it has of them is of their types. What
/// it has beside them is ignored, as MLflow does. Names may come in snake_case or in camelCase.
class Message {
 public:
  /// Empty where it is absent.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// One of the names of an enumeration, given by its name or by its number; nothing where it is absent.
  [[nodiscard]] Outcome<std::optional<std::int64_t>> choice(
      std::string_view name, std::span<const std::pair<std::string_view, std::int64_t>> choices) const;
  /// The objects of a list, each held against `fields`; none where it is absent. Live as long as the
  /// Document.
  [[nodiscard]] Outcome<std::vector<Message>> list(std::string_view name,
                                                   std::span<const Field> fields) const;
  [[nodiscard]] Outcome<std::optional<Message>> object(std::string_view name,
                                                       std::span<const Field> fields) const;
  /// A list of {"key", "value"}; of a key that comes twice the last value holds.
  [[nodiscard]] Outcome<std::map<std::string, std::string>> pairs(std::string_view name) const;
  /// How many entries a list has; 0 where it is absent.
  [[nodiscard]] std::size_t size(std::string_view name) const;

 private:
  friend class Document;
  explicit Message(const nlohmann::json* node) : node_(node) {}
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;

  const nlohmann::json* node_;
};

/// A request's JSON, or the query of a GET in its place, with bounded depth.
class Document {
 public:
  [[nodiscard]] static Outcome<Document> read(const Request& request, std::span<const Field> fields);
  [[nodiscard]] static Outcome<Document> parse(std::string_view json_text, std::span<const Field> fields);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document();

  [[nodiscard]] Message message() const { return Message(root_.get()); }

 private:
  explicit Document(std::unique_ptr<nlohmann::json> root);
  [[nodiscard]] static Outcome<Document> checked(nlohmann::json root, std::span<const Field> fields);
  std::unique_ptr<nlohmann::json> root_;
};

/// A body that is sent must say that it is JSON: a page of another site can send other kinds without being
/// asked.
[[nodiscard]] Outcome<void> check_content_type(const Request& request);

/// "Invalid value 31 for parameter 'key' supplied: WHY", in MLflow's words; a long value is cut.
[[nodiscard]] std::string invalid_value(std::string_view path, std::string_view value_as_json,
                                        std::string_view why = {});
/// `text` as Python writes it in JSON: ASCII only, in quotes.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace plimsoll::serve::mlflow
