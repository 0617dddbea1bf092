#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "telemetry/kept_file.hpp"

namespace plimsoll::telemetry {

/// The files of the control group in which this process runs: version 2, 1, or those that are there.
struct CgroupFiles {
  int version = 0;  ///< 0: none
  std::filesystem::path memory = {};
  std::optional<double> memory_limit = {};  ///< bytes; the least of the group's and those around it
  std::filesystem::path cpu_usage = {};
  std::filesystem::path cpu_throttled = {};
};
/// `membership`: the text of /proc/self/cgroup; `root`: /sys/fs/cgroup. Inside a container the path it names
/// may be the host's: then the mounted root is the container's own group.
[[nodiscard]] CgroupFiles find_cgroup(std::string_view membership, const std::filesystem::path& root);

/// Reads them.
class Cgroup {
 public:
  Cgroup(const std::filesystem::path& proc, const std::filesystem::path& sys);

  [[nodiscard]] int version() const { return files_.version; }
  [[nodiscard]] std::optional<double> memory(ReadBuffer& buffer) const;  ///< bytes, caches included
  [[nodiscard]] std::optional<double> memory_limit() const { return files_.memory_limit; }
  [[nodiscard]] std::optional<double> cpu_seconds(ReadBuffer& buffer) const;        ///< used so far
  [[nodiscard]] std::optional<double> throttled_seconds(ReadBuffer& buffer) const;  ///< held back so far

 private:
  CgroupFiles files_;
  KeptFile memory_, cpu_usage_, cpu_throttled_;
};

}  // namespace plimsoll::telemetry
