#include "plan_measured.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

constexpr std::size_t kMostInGroup = 1000;

/// What is wrong with a row; nothing where it was read, or is of no use here.
std::string_view read_group(const nlohmann::json& row, MeasuredGroups& out) {
  if (!row.is_object()) return "is no JSON object";
  const auto kind = row.find("kind");
  if (kind != row.end() && *kind == "service") return "";  // how long its requests took
  const auto names = row.find("workloads"), caps = row.find("caps");
  if (names == row.end() || (caps != row.end() && caps->is_array())) return "";
  const auto speeds = row.find("speed"), sharing = row.find("sharing");
  if (!names->is_array() || speeds == row.end() || !speeds->is_array() || names->size() != speeds->size() ||
      sharing == row.end() || !sharing->is_string())
    return "has no workloads, sharing and speed of each";
  if (names->empty() || names->size() > kMostInGroup) return "has no group of 1 to 1000 workloads";
  std::vector<std::pair<std::string, double>> members;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const double speed = (*speeds)[i].is_number() ? (*speeds)[i].get<double>() : std::nan("");
    if (!(*names)[i].is_string()) return "has a workload that is no name";
    if (!(speed > 0) || !std::isfinite(speed)) return "has a speed that is none";
    members.emplace_back((*names)[i].get<std::string>(), speed);
  }
  std::ranges::sort(members);
  std::vector<std::string> sorted;
  std::vector<double> found;
  for (const auto& [name, speed] : members) {
    sorted.push_back(name);
    found.push_back(speed);
  }
  out.insert_or_assign({sharing->get<std::string>(), std::move(sorted)}, std::move(found));
  return "";
}

}  // namespace

AllErrors<MeasuredGroups> read_measured_groups(std::string_view text) {
  MeasuredGroups out;
  std::vector<Error> wrong;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string_view what = read_group(nlohmann::json::parse(line, nullptr, false), out);
    if (!what.empty()) wrong.push_back({std::string(what), fmt::format("line {}", number)});
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

}  // namespace plimsoll
