#include "json_output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plimsoll {

std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_json(const nlohmann::ordered_json& document) {
  fmt::print("{}\n", json_text(document));
}

}  // namespace plimsoll
