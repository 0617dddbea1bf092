#include "serve/dashboard/uploaded_models.hpp"

#include <array>
#include <system_error>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/random_text.hpp"
#include "base/text.hpp"

namespace plimsoll::serve::dashboard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytes = 16;
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKinds = {
    {{".onnx", "model.onnx"}, {".gguf", "model.gguf"}, {".json", "config.json"}}};

}  // namespace

void UploadedModels::forget_the_old() {
  const Clock::time_point now = Clock::now();
  std::erase_if(kept_, [&](const auto& kept) {
    if (kept.second.until > now) return false;
    std::error_code problem;
    fs::remove_all(kept.second.folder, problem);
    return true;
  });
}

Result<fs::path> UploadedModels::fresh_place() {
  const std::scoped_lock lock(mutex_);
  forget_the_old();
  if (kept_.size() >= kMost)
    return std::unexpected(Error{fmt::format("{} models are here already", kMost),
                                 {},
                                 "Remove one, or wait an hour.",
                                 Error::Kind::unavailable});
  if (!folder_) {
    Result<TemporaryDirectory> made = TemporaryDirectory::make("plimsoll-models");
    if (!made) return std::unexpected(std::move(made).error());
    folder_ = *std::move(made);
  }
  const Result<std::string> name = random_hex(kNameBytes);
  if (!name) return std::unexpected(name.error());
  return folder_->path() / ("coming-" + *name);
}

Result<std::string> UploadedModels::keep(ReceivedFile& file, std::string_view name) {
  std::string_view kept_as;
  const std::string lower = lower_case(name);
  for (const auto& [ending, as] : kKinds)
    if (lower.ends_with(ending)) kept_as = as;
  if (kept_as.empty())
    return std::unexpected(Error{fmt::format("{} is no model that can be read here", quote(name)),
                                 {},
                                 "ONNX (.onnx), GGUF (.gguf), or a config.json of Hugging Face."});
  const Result<std::string> id = random_hex(kNameBytes);
  if (!id) return std::unexpected(id.error());
  const fs::path folder = file.path().parent_path() / *id, model = folder / kept_as;
  std::error_code problem;
  fs::create_directory(folder, problem);
  if (!problem) fs::rename(file.path(), model, problem);
  if (problem) return std::unexpected(Error{problem.message(), folder, {}, Error::Kind::unavailable});
  file.release();
  const std::scoped_lock lock(mutex_);
  kept_.emplace(*id, Kept{folder, kept_as == "config.json" ? folder : model, Clock::now() + kKept});
  return "upload:" + *id;
}

Result<fs::path> UploadedModels::find(std::string_view id) {
  constexpr std::string_view kPrefix = "upload:";
  const std::scoped_lock lock(mutex_);
  forget_the_old();
  const auto found = id.starts_with(kPrefix) ? kept_.find(id.substr(kPrefix.size())) : kept_.end();
  if (found == kept_.end())
    return std::unexpected(
        Error{"this model is not here any more", {}, "Drop the file once more.", Error::Kind::not_found});
  return found->second.model;
}

void UploadedModels::remove(std::string_view id) {
  constexpr std::string_view kPrefix = "upload:";
  const std::scoped_lock lock(mutex_);
  const auto found = id.starts_with(kPrefix) ? kept_.find(id.substr(kPrefix.size())) : kept_.end();
  if (found == kept_.end()) return;
  std::error_code problem;
  fs::remove_all(found->second.folder, problem);
  kept_.erase(found);
}

}  // namespace plimsoll::serve::dashboard
