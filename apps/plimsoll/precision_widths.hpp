#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "interruption.hpp"
#include "precision_options.hpp"
#include "report/precision_report.hpp"

namespace plimsoll {

/// MODEL at a width: "mobilenet_v1:classes=10,alpha=0.5". Fails where the zoo builds it at one width alone.
[[nodiscard]] Result<std::string> at_width(const std::string& model, double depth);

/// Trains MODEL at a width in `folder` (or goes on there, or finds it trained), and writes it as ONNX. What
/// was trained, and how long, goes into the study. Nothing: interrupted.
[[nodiscard]] Result<std::optional<std::filesystem::path>> trained_width(
    const PrecisionOptions& options, double depth, const std::filesystem::path& folder,
    const std::filesystem::path& engine, Interruption& interruption, report::PrecisionStudy& study);

}  // namespace plimsoll
