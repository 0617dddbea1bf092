#pragma once
#include <string>
#include <string_view>

namespace plimsoll::serve::mlflow {

/// The value of Content-Disposition for a file to be saved under that name: in ASCII for who reads nothing
/// else, with what is not plain replaced, and as it is (RFC 6266).
[[nodiscard]] std::string attachment(std::string_view file_name);

}  // namespace plimsoll::serve::mlflow
