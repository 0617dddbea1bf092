#include "plan_truth.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"

namespace plimsoll {
namespace {

using plan::schedule::GroupRates;
using plan::schedule::Rates;

constexpr std::size_t kMostTruth = std::size_t{64} << 20;

/// Speeds of a group by its way and the names of its kinds, in order.
using Measured = std::map<std::string, std::vector<double>>;

std::string group_key(std::string_view way, const std::vector<std::string>& names) {
  return fmt::format("{}|{}", way, fmt::join(names, "|"));
}

Result<Measured> read_measured(const std::string& file) {
  const auto text = read_file(file, kMostTruth);
  PLIMSOLL_TRY(text);
  Measured out;
  std::size_t number = 0, at = 0;
  while (at < text->size()) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    const auto row = nlohmann::json::parse(line, nullptr, false);
    const auto refuse = [&](const char* what) {
      return std::unexpected(Error{what, fmt::format("{}: line {}", file, number), ""});
    };
    if (!row.is_object()) return refuse("is no JSON object");
    if (!row.contains("workloads") || (row.contains("caps") && row["caps"].is_array())) continue;
    const auto& names = row["workloads"];
    const auto speeds = row.value("speed", nlohmann::json());
    if (!names.is_array() || !speeds.is_array() || names.size() != speeds.size() ||
        !row.contains("sharing") || !row["sharing"].is_string())
      return refuse("has no workloads, sharing and speed of each");
    std::vector<std::pair<std::string, double>> members;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].is_string() || !speeds[i].is_number() || !(speeds[i].get<double>() > 0))
        return refuse("has a speed that is none");
      members.emplace_back(names[i].get<std::string>(), speeds[i].get<double>());
    }
    std::ranges::sort(members);
    std::vector<std::string> sorted;
    std::vector<double> found;
    for (const auto& [name, speed] : members) {
      sorted.push_back(name);
      found.push_back(speed);
    }
    out[group_key(row["sharing"].get<std::string>(), sorted)] = found;
  }
  return out;
}

/// From -1 to 1, the same for the same question.
double drawn(std::uint64_t seed, std::span<const std::uint32_t> kinds, std::size_t setup,
             std::size_t member) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + setup * 1315423911ULL + member + 1;
  for (const std::uint32_t kind : kinds) state = (state ^ (kind + 1)) * 0xBF58476D1CE4E5B9ULL + 11;
  state ^= state >> 31U;
  state *= 0x94D049BB133111EBULL;
  state ^= state >> 29U;
  return 2 * static_cast<double>(state >> 11U) * 0x1p-53 - 1;
}

}  // namespace

Result<Rates> true_rates(const TruthOptions& options, const PlanQuestion& question,
                         const std::vector<plan::schedule::Setup>& setups, Rates& beliefs) {
  auto measured = std::make_shared<Measured>();
  if (!options.measured.empty()) {
    auto read = read_measured(options.measured);
    PLIMSOLL_TRY(read);
    *measured = *std::move(read);
  }
  return Rates([measured, options, &question, &setups, &beliefs](std::span<const std::uint32_t> kinds,
                                                                 std::size_t setup) {
    GroupRates out = beliefs.of(kinds, setup);
    if (kinds.size() < 2) return out;  // alone it was measured
    std::vector<std::pair<std::string, std::size_t>> names;
    for (std::size_t i = 0; i < kinds.size(); ++i) names.emplace_back(question.kinds[kinds[i]].name, i);
    std::ranges::sort(names);
    std::vector<std::string> sorted;
    for (const auto& [name, at] : names) sorted.push_back(name);
    const auto found = setups[setup].cap < 1
                           ? measured->end()
                           : measured->find(group_key(share::name(setups[setup].way), sorted));
    for (std::size_t i = 0; i < names.size(); ++i) {
      double& speed = out.speeds[names[i].second];
      if (found != measured->end())
        speed = found->second[i];
      else
        speed *= 1 + options.disturbed * drawn(options.seed, kinds, setup, names[i].second);
      speed = std::min(speed, 1.1);
    }
    return out;
  });
}

}  // namespace plimsoll
