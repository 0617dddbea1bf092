#include "sharing_figures_file.hpp"

#include "base/files.hpp"
#include "calibrated_device.hpp"
#include "hardware/sharing_figures_file.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kMostFigures = std::size_t{1} << 20;

}  // namespace

Result<share::SharingFigures> read_sharing_figures(std::string_view json, const std::string& name,
                                                   share::SharingFigures otherwise) {
  const auto document = hardware::parse_strictly(json);
  if (!document) return std::unexpected(Error(document.error()).within(name));
  std::optional<Error> error;
  hardware::JsonSection section(*document, "", error);
  static_cast<void>(section.text("device"));
  static_cast<void>(section.text("date"));
  hardware::read_sharing_figures(section, otherwise);
  if (error) {
    if (error->hint.empty()) error->hint = "`plimsoll probe --sharing` writes such files";
    return std::unexpected((*std::move(error)).within(name));
  }
  return otherwise;
}

std::optional<std::filesystem::path> own_sharing_file(const hardware::Device& device) {
  auto file = own_calibration_file(device);
  if (file) file->replace_extension(".sharing.json");
  return file;
}

Result<share::SharingFigures> sharing_figures_of(const hardware::Device& device, const std::string& file) {
  const share::SharingFigures built_in = share::sharing_figures(device);
  std::filesystem::path named = file;
  if (named.empty()) {
    const auto own = own_sharing_file(device);
    std::error_code ignored;
    if (!own || !device.calibration || !std::filesystem::exists(*own, ignored)) return built_in;
    named = *own;
  }
  const auto text = read_file(named, kMostFigures);
  PLIMSOLL_TRY(text);
  return read_sharing_figures(*text, named.string(), built_in);
}

}  // namespace plimsoll
