#pragma once
#include <map>
#include <string>
#include <string_view>

namespace plimsoll::forward {

/// A name as MLflow's servers take it: letters, digits and "_-./ :" of ASCII stay, other characters become
/// '_', and so does what would be another name if it were a path ("a//b", "../a").
[[nodiscard]] std::string mlflow_key(std::string_view name);

/// A JSON text, in quotes; bytes that are no UTF-8 come as U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

/// A number by protobuf's rules: "NaN", "Infinity" and "-Infinity" as texts.
[[nodiscard]] std::string json_number(double value);

/// What stands under a name, or nothing.
[[nodiscard]] std::string text_at(const std::map<std::string, std::string>& texts, const std::string& name);

}  // namespace plimsoll::forward
