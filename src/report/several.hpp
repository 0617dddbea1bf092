#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/several.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// "ZeRO-3", "tensor parallel", "pipeline of 5 stages".
[[nodiscard]] std::string way_words(const plan::Way& way);
/// "16 GPUs (ZeRO-3): the fewest GPUs", or that nothing does.
[[nodiscard]] std::string several_words(const plan::SeveralDevices& several);
/// The ways that do, the fewest devices first.
[[nodiscard]] Table several_table(const plan::SeveralDevices& several, bool training);
/// Why others do not, and why times are not known; each once.
[[nodiscard]] std::vector<std::string> several_notes(const plan::SeveralDevices& several);

[[nodiscard]] nlohmann::ordered_json to_json(const plan::SeveralDevices& several);

}  // namespace plimsoll::report
