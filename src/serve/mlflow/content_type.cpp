#include "serve/mlflow/content_type.hpp"

#include <array>
#include <utility>

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kTypes = {{
    {"txt", "text/plain"},        {"log", "text/plain"},      {"err", "text/plain"},
    {"out", "text/plain"},        {"cfg", "text/plain"},      {"conf", "text/plain"},
    {"ini", "text/plain"},        {"yaml", "text/plain"},     {"yml", "text/plain"},
    {"toml", "text/plain"},       {"md", "text/plain"},       {"py", "text/plain"},
    {"sh", "text/plain"},         {"patch", "text/plain"},    {"MLmodel", "text/plain"},
    {"MLproject", "text/plain"},  {"csv", "text/csv"},        {"html", "text/html"},
    {"json", "application/json"}, {"pdf", "application/pdf"}, {"png", "image/png"},
    {"jpg", "image/jpeg"},        {"jpeg", "image/jpeg"},     {"gif", "image/gif"},
    {"svg", "image/svg+xml"},     {"webp", "image/webp"},
}};

}  // namespace

std::string_view content_type(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  const std::string_view ending = dot == std::string_view::npos ? file_name : file_name.substr(dot + 1);
  for (const auto& [known, type] : kTypes)
    if (known == ending) return type;
  return "application/octet-stream";
}

}  // namespace plimsoll::serve::mlflow
