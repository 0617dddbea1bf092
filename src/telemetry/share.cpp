#include "telemetry/share.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::telemetry {
namespace {

bool usable(const std::optional<double>& weight) {
  return weight && std::isfinite(*weight) && *weight >= 0;
}

/// By the weight that `weight` points to; nothing where one is missing, or all are zero.
std::optional<Shares> in_proportion(const Tenancy& tenancy, ShareMethod method,
                                    std::optional<double> Tenant::* weight, double others) {
  if (!std::ranges::all_of(tenancy.tenants, usable, weight)) return std::nullopt;
  double total = others;
  for (const Tenant& tenant : tenancy.tenants) total += *(tenant.*weight);
  if (!(total > 0) || !std::isfinite(total)) return std::nullopt;
  Shares out{method, {}};
  for (const Tenant& tenant : tenancy.tenants) out.shares.push_back(*(tenant.*weight) / total);
  return out;
}

}  // namespace

std::optional<Shares> share_out(const Tenancy& tenancy) {
  const std::size_t tenants = tenancy.tenants.size();
  if (tenants == 0) return std::nullopt;
  if (tenants == 1 && tenancy.others == 0) return Shares{ShareMethod::alone, {1.0}};
  if (tenancy.idle) {
    const double part = 1.0 / static_cast<double>(tenants + tenancy.others);
    return Shares{ShareMethod::idle, std::vector<double>(tenants, part)};
  }
  if (tenancy.sliced)
    return in_proportion(tenancy, ShareMethod::slices, &Tenant::slice_work, tenancy.others_slice_work);
  const bool others_known = tenancy.others == 0 || usable(tenancy.others_time_share);
  if (!others_known) return std::nullopt;
  const double others = tenancy.others == 0 ? 0 : *tenancy.others_time_share;
  // Nobody gives a weight for a process that is not watched: the weights serve only where it does nothing.
  if (others == 0)
    if (auto shares = in_proportion(tenancy, ShareMethod::given, &Tenant::given, 0)) return shares;
  return in_proportion(tenancy, ShareMethod::time_share, &Tenant::time_share, others);
}

}  // namespace plimsoll::telemetry
