#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace plimsoll::telemetry {

/// A watched run at work on a GPU during an interval.
struct Tenant {
  int run = 0;
  std::optional<double> given = {};       ///< weight that whoever started it gave
  std::optional<double> time_share = {};  ///< of the time in which its kernels ran, where the driver tells
  std::optional<double> slice_work =
      {};  ///< in MIG mode: activity times size of the slices that are its alone
};

/// All who were on a GPU during an interval.
struct Tenancy {
  std::vector<Tenant> tenants;
  unsigned others = 0;  ///< processes of nobody: their part is given to nobody
  std::optional<double> others_time_share = {};
  bool idle = false;    ///< the GPU's own counters say that nothing ran
  bool sliced = false;  ///< in MIG mode, where the others' slices worked this much:
  double others_slice_work = 0;
};

/// Best first.
enum class ShareMethod {
  alone,       ///< no other process has a context there
  idle,        ///< nothing ran: equal parts, as each alone would have kept it powered
  given,       ///< in proportion to the weights given
  slices,      ///< in MIG mode: in proportion to what the slices of each did
  time_share,  ///< in proportion to the time in which each one's kernels ran
};
inline constexpr std::array<std::string_view, 5> kShareMethods = {
    "alone on the GPU", "the GPU idle: equal parts", "activity alone x progress",
    "activity x size of its MIG slices", "NVML per-process time share"};

/// One share per tenant, in their order; with the others' they add up to one.
struct Shares {
  ShareMethod method = ShareMethod::alone;
  std::vector<double> shares;
};

/// Splits a GPU's activity or energy among its tenants. Nothing where it cannot be told: never a guess.
[[nodiscard]] std::optional<Shares> share_out(const Tenancy& tenancy);

}  // namespace plimsoll::telemetry
