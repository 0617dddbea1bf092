#include "share/mig.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/printable.hpp"

namespace plimsoll::share {
namespace {

// From the placement table of NVIDIA's documentation: parts of the memory (of eight, of four), parts of the
// compute units, where a slice may start. SMs as devices tell them: 14 a part on an A100, 16 and more on an
// H100 or H200.
struct Kind {
  int compute, memory;
  std::array<int, 7> starts;  ///< as many as `count`
  int count;
  int sms_ampere, sms_hopper;
};
constexpr std::array kKinds = {
    Kind{1, 1, {0, 1, 2, 3, 4, 5, 6}, 7, 14, 16},
    Kind{1, 2, {0, 2, 4, 6}, 4, 14, 26},
    Kind{2, 2, {0, 2, 4}, 3, 28, 32},
    Kind{3, 4, {0, 4}, 2, 42, 60},
    Kind{4, 4, {0}, 1, 56, 64},
    Kind{7, 8, {0}, 1, 98, 132},
};
constexpr int kMemoryParts = 8, kComputeParts = 7;

/// The gigabytes in the names of profiles, in the order of kKinds.
struct Family {
  std::string_view prefix;  ///< of device ids
  std::array<int, kKinds.size()> gigabytes;
  bool hopper;
};
constexpr std::array kFamilies = {
    Family{"a100-40", {5, 10, 10, 20, 20, 40}, false},
    Family{"a100-80", {10, 20, 20, 40, 40, 80}, false},
    Family{"h100", {10, 20, 20, 40, 40, 80}, true},
    Family{"h200", {18, 35, 35, 71, 71, 141}, true},
};

const Family* family_of(const hardware::Device& device) {
  const auto found =
      std::ranges::find_if(kFamilies, [&](const Family& f) { return device.id.starts_with(f.prefix); });
  return found == kFamilies.end() ? nullptr : &*found;
}

std::string profile_name(const Family& family, std::size_t kind) {
  return fmt::format("{}g.{}gb", kKinds[kind].compute, family.gigabytes[kind]);
}

Result<std::size_t> kind_named(const Family& family, const std::string& name,
                               const hardware::Device& device) {
  std::string all;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (profile_name(family, i) == name) return i;
    all += (i == 0 ? "" : ", ") + profile_name(family, i);
  }
  return std::unexpected(Error{fmt::format("{} has no MIG profile '{}'", device.name, printable(name)),
                               "--sharing", fmt::format("there are {}", all)});
}

/// Finds places for kinds[at] and those after it; `taken` has a bit per part of the memory.
bool place(std::span<const std::size_t> kinds, std::size_t at, unsigned taken, std::vector<int>& starts) {
  if (at == kinds.size()) return true;
  const Kind& kind = kKinds[kinds[at]];
  for (int i = 0; i < kind.count; ++i) {
    const unsigned parts = ((1U << kind.memory) - 1) << kind.starts[static_cast<std::size_t>(i)];
    if ((taken & parts) != 0) continue;
    starts[at] = kind.starts[static_cast<std::size_t>(i)];
    if (place(kinds, at + 1, taken | parts, starts)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> profiles_of(const hardware::Device& device) {
  std::vector<std::string> out;
  if (const Family* family = family_of(device))
    for (std::size_t i = 0; i < kKinds.size(); ++i) out.push_back(profile_name(*family, i));
  return out;
}

Result<std::vector<Slice>> slices_of(std::span<const std::string> profiles, const hardware::Device& device) {
  const Family* family = family_of(device);
  if (family == nullptr || !device.multiprocessors)
    return std::unexpected(Error{fmt::format("no MIG profiles of {} are known", device.name), "--sharing",
                                 "naive and mps are shared otherwise; the A100, H100 and H200 have MIG"});
  std::vector<std::size_t> kinds;
  int compute = 0;
  for (const std::string& profile : profiles) {
    const auto kind = kind_named(*family, profile, device);
    PLIMSOLL_TRY(kind);
    kinds.push_back(*kind);
    compute += kKinds[*kind].compute;
  }
  std::vector<int> starts(kinds.size());
  if (compute > kComputeParts || kinds.size() > kComputeParts || !place(kinds, 0, 0, starts))
    return std::unexpected(Error{
        "these MIG profiles cannot be placed together", "--sharing",
        fmt::format(
            "a GPU has {} parts of compute and {} of memory, and a profile starts where NVIDIA's table says",
            kComputeParts, kMemoryParts)});
  std::vector<Slice> out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Kind& kind = kKinds[kinds[i]];
    const double sms = family->hopper ? kind.sms_hopper : kind.sms_ampere;
    const double memory = static_cast<double>(kind.memory) / kMemoryParts;
    out.push_back({.profile = profiles[i],
                   .sms = std::min(1.0, sms / device.multiprocessors->value),
                   .bandwidth = memory,
                   .bytes = (device.usable_memory ? device.usable_memory->value
                             : device.memory      ? device.memory->value
                                                  : 0) *
                            memory,
                   .start = starts[i]});
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
