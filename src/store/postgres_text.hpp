#pragma once
#include <string>
#include <string_view>

/// PostgreSQL's texts hold UTF-8 without NUL; what people log may hold anything. A byte that cannot stand in
/// such a text stands there as the private character U+10FF00 + byte, and where one of these characters is
/// meant itself, each of its bytes does. So every text comes back as it was, and ordinary ones look as they
/// should in psql.
namespace plimsoll::store {

[[nodiscard]] bool fits_postgres(std::string_view text);
[[nodiscard]] std::string to_postgres(std::string_view text);
[[nodiscard]] std::string from_postgres(std::string_view text);

}  // namespace plimsoll::store
