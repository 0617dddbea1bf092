#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/units.hpp"
#include "report/table.hpp"
#include "store/filter.hpp"
#include "store/run.hpp"
#include "store/store.hpp"

namespace plimsoll::report {

/// How the run ended, as far as is known: its outcome ("cuda-out-of-memory"), else its status ("running").
[[nodiscard]] std::string run_outcome(const store::Run& run);
[[nodiscard]] std::optional<Seconds> run_duration(const store::Run& run);
/// The run's own part of its GPUs' energy, else all of it; nothing where nobody measured.
[[nodiscard]] std::optional<Joules> run_energy(const store::Run& run);

/// A metric's value with its unit, for people: "1.20 kJ", "0.873", "NaN".
[[nodiscard]] std::string metric_text(double value, std::string_view unit);
/// The moment on this machine's clock: "2026-11-15 10:30".
[[nodiscard]] std::string local_time_text(store::Time time);

/// A field of a run as a text; "-" where it has none.
[[nodiscard]] std::string field_text(const store::Run& run, const store::Field& field);
/// Whether a column for it says something that a list of runs does not say anyway.
[[nodiscard]] bool adds_to_list(const store::Field& field);
/// "metrics.loss": as a filter names it.
[[nodiscard]] std::string field_name(const store::Field& field);

/// A line per run for people; `columns` are shown beside what is always there.
[[nodiscard]] Table run_table(std::span<const store::Run> runs, std::span<const store::Field> columns);
/// A line per run for programs: base units, and a column for each param, metric and tag that any of them has.
[[nodiscard]] Table run_numbers(std::span<const store::Run> runs);
[[nodiscard]] nlohmann::ordered_json run_json(const store::Run& run);
/// A number of JSON; "NaN", "Infinity" and "-Infinity" as texts, as JSON has no such numbers.
[[nodiscard]] nlohmann::ordered_json number_json(double value);

/// All that is kept of one run.
[[nodiscard]] std::string run_details(const store::Run& run, std::span<const store::File> files,
                                      const TextStyle& style);

}  // namespace plimsoll::report
