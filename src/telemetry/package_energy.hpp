#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "telemetry/counter.hpp"
#include "telemetry/kept_file.hpp"

namespace plimsoll::telemetry {

/// The energy counter of a processor package (RAPL), which the processor advances about every millisecond.
class PackageEnergy {
 public:
  PackageEnergy(std::uint64_t number, KeptFile file, std::uint64_t range)
      : number_(number), file_(std::move(file)), range_(range) {}
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Since the first call, over wrap-arounds; nothing where it cannot be read.
  [[nodiscard]] std::optional<double> joules(ReadBuffer& buffer);

 private:
  std::uint64_t number_;
  KeptFile file_;
  std::uint64_t range_;  // microjoules, after which the counter begins again
  Total total_;
};

/// Those under /sys that this user may read: on most systems only root may (CVE-2020-8694).
[[nodiscard]] std::vector<PackageEnergy> find_packages(const std::filesystem::path& sys);

}  // namespace plimsoll::telemetry
