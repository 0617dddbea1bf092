#include "report/estimate_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "estimate/figures.hpp"
#include "estimate/time/communication.hpp"
#include "report/figure_writing.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using estimate::MemoryEstimate;
using estimate::TimeEstimate;

/// "yes 14 %": of the capacity.
std::string fits_cell(const MemoryEstimate& e) {
  if (!e.fits || !e.capacity) return fits_word(std::nullopt);
  const double share = e.minimum_device() / *e.capacity;
  // What does not fit by a hair shall not read as 100 %, nor what fits.
  const double percent = *e.fits ? std::floor(100 * share) : std::ceil(100 * share);
  return percent < 1 ? fmt::format("{} <1 %", fits_word(e.fits))
                     : fmt::format("{} {:.0f} %", fits_word(e.fits), percent);
}

}  // namespace

std::string fits_word(const std::optional<bool>& fits) {
  return !fits ? "unknown" : *fits ? "yes" : "NO";
}

std::string device_word(const hardware::Device& device) {
  return printable(device.id.empty() ? device.name : device.id);
}

std::string colour_fits(const std::string& table, const TextStyle& style) {
  if (!style.color) return table;
  std::string out;
  const auto is_word = [&](std::size_t at, std::size_t size) {
    const auto apart = [&](std::size_t i) {
      return i >= table.size() || table[i] == ' ' || table[i] == '\n';
    };
    return apart(at - 1) && apart(at + size);
  };
  for (std::size_t at = 0; at < table.size(); ++at) {
    const std::string_view rest = std::string_view(table).substr(at);
    if (rest.starts_with("NO") && is_word(at, 2)) {
      out += red("NO", style);
      at += 1;
    } else if (rest.starts_with("yes") && is_word(at, 3)) {
      out += green("yes", style);
      at += 2;
    } else {
      out += table[at];
    }
  }
  return out;
}

std::string estimate_table(std::span<const EstimateRow> rows, const TextStyle& style) {
  const bool training = !rows.empty() && rows.front().memory->setting.mode == network::Mode::train;
  using enum Importance;
  Table t{{{"Batch", Align::right},
           {"Device", Align::left, true, always},
           {"Needs", Align::right, false, telling},
           {"Fits", Align::left, false, telling},
           {training ? "Step" : "Pass", Align::right, false, telling},
           {"95 %", Align::right, false, detail},
           {"Samples/s", Align::right},
           {"Energy", Align::right},
           {"Bound by", Align::left, false, detail},
           {"From", Align::left}},
          {}};
  for (const EstimateRow& row : rows) {
    const MemoryReport& memory = *row.memory;
    std::vector<std::string> cells = {std::to_string(memory.batch), device_word(memory.device),
                                      value_text(minimum_device_figure(memory.estimate)),
                                      fits_cell(memory.estimate)};
    if (row.time == nullptr) {
      for (const char* cell : {"unknown", "", "unknown", "unknown", "unknown", ""}) cells.emplace_back(cell);
    } else {
      const TimeEstimate& e = *row.time;
      cells.push_back(value_text(time_figure(e)));
      cells.push_back(interval_cell(time_figure(e)));
      cells.push_back(throughput_text(e.samples(memory.batch) / e.seconds.value()));
      cells.push_back(value_text(energy_figure(e)));
      cells.emplace_back(bound_by(e));
      cells.emplace_back(name(e.provenance));
    }
    t.rows.push_back(std::move(cells));
  }
  return colour_fits(to_text(t, style), style);
}

}  // namespace plimsoll::report
