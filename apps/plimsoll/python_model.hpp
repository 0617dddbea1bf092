#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "model_source.hpp"

namespace plimsoll {

/// A PyTorch module handed over as ONNX in a folder that goes when this goes.
struct PythonModel {
  TemporaryDirectory folder;
  std::filesystem::path path;
  std::vector<std::string> notes;
};

/// Runs plimsoll_torch (its files are in this program) with the person's own Python: $PLIMSOLL_PYTHON, else
/// python3.
[[nodiscard]] Result<PythonModel> export_python_model(const ModelRequest& request);

}  // namespace plimsoll
