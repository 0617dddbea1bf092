#pragma once
#include <string_view>

namespace plimsoll::serve::mlflow {

/// What a file's name says of its contents: "text/plain" for notes.txt, "application/octet-stream" where
/// nothing is known. MLflow's own text files (MLmodel, conda.yaml) are text.
[[nodiscard]] std::string_view content_type(std::string_view file_name);

}  // namespace plimsoll::serve::mlflow
