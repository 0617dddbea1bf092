#include "swapping/policy.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/printable.hpp"

namespace plimsoll::swapping {
namespace {

constexpr std::array kPolicies = {
    Policy{"lru", "the model that ran longest ago goes", false, false, lru_worth},
    Policy{"mru", "the model that ran last goes", false, false, mru_worth},
    Policy{"belady-model", "the model that is asked for last goes; told the requests in advance", false, true,
           belady_model_worth},
    Policy{"expected-block", "the blocks that are expected last go, by the rates of the requests", true,
           false, expected_block_worth},
    Policy{"belady-block", "the blocks that are needed last go; told the requests in advance", true, true,
           belady_block_worth},
};

}  // namespace

std::span<const Policy> policies() {
  return kPolicies;
}

const Policy* policy_named(std::string_view name) {
  const auto* const found = std::ranges::find(kPolicies, name, &Policy::name);
  return found == kPolicies.end() ? nullptr : found;
}

Result<std::vector<Policy>> policies_named(std::span<const std::string> names) {
  std::vector<Policy> out;
  const auto add = [&](const Policy& policy) {
    if (std::ranges::find(out, policy.name, &Policy::name) == out.end()) out.push_back(policy);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      std::ranges::for_each(kPolicies, add);
      continue;
    }
    const Policy* const policy = policy_named(name);
    if (policy == nullptr) {
      std::string known;
      for (const Policy& each : kPolicies) known += fmt::format("{}, ", each.name);
      return std::unexpected(
          Error{fmt::format("there is no policy {}", quote(name)), "", "there are " + known + "and all"});
    }
    add(*policy);
  }
  return out;
}

Memory empty_memory(const Packed& packed, std::int64_t capacity) {
  return {.capacity = capacity,
          .held = std::vector<std::int64_t>(packed.chunks.size()),
          .whole = std::vector<bool>(packed.models.size()),
          .last_run = std::vector<std::int64_t>(packed.models.size(), -1)};
}

Worth worth_by_next_use(const View& view, std::span<const double> next_run, std::size_t chunk) {
  Worth out{-std::numeric_limits<double>::infinity(), 0};
  for (const Use& use : view.packed.chunks[chunk].uses) {
    const double layer = -static_cast<double>(use.layer);
    if (use.model == view.model && use.layer > view.layer)
      out = std::max(out, Worth{std::numeric_limits<double>::infinity(), layer});
    out = std::max(out, Worth{-next_run[use.model], layer});
  }
  return out;
}

}  // namespace plimsoll::swapping
