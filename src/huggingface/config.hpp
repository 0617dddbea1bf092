#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/fields.hpp"

namespace plimsoll::huggingface {

/// A config.json, or a section of it, asked key by key. An absent key has the default that transformers gives
/// it. The first error is kept and all later answers are defaults, so that a family is a list of keys. JSON
/// and error must outlive it.
class Config {
 public:
  Config(const job::Json& object, std::string path, std::optional<Error>& error)
      : object_(object), fields_(object, path, error), path_(std::move(path)), error_(error) {}

  [[nodiscard]] bool has(std::string_view key) const { return fields_.has(key); }  ///< there, and not null
  [[nodiscard]] bool is_null(std::string_view key) const;                          ///< there, and null
  [[nodiscard]] bool is_list(std::string_view key) const;
  /// Of a key and another name that transformers has for it (its attribute_map) the one to ask. Where both
  /// are there transformers sets the other one last.
  [[nodiscard]] std::string_view named(std::string_view key, std::string_view other) const {
    return has(other) ? other : key;
  }
  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t otherwise,
                                   std::int64_t least = 1) const;
  [[nodiscard]] double real(std::string_view key, double otherwise) const;
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;    ///< empty where absent
  [[nodiscard]] std::vector<std::int64_t> wholes(std::string_view key) const;  ///< empty where absent
  [[nodiscard]] std::int64_t entries(std::string_view key) const;  ///< of an object or a list; 0 where absent
  /// An object inside; an empty one where it is absent.
  [[nodiscard]] Config section(std::string_view key) const;
  void complain(std::string_view key, std::string message) const {
    fields_.complain(key, std::move(message));
  }
  [[nodiscard]] bool good() const { return fields_.good(); }

 private:
  const job::Json& object_;
  job::Fields fields_;
  std::string path_;
  std::optional<Error>& error_;
};

}  // namespace plimsoll::huggingface
