#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/swap_report.hpp"

namespace plimsoll::report {
namespace {

using Row = SwapReport::Row;

std::string row_words(const Row& row) {
  return fmt::format("{}{}", row.policy, row.merged ? " with merged weights" : "");
}

std::string limit_words(const SwapReport& report, const Row& row) {
  const std::size_t missed = row.missed.computing + row.missed.copies;
  if (missed == 0) return fmt::format("Every frame is met by {}.", row_words(row));
  const std::string of = fmt::format("Of {} frames {} misses {}: ", report.frames, row_words(row), missed);
  if (row.missed.copies == 0) return of + "as many as computing alone, with all weights there.";
  if (row.missed.computing == 0)
    return of +
           fmt::format("all of them for copies; the link is busy {:.0f} % of the time. All weights need {}.",
                       100 * row.of.copying,
                       text(report.together && row.merged ? *report.together : report.separate));
  return of + fmt::format("{} for copies, {} for computing, which are missed with all weights there, too.",
                          row.missed.copies, row.missed.computing);
}

/// What would do for those that cannot run.
std::optional<std::string> lack_words(const SwapReport& report) {
  std::optional<Bytes> least, most;
  std::string names;
  for (const Row& row : report.rows) {
    if (!row.needs) continue;
    least = std::min(least.value_or(*row.needs), *row.needs);
    most = std::max(most.value_or(*row.needs), *row.needs);
    if (names.find(row.policy) == std::string::npos) names += (names.empty() ? "" : ", ") + row.policy;
  }
  if (!least) return std::nullopt;
  if (std::ranges::any_of(report.rows, [](const Row& row) { return !row.needs; }))
    return fmt::format("{}: whole models give way, and the largest needs {} of memory.", names, text(*most));
  return fmt::format(
      "{} is too little for any of these policies: it takes {} at least, of which activations are {}.",
      text(report.memory), text(*least), text(report.activations));
}

const Row* best_of(const SwapReport& report, bool merged) {
  const Row* out = nullptr;
  for (const Row& row : report.rows)
    if (row.merged == merged && !row.needs && (out == nullptr || swapping::is_better(row.of, out->of)))
      out = &row;
  return out;
}

const Row* first_of(const SwapReport& report, bool merged) {
  const auto found =
      std::ranges::find_if(report.rows, [&](const Row& row) { return row.merged == merged && !row.needs; });
  return found == report.rows.end() ? nullptr : &*found;
}

/// "+159 frames", or what is moved where as many are met.
std::string gain_words(const Row& base, const Row& row) {
  const auto more = static_cast<std::int64_t>(row.of.all.met) - static_cast<std::int64_t>(base.of.all.met);
  if (more != 0) return fmt::format("{:+} frames", more);
  if (base.of.moved == Bytes()) return "as many frames";
  return fmt::format("as many frames, moving {:.3g} times the bytes", row.of.moved / base.of.moved);
}

/// Against the first policy that can run, with weights of their own.
std::optional<std::string> merging_words(const SwapReport& report) {
  const Row* const base = first_of(report, false);
  const Row* const swapped = best_of(report, false);
  const Row* const both = best_of(report, true);
  if (base == nullptr || both == nullptr) return std::nullopt;
  const auto merged = std::ranges::find_if(
      report.rows, [&](const Row& row) { return row.merged && !row.needs && row.policy == base->policy; });
  if (merged == report.rows.end()) return std::nullopt;
  std::string out = fmt::format("Beside {} with weights of their own: merging alone {}", base->policy,
                                gain_words(*base, *merged));
  if (swapped != base) out += fmt::format("; {} alone {}", swapped->policy, gain_words(*base, *swapped));
  if (both->policy != base->policy) out += fmt::format("; {} {}", row_words(*both), gain_words(*base, *both));
  out += '.';
  if (swapping::is_better(merged->of, swapped->of)) return out + " Merging gives more here.";
  if (swapping::is_better(swapped->of, merged->of)) return out + " Swapping well gives more here.";
  return out;
}

}  // namespace

std::vector<std::string> swap_findings(const SwapReport& report) {
  std::vector<std::string> out;
  if (!report.estimated) {
    if (auto lack = lack_words(report)) out.push_back(*std::move(lack));
    return out;
  }
  if (report.best) out.push_back(limit_words(report, report.rows[*report.best]));
  if (auto lack = lack_words(report)) out.push_back(*std::move(lack));
  if (auto merging = merging_words(report)) out.push_back(*std::move(merging));
  return out;
}

}  // namespace plimsoll::report
