#include "huggingface/model.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "huggingface/description.hpp"
#include "huggingface/safetensors.hpp"

namespace plimsoll::huggingface {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::string_view kFileName = "config.json";

/// Types and bytes of the weights that lie beside the config, where some do.
Status take_checkpoint(Model& model, const std::filesystem::path& folder) {
  const Result<std::optional<Checkpoint>> checkpoint = read_checkpoint(folder);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  if (!*checkpoint) return {};
  std::map<network::DataType, std::int64_t> bytes;
  for (const auto& [name, array] : (*checkpoint)->weights) bytes[array.type] += array.bytes;
  std::vector<std::string> types;
  for (const auto& [type, of_type] : bytes)
    types.push_back(fmt::format("{} of {}", text(Bytes(of_type)), network::name(type)));
  model.notes.push_back(fmt::format("safetensors: {} in {} file{}; --precision says what they are loaded as",
                                    fmt::join(types, ", "), (*checkpoint)->files,
                                    (*checkpoint)->files == 1 ? "" : "s"));
  Matches matches = apply(**checkpoint, model.network);
  for (std::string& note : matches.notes) model.notes.push_back(std::move(note));
  if (!std::ranges::any_of(model.network.stored, &network::StoredWeight::kept)) return {};
  // What is quantised lies there as it is; of the rest, if any, the configuration would have said more.
  if (matches.unmatched == 0)
    std::erase(model.notes, kQuantizationIgnored);
  else
    std::ranges::replace(model.notes, kQuantizationIgnored, std::string(kQuantizationIgnoredInPart));
  return {};
}

/// A FIFO would be waited for.
Result<std::string> read_config(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_other(status))
    return std::unexpected(Error{.message = "is not a regular file", .where = path.string()});
  return read_file(path, kMostBytes);
}

}  // namespace

std::filesystem::path config_at(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return path / kFileName;
  return path.extension() == ".json" ? path : std::filesystem::path();
}

Result<Model> read(const std::filesystem::path& config, network::Mode mode) {
  const auto within = [&](Error error) { return std::unexpected(std::move(error).within(config.string())); };
  Result<std::string> text = read_config(config);
  if (!text) {
    if (text.error().hint.empty())
      text.error().hint = "A folder that is a MODEL holds a config.json of Hugging Face's transformers.";
    return std::unexpected(std::move(text).error());
  }
  Result<Description> description = describe(*text);
  if (!description) return within(std::move(description).error());
  const std::filesystem::path name = config.filename() == kFileName
                                         ? std::filesystem::absolute(config).parent_path().filename()
                                         : config.stem();
  Result<network::Network> built = build(*description, name.string(), mode);
  if (!built) return within(std::move(built).error());
  Model model{std::move(*built), std::move(description->notes)};
  PLIMSOLL_TRY(take_checkpoint(model, config.parent_path().empty() ? "." : config.parent_path()));
  return model;
}

}  // namespace plimsoll::huggingface
