#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hardware/mig.hpp"
#include "plan/mig/layouts.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// How a GPU can be cut, or how one layout becomes another.
struct LayoutsReport {
  const hardware::Device& device;
  const hardware::MigTable& table;
  std::vector<std::size_t> profiles = {};
  std::vector<plan::Layout> layouts = {};
  std::vector<plan::ProfileCounts> multisets = {};
  std::optional<plan::LayoutChange> change = {};
};

[[nodiscard]] std::string layouts_text(const LayoutsReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json layouts_json(const LayoutsReport& report);

/// A configuration of NVIDIA's mig-parted: what GPUs are cut into.
struct MigConfiguration {
  std::string name = {};
  /// Per GPU, by number; those alike are written together. One for all GPUs where `every`.
  std::vector<plan::ProfileCounts> gpus = {};
  bool every = false;
};
/// As the YAML that mig-parted reads.
[[nodiscard]] std::string mig_parted_text(const hardware::MigTable& table,
                                          const std::vector<MigConfiguration>& configurations);

}  // namespace plimsoll::report
