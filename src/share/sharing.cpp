#include "share/sharing.hpp"

#include <charconv>
#include <cmath>

#include "base/printable.hpp"

namespace plimsoll::share {
namespace {

constexpr std::string_view kHint =
    "naive, mps, mps:75,25 (percent of the SMs for each), mig:3g.71gb,4g.71gb, mig+mps:3g.71gb (all in one "
    "slice), exclusive";

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<double> read_cap(std::string_view text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent > 0) || percent > 100)
    return std::unexpected(Error{fmt::format("'{}' is no percentage of the SMs", printable(text, 60)),
                                 "--sharing", "a number above 0 and up to 100"});
  return percent / 100;
}

}  // namespace

std::string_view name(Way way) {
  static constexpr std::string_view kNames[] = {"exclusive", "naive", "mps", "mig"};
  return kNames[static_cast<std::size_t>(way)];
}

std::string text(const Sharing& sharing) {
  std::string out(name(sharing.way));
  if (sharing.in_one_slice) out += "+mps";
  for (std::size_t i = 0; i < sharing.caps.size(); ++i)
    out += fmt::format("{}{:g}", i == 0 ? ":" : ",", std::round(sharing.caps[i] * 1e4) / 100);
  for (std::size_t i = 0; i < sharing.profiles.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? ":" : ",", sharing.profiles[i]);
  return out;
}

Result<Sharing> read_sharing(std::string_view text, std::size_t workloads) {
  const std::size_t colon = text.find(':');
  const std::string_view way = text.substr(0, colon);
  const bool has_parts = colon != std::string_view::npos;
  const auto parts = has_parts ? parts_of(text.substr(colon + 1)) : std::vector<std::string_view>();
  Sharing out;
  if (way == "mps") {
    out.way = Way::mps;
    for (const std::string_view part : parts) {
      const auto cap = read_cap(part);
      PLIMSOLL_TRY(cap);
      out.caps.push_back(*cap);
    }
  } else if (way == "mig" && has_parts) {
    out.way = Way::mig;
    out.profiles.assign(parts.begin(), parts.end());
  } else if (way == "mig+mps" && parts.size() == 1) {
    out = {.way = Way::mig, .profiles = {std::string(parts.front())}, .in_one_slice = true};
    return out;
  } else if ((way == "naive" || way == "exclusive") && !has_parts) {
    out.way = way == "naive" ? Way::naive : Way::exclusive;
  } else {
    return std::unexpected(
        Error{fmt::format("there is no sharing '{}'", printable(text, 60)), "--sharing", std::string(kHint)});
  }
  if (has_parts && parts.size() != workloads)
    return std::unexpected(
        Error{fmt::format("'{}' has {} parts for {} workloads", printable(text, 60), parts.size(), workloads),
              "--sharing", "one part per workload, in their order"});
  return out;
}

}  // namespace plimsoll::share
