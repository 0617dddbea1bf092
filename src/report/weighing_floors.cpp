#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"
#include "report/weighing.hpp"

namespace plimsoll::report {
namespace {

std::string time_text(const std::optional<Seconds>& t) {
  return t ? text(*t) : "unknown";
}

std::string largest_text(const std::optional<estimate::LargestBatch>& largest) {
  if (!largest) return "unknown";
  if (largest->batch == 0) return "none";
  return fmt::format("{}{}", largest->bounded ? "" : "> ", grouped(largest->batch));
}

/// Colours the answers after the table was laid out, so that widths are not disturbed.
std::string colour_answers(std::string table, const TextStyle& style) {
  if (!style.color) return table;
  std::string out;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    std::string line = table.substr(at, end - at);
    if (const std::size_t no = line.find(" NO "); no != std::string::npos)
      line.replace(no + 1, 2, red("NO", style));
    if (const std::size_t yes = line.find(" yes "); yes != std::string::npos)
      line.replace(yes + 1, 3, green("yes", style));
    out += line + '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace

Table floor_table(const Weighing& w) {
  using enum Importance;
  Table t{{{"Device", Align::left, true},
           {"Memory", Align::right, false, detail},
           {"Needs", Align::right, false, telling},
           {"Fits", Align::right, false, telling},
           {"Largest batch", Align::right, false, telling},
           {"Compute floor", Align::right},
           {"Memory floor", Align::right},
           {"Bound by", Align::left, false, detail}},
          {}};
  for (const WeighedDevice& d : w.devices) {
    const std::string title = d.here ? fmt::format("{} (this machine)", d.device.name)
                                     : fmt::format("{} ({})", d.device.name, d.device.id);
    const std::optional<bool> fits = d.fits();
    t.rows.push_back({printable(title), d.floors.capacity ? text(*d.floors.capacity) : "unknown",
                      d.memory ? text(d.memory->minimum_device()) : "unknown",
                      !fits   ? "unknown"
                      : *fits ? "yes"
                              : "NO",
                      largest_text(d.largest), time_text(d.floors.compute), time_text(d.floors.memory),
                      std::string(name(d.floors.binding()))});
  }
  return t;
}

std::string floors_text(const Weighing& w, const TextStyle& style) {
  return "\n" + colour_answers(to_text(floor_table(w), style), style) + "\n" +
         wrap(
             "Memory is an estimate of what PyTorch needs at least, with the CUDA context on a GPU; "
             "`plimsoll "
             "estimate` says of what and why. Floors are not estimates: no program is faster than FLOPs over "
             "peak rate, or than weights, input and output moved once over bandwidth.",
             text_width(style), "");
}

}  // namespace plimsoll::report
