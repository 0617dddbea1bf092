#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/inspection.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Weights that are stored alike: of one format, or of one name in every layer ("blk.*.attn_q.weight").
struct StoredGroup {
  std::string name;
  std::int64_t tensors = 0;
  std::int64_t values = 0;
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> formats = {};  ///< tensors of each
};

/// How the weights lie in the file; empty for a network whose weights are all stored in their types.
[[nodiscard]] std::vector<StoredGroup> stored_formats(const Inspection& inspection);  ///< most bytes first
[[nodiscard]] std::vector<StoredGroup> stored_groups(const Inspection& inspection);   ///< in the file's order

/// "Q4_K 3.12 GiB (4.50 bits a value), Q6_K …"
[[nodiscard]] std::string stored_text(const std::vector<StoredGroup>& formats);
/// How products with weights of those formats were timed.
[[nodiscard]] std::string stored_time_text(const std::vector<std::string>& formats);
[[nodiscard]] Table stored_table(const std::vector<StoredGroup>& groups);
[[nodiscard]] nlohmann::ordered_json stored_json(const Inspection& inspection);

}  // namespace plimsoll::report
