#include "plan/cluster/policy.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "base/suggest.hpp"

namespace plimsoll::plan::cluster {
namespace {

constexpr Policy kPolicies[] = {
    {"random", "any node on which it fits", random_policy},
    {"dot-product", "the node whose free CPU and GPUs are least like the request", dot_product_policy},
    {"clustering", "a node that carries pods of the same size", clustering_policy},
    {"packing", "a GPU in use before a free one, a node in use before an empty one", packing_policy},
    {"best-fit", "the node that has least left over", best_fit_policy},
    {"fragmentation", "the node where free GPUs stay most useful to what arrives", fragmentation_policy},
    {"plimsoll", "where it costs least of what GPUs are worth to what arrives", plimsoll_policy},
};

}  // namespace

std::span<const Policy> policies() {
  return kPolicies;
}

Result<std::vector<Policy>> policies_named(std::span<const std::string> names) {
  std::vector<std::string_view> known{"all"};
  for (const Policy& policy : kPolicies) known.push_back(policy.name);
  std::vector<Policy> out;
  for (const std::string& name : names) {
    if (name == "all") return std::vector<Policy>(std::begin(kPolicies), std::end(kPolicies));
    const auto* const found = std::ranges::find(kPolicies, name, &Policy::name);
    if (found == std::end(kPolicies)) {
      std::string hint = did_you_mean(name, known);
      if (hint.empty())
        for (const std::string_view each : known)
          hint += fmt::format("{}{}", hint.empty() ? "Policies are " : ", ", each);
      return std::unexpected(
          Error{fmt::format("there is no policy {}", quote(name)), {}, hint, Error::Kind::not_found});
    }
    out.push_back(*found);
  }
  return out;
}

LargestNode largest_node(const Cluster& cluster) {
  LargestNode largest;
  for (const Node& node : cluster.nodes) {
    largest.cpu = std::max(largest.cpu, static_cast<double>(node.cpu));
    largest.milli = std::max(largest.milli, static_cast<double>(node.gpu_count) * kWholeGpu);
  }
  return largest;
}

}  // namespace plimsoll::plan::cluster
