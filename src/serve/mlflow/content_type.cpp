#include "serve/mlflow/content_type.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace plimsoll::serve::mlflow {
namespace {

/// What MLflow shows as text, and what else people read, by its ending.
constexpr std::array<std::string_view, 26> kTexts = {
    "txt", "log",  "err", "out", "cfg", "conf", "cnf",   "cf",  "ini", "properties", "prop", "hocon", "yaml",
    "yml", "toml", "xml", "js",  "py",  "py3",  "ipynb", "tsv", "md",  "rst",        "sh",   "patch", "diff"};
/// By its whole name.
constexpr std::array<std::string_view, 8> kTextNames = {"mlmodel", "mlproject", "dockerfile", "makefile",
                                                        "license", "readme",    "notice",     "changelog"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kTypes = {{
    {"csv", "text/csv"},
    {"html", "text/html"},
    {"json", "application/json"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"svg", "image/svg+xml"},
    {"webp", "image/webp"},
}};

}  // namespace

std::string_view content_type(std::string_view file_name) {
  const std::string name = lower_case(file_name);
  if (std::ranges::find(kTextNames, name) != kTextNames.end()) return "text/plain";
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return "application/octet-stream";
  const std::string_view ending = std::string_view(name).substr(dot + 1);
  if (std::ranges::find(kTexts, ending) != kTexts.end()) return "text/plain";
  for (const auto& [known, type] : kTypes)
    if (known == ending) return type;
  return "application/octet-stream";
}

}  // namespace plimsoll::serve::mlflow
