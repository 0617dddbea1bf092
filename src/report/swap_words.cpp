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
    return of + fmt::format("all of them for copies; the link is busy {:.0f} % of the time. All weights need {}.",
                            100 * row.of.copying,
                            text(report.together && row.merged ? *report.together : report.separate));
  return of + fmt::format("{} for copies, {} for computing, which are missed with all weights there, too.",
                          row.missed.copies, row.missed.computing);
}

/// The largest memory that a policy asks for, of those that cannot run.
std::optional<std::string> lack_words(const SwapReport& report) {
  std::optional<Bytes> needs;
  std::string names;
  for (const Row& row : report.rows) {
    if (!row.needs) continue;
    needs = std::max(needs.value_or(Bytes()), *row.needs);
    if (names.find(row.policy) == std::string::npos) names += (names.empty() ? "" : ", ") + row.policy;
  }
  if (!needs) return std::nullopt;
  if (!report.best)
    return fmt::format(
        "No policy can run them: {} is below the largest layer. It takes {}, of which activations are {}.",
        text(report.memory), text(*needs), text(report.activations));
  return fmt::format("{} need the largest model whole: {} of memory would do.", names, text(*needs));
}

const Row* best_of(const SwapReport& report, bool merged) {
  const Row* out = nullptr;
  for (const Row& row : report.rows)
    if (row.merged == merged && !row.needs &&
        (out == nullptr || plan::swapping::is_better(row.of, out->of)))
      out = &row;
  return out;
}

const Row* first_of(const SwapReport& report, bool merged) {
  const auto found = std::ranges::find_if(
      report.rows, [&](const Row& row) { return row.merged == merged && !row.needs; });
  return found == report.rows.end() ? nullptr : &*found;
}

std::int64_t more(const Row& than, const Row& row) {
  return static_cast<std::int64_t>(row.of.all.met) - static_cast<std::int64_t>(than.of.all.met);
}

/// Against the first policy that can run, with weights of their own.
std::optional<std::string> merging_words(const SwapReport& report) {
  const Row* const base = first_of(report, false);
  const Row* const swapped = best_of(report, false);
  const Row* const both = best_of(report, true);
  if (base == nullptr || both == nullptr) return std::nullopt;
  const auto merged = std::ranges::find_if(report.rows, [&](const Row& row) {
    return row.merged && !row.needs && row.policy == base->policy;
  });
  if (merged == report.rows.end()) return std::nullopt;
  const std::int64_t by_merging = more(*base, *merged), by_swapping = more(*base, *swapped);
  std::string out = fmt::format("Against {} with weights of their own, merging meets {:+} frames", base->policy,
                                by_merging);
  if (swapped != base) out += fmt::format(", {} {:+}", swapped->policy, by_swapping);
  out += fmt::format(", {} {:+}.", row_words(*both), more(*base, *both));
  if (swapped != base && by_merging != by_swapping)
    out += fmt::format(" {} gives more here.", by_merging > by_swapping ? "Merging" : "Choosing what gives way");
  return out;
}

}  // namespace

std::vector<std::string> swap_findings(const SwapReport& report) {
  std::vector<std::string> out;
  if (report.best) out.push_back(limit_words(report, report.rows[*report.best]));
  if (auto lack = lack_words(report)) out.push_back(*std::move(lack));
  if (auto merging = merging_words(report)) out.push_back(*std::move(merging));
  return out;
}

}  // namespace plimsoll::report
