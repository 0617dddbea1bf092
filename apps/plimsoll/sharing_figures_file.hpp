#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "hardware/device.hpp"
#include "share/figures.hpp"

namespace plimsoll {

/// What sharing costs on a device: of the file that is named, else as share has it built in.
[[nodiscard]] Result<share::SharingFigures> sharing_figures_of(const hardware::Device& device,
                                                               const std::string& file);

/// {"slice": 0.00209, "change": …}: figures that are not there are those of `otherwise`; unknown names fail.
[[nodiscard]] Result<share::SharingFigures> read_sharing_figures(std::string_view json,
                                                                 const std::string& name,
                                                                 share::SharingFigures otherwise);
[[nodiscard]] nlohmann::ordered_json to_json(const share::SharingFigures& figures);

}  // namespace plimsoll
