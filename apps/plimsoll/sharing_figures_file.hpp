#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "hardware/device.hpp"
#include "share/figures.hpp"

namespace plimsoll {

/// Where `plimsoll probe --sharing` keeps what it found of this machine's device, beside its calibration.
[[nodiscard]] std::optional<std::filesystem::path> own_sharing_file(const hardware::Device& device);

/// What sharing costs on a device: of the file that is named, else of this machine's own, else as its
/// calibration has it.
[[nodiscard]] Result<share::SharingFigures> sharing_figures_of(const hardware::Device& device,
                                                               const std::string& file);

/// {"slice": 0.00209, "change": …}: figures that are not there are those of `otherwise`; unknown names fail.
[[nodiscard]] Result<share::SharingFigures> read_sharing_figures(std::string_view json,
                                                                 const std::string& name,
                                                                 share::SharingFigures otherwise);

}  // namespace plimsoll
