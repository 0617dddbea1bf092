#include "share/mig.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "hardware/mig.hpp"

namespace plimsoll::share {
namespace {

Result<std::vector<std::size_t>> profiles_named(const hardware::MigTable& table,
                                                std::span<const std::string> names,
                                                const hardware::Device& device) {
  std::vector<std::size_t> out;
  for (const std::string& name : names) {
    const auto found = table.find(name);
    if (!found)
      return std::unexpected(Error{fmt::format("{} has no MIG profile '{}'", device.name, printable(name)),
                                   "--sharing",
                                   fmt::format("there are {}", fmt::join(profiles_of(device), ", "))});
    out.push_back(*found);
  }
  return out;
}

}  // namespace

std::vector<std::string> profiles_of(const hardware::Device& device) {
  std::vector<std::string> out;
  if (const hardware::MigTable* table = hardware::mig_table(device))
    for (const hardware::MigProfile& profile : table->profiles)
      if (!profile.media) out.push_back(profile.name);
  return out;
}

Result<std::vector<Slice>> slices_of(std::span<const std::string> profiles, const hardware::Device& device) {
  const hardware::MigTable* table = hardware::mig_table(device);
  if (table == nullptr || !device.multiprocessors)
    return std::unexpected(
        Error{fmt::format("no MIG profiles of {} are known", device.name), "--sharing",
              "naive and mps are shared otherwise; the A30, A100, H100, H200 and B200 have MIG"});
  const auto wanted = profiles_named(*table, profiles, device);
  PLIMSOLL_TRY(wanted);
  const auto placed = hardware::place(*table, *wanted);
  if (!placed)
    return std::unexpected(Error{
        "these MIG profiles cannot be placed together", "--sharing",
        fmt::format(
            "a GPU has {} parts of compute and {} of memory, and a profile starts where NVIDIA's table says",
            table->compute_parts, table->memory_parts)});
  std::vector<Slice> out;
  for (const hardware::MigPlacement& placement : *placed) {
    const hardware::MigProfile& profile = table->profiles[placement.profile];
    const double sms = profile.sms ? *profile.sms / device.multiprocessors->value
                                   : static_cast<double>(profile.compute) / table->compute_parts;
    const std::optional<Bytes> bytes = hardware::mig_bytes(*table, profile, device);
    out.push_back({.profile = profile.name,
                   .sms = std::min(1.0, sms),
                   .bandwidth = static_cast<double>(profile.memory) / table->memory_parts,
                   .bytes = bytes ? static_cast<double>(bytes->count()) : 0,
                   .start = placement.start});
  }
  return out;
}

std::vector<Kernel> kernels_in(const std::vector<Kernel>& kernels, const Slice& slice,
                               const SharingFigures& figures) {
  std::vector<Kernel> out = confined(kernels, slice.sms, slice.bandwidth, figures);
  const auto sms = static_cast<float>(slice.sms), bandwidth = static_cast<float>(slice.bandwidth);
  for (Kernel& kernel : out) {
    kernel.waves /= sms;
    kernel.reach = std::min(1.0F, kernel.reach / sms);
    kernel.sms = std::min(1.0F, kernel.sms / sms);
    kernel.bandwidth = std::min(1.0F, kernel.bandwidth / bandwidth);
  }
  return out;
}

Member in_slice(const Workload& workload, const Slice& slice, const SharingFigures& figures) {
  const std::vector<Kernel> kernels = confined(workload.kernels, slice.sms, slice.bandwidth, figures);
  const double longer = step_of(workload, kernels, 0, 1) / step_of(workload, workload.kernels, 0, 1);
  return {.speed = 1 / longer,
          .causes = {.fewer_sms = longer - 1},
          .capacity = slice.bytes > 0 ? std::optional(Bytes::rounded(slice.bytes)) : std::nullopt};
}

}  // namespace plimsoll::share
