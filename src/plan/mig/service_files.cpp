#include "plan/mig/service_files.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <type_traits>

#include <fmt/ranges.h>

#include "base/csv.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::plan {
namespace {

constexpr std::size_t kMostFileErrors = 100;
constexpr std::size_t kLongestName = 200;

/// Which cell of a row a column is; nothing where the file has none.
using ColumnPlace = std::optional<std::size_t>;

ColumnPlace column_named(const CsvRow& titles, std::string_view name) {
  for (std::size_t i = 0; i < titles.cells.size(); ++i)
    if (lower_case(titles.cells[i]) == name) return i;
  return std::nullopt;
}

/// One row, and what is wrong with it.
struct RowReader {
  const CsvRow& row;
  std::vector<Error>& errors;

  void wrong(std::string_view column, std::string message) const {
    if (errors.size() < kMostFileErrors)
      errors.push_back({std::move(message), fmt::format("line {}: {}", row.line, column)});
  }
  [[nodiscard]] std::string_view cell(const ColumnPlace& place) const {
    return place && *place < row.cells.size() ? std::string_view(row.cells[*place]) : std::string_view();
  }
  [[nodiscard]] std::string name(std::string_view column, const ColumnPlace& place) const {
    const std::string_view text = cell(place);
    if (text.empty()) wrong(column, "is empty");
    if (text.size() > kLongestName) wrong(column, fmt::format("is longer than {} bytes", kLongestName));
    return std::string(text.substr(0, kLongestName));
  }
  template <class T>
  [[nodiscard]] T number(std::string_view column, const ColumnPlace& place, T most) const {
    const std::string_view text = cell(place);
    T value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || !(value > 0 && value <= most)) {
      wrong(column, fmt::format("{} is not a {} above 0, up to {}", quote(text.substr(0, 40)),
                                std::is_integral_v<T> ? "whole number" : "number", most));
      return T{1};
    }
    return value;
  }
};

/// The rows of a file below its titles; fails where one of the columns is not there.
struct TitledRows {
  std::vector<CsvRow> rows;
  std::vector<ColumnPlace> places;  ///< of the columns asked for, then of those that may be there
};
AllErrors<TitledRows> titled_rows(std::string_view text, std::span<const std::string_view> needed,
                                  std::span<const std::string_view> optional) {
  auto rows = read_csv(text);
  if (!rows) return std::unexpected(std::vector{std::move(rows).error()});
  if (rows->size() < 2) return std::unexpected(std::vector{Error{"there are no rows in it"}});
  if (rows->size() > kMostServiceRows)
    return std::unexpected(std::vector{Error{fmt::format("there are more than {} rows", kMostServiceRows)}});
  TitledRows out;
  std::vector<std::string_view> missing;
  for (const std::string_view column : needed) {
    out.places.push_back(column_named(rows->front(), column));
    if (!out.places.back()) missing.push_back(column);
  }
  if (!missing.empty())
    return std::unexpected(
        std::vector{Error{fmt::format("there is no column {}", fmt::join(missing, ", ")), "the header",
                          fmt::format("needed are {}", fmt::join(needed, ", "))}});
  for (const std::string_view column : optional) out.places.push_back(column_named(rows->front(), column));
  rows->erase(rows->begin());
  out.rows = *std::move(rows);
  return out;
}

/// The one of `all` of that name, added where there is none.
template <class T>
T& named_or_new(std::vector<T>& all, std::string T::* name, std::string_view wanted) {
  for (T& each : all)
    if (each.*name == wanted) return each;
  all.emplace_back();
  all.back().*name = std::string(wanted);
  return all.back();
}

constexpr double kMostRequests = 1e12;  // a second
constexpr double kLongestSeconds = 1e6;
constexpr int kMostInstanceParts = 64;
constexpr std::size_t kMostGroups = 1'000;  // GPUs or scenarios of one file

}  // namespace

AllErrors<std::vector<GpuProfiles>> parse_served_profiles(std::string_view text) {
  static constexpr std::string_view kNeeded[] = {"model",     "mig_compute_slices",     "batch",
                                                 "processes", "throughput_total_req_s", "latency_s"};
  static constexpr std::string_view kOptional[] = {"gpu"};
  const auto titled = titled_rows(text, kNeeded, kOptional);
  if (!titled) return std::unexpected(titled.error());
  std::vector<GpuProfiles> out;
  std::vector<Error> errors;
  for (const CsvRow& row : titled->rows) {
    const RowReader reader{row, errors};
    const auto& at = titled->places;
    ServedProfile profile;
    profile.model = reader.name(kNeeded[0], at[0]);
    profile.compute = reader.number<int>(kNeeded[1], at[1], kMostInstanceParts);
    profile.batch = reader.number<int>(kNeeded[2], at[2], 1'000'000);
    profile.processes = reader.number<int>(kNeeded[3], at[3], 1'000);
    profile.rate = reader.number<double>(kNeeded[4], at[4], kMostRequests);
    profile.latency = Seconds(reader.number<double>(kNeeded[5], at[5], kLongestSeconds));
    named_or_new(out, &GpuProfiles::gpu, reader.cell(at[6])).rows.push_back(std::move(profile));
    if (out.size() > kMostGroups) {
      errors.push_back({fmt::format("there are more than {} kinds of GPUs", kMostGroups)});
      break;
    }
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return out;
}

AllErrors<std::vector<Scenario>> parse_services(std::string_view text) {
  static constexpr std::string_view kNeeded[] = {"model", "request_rate_req_s", "latency_slo_ms"};
  static constexpr std::string_view kOptional[] = {"service", "scenario"};
  const auto titled = titled_rows(text, kNeeded, kOptional);
  if (!titled) return std::unexpected(titled.error());
  std::vector<Scenario> out;
  std::vector<Error> errors;
  for (const CsvRow& row : titled->rows) {
    const RowReader reader{row, errors};
    const auto& at = titled->places;
    Service service;
    service.model = reader.name(kNeeded[0], at[0]);
    service.rate = reader.number<double>(kNeeded[1], at[1], kMostRequests);
    service.limit = Seconds(reader.number<double>(kNeeded[2], at[2], kLongestSeconds * 1000) / 1000);
    service.name = at[3] ? reader.name(kOptional[0], at[3]) : service.model;
    Scenario& scenario = named_or_new(out, &Scenario::name, reader.cell(at[4]));
    if (std::ranges::find(scenario.services, service.name, &Service::name) != scenario.services.end())
      reader.wrong("service", fmt::format("{} stands twice{}", quote(service.name),
                                          at[3] ? "" : ": name each in a column service"));
    scenario.services.push_back(std::move(service));
    if (scenario.services.size() > kMostServices || out.size() > kMostGroups) {
      errors.push_back({fmt::format("there are more than {} services or scenarios", kMostServices)});
      break;
    }
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return out;
}

}  // namespace plimsoll::plan
