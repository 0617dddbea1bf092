#include "serve/mlflow/disposition.hpp"

#include <fmt/format.h>

#include "base/percent.hpp"

namespace plimsoll::serve::mlflow {

std::string attachment(std::string_view file_name) {
  std::string plain;
  for (const char c : file_name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // one mark for a character of several bytes
    const bool good = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '%' && c != '/';
    plain += good ? c : '_';
  }
  return fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}", plain, percent_encode(file_name));
}

}  // namespace plimsoll::serve::mlflow
