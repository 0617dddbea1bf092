#pragma once
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "serve/dashboard/commands.hpp"
#include "serve/dashboard/uploaded_models.hpp"

namespace plimsoll::serve::dashboard {

// What the page asks to be computed, as command lines. Nothing in them is a path but of models that were
// dropped into the page: every text must be one of few letters, every number a number.

/// "beside", "matrix" or "plan" of a body like {"workloads": […], "device": "h200"}.
[[nodiscard]] Result<Order> share_order(std::string_view what, std::string_view body, UploadedModels& models);
/// "inspect", "weigh", "estimate", "timeline", "kernels" or "choose" of a body like {"model": "resnet50"}.
[[nodiscard]] Result<Order> network_order(std::string_view what, std::string_view body,
                                          UploadedModels& models);
/// Jobs for the queue, {"jobs": […], "dry_run": true}: they are the user's own commands.
[[nodiscard]] Result<Order> submission(std::string_view body);
/// "cancel", "hold" or "release" of {"jobs": [1, 2]}.
[[nodiscard]] Result<Order> queue_order(std::string_view what, std::string_view body);

/// Of the model that a text names: one of the zoo, or a file that was dropped into the page.
[[nodiscard]] Result<std::string> model_word(std::string_view text, UploadedModels& models);
/// A run's id.
[[nodiscard]] bool is_run_id(std::string_view text);

}  // namespace plimsoll::serve::dashboard
