#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

/// What Slurm's commands print, read. All of it is somebody else's text: what cannot be read is nothing.
namespace plimsoll::queue::slurm {

/// A job of Slurm's that holds GPUs for a pool of the queue.
struct AllocationRow {
  std::string id = {};
  std::string state = {};  ///< RUNNING, PENDING…
  std::string nodes = {};
  std::string comment = {};
  friend bool operator==(const AllocationRow&, const AllocationRow&) = default;
};
/// As `squeue --noheader` prints it in kRowFormat.
[[nodiscard]] std::vector<AllocationRow> read_rows(std::string_view text);
/// The comment comes last: it may have any character.
inline constexpr std::string_view kRowFormat = "%i|%T|%N|%k";

/// Of `sbatch --parsable`: "17", or "17;cluster".
[[nodiscard]] Result<std::string> submitted_number(std::string_view text);

/// "1-02:03:04", "2:03:04", "3:04"; nothing for UNLIMITED, INVALID, NOT_SET.
[[nodiscard]] std::optional<Seconds> read_time(std::string_view text);

/// Of "3:04|1795050145": the limit less what has passed, and when it ends, in seconds since 1970. The earlier
/// of both is meant: the limit counts in minutes, and the end is by the controller's clock.
[[nodiscard]] std::optional<Seconds> read_time_left(std::string_view text, double now);

/// The value behind "ClusterName             = scout" of `scontrol show config`.
[[nodiscard]] std::optional<std::string> config_value(std::string_view text, std::string_view name);

/// The value of "JobState=RUNNING Reason=None…", of `scontrol --oneliner show job|node`.
[[nodiscard]] std::optional<std::string> field_value(std::string_view text, std::string_view name);

/// How many of a generic resource a node has: of "gpu:h200:2,shard:h200:8(S:0)", 8 of shard. Several kinds of
/// one name are added up.
[[nodiscard]] std::int64_t count_of(std::string_view gres, std::string_view name);

}  // namespace plimsoll::queue::slurm
