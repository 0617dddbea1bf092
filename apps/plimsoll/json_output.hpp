#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace plimsoll {

/// The document on one line. Names and values may hold bytes that are no UTF-8; JSON may not, so that they
/// are replaced. Here and not where documents are made, because each file that writes JSON compiles
/// nlohmann's writer once more.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

/// The document, the only thing on standard output.
void print_json(const nlohmann::ordered_json& document);

}  // namespace plimsoll
