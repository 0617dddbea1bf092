#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::serve::mlflow {

/// Writes JSON as MLflow's server does: names in snake_case, 64-bit integers as numbers, and the doubles that
/// JSON lacks as "NaN", "Infinity" and "-Infinity". Text that is not UTF-8 comes out with U+FFFD in its
/// place.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  /// A name of the protocol, which needs no escapes.
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  /// A value that was written before.
  JsonWriter& written(std::string_view json);

  // Members of an object.
  JsonWriter& member(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& integer_member(std::string_view name, std::int64_t value) { return key(name).integer(value); }
  JsonWriter& number_member(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& boolean_member(std::string_view name, bool value) { return key(name).boolean(value); }

  /// The finished document; the writer is empty afterwards.
  [[nodiscard]] std::string take();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool first_ = true;  // of the array or object at hand, or just after a key: no comma before what comes next
};

}  // namespace plimsoll::serve::mlflow
