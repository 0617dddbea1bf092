#pragma once
#include <filesystem>

#include "base/error.hpp"
#include "train_options.hpp"

namespace plimsoll {

/// Writes what was trained as ONNX, beside its weights (job::kTrainedFile): a network of the zoo as it is run
/// in inference, a file's as the file has it. Gives its path.
[[nodiscard]] Result<std::filesystem::path> write_trained_onnx(ReadyTraining& training);

}  // namespace plimsoll
