#pragma once
#include "job/fields.hpp"
#include "network/setting.hpp"

namespace plimsoll::job {

/// A Setting as JSON, for the engine and for records.
[[nodiscard]] Json setting_json(const network::Setting& setting);
[[nodiscard]] network::Setting read_setting(const Fields& fields);

}  // namespace plimsoll::job
