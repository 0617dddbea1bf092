#include "sharing_figures_file.hpp"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"

namespace plimsoll {
namespace {

using share::SharingFigures;

constexpr std::size_t kMostFigures = std::size_t{1} << 20;

struct FigureRow {
  std::string_view name;
  double SharingFigures::* member;
  double most;
};
constexpr std::array kFigureRows = {
    FigureRow{"slice", &SharingFigures::slice, 1},
    FigureRow{"change", &SharingFigures::change, 1},
    FigureRow{"refill", &SharingFigures::refill, 1},
    FigureRow{"client_launch", &SharingFigures::client_launch, 1e-3},
    FigureRow{"client_run", &SharingFigures::client_run, 1},
    FigureRow{"crowded_launch", &SharingFigures::crowded_launch, 1e-3},
    FigureRow{"client_host", &SharingFigures::client_host, 10},
    FigureRow{"crowding_memory", &SharingFigures::crowding_memory, 100},
    FigureRow{"crowding_compute", &SharingFigures::crowding_compute, 100},
    FigureRow{"crowding_launch", &SharingFigures::crowding_launch, 100},
    FigureRow{"cap_exponent", &SharingFigures::cap_exponent, 20},
    FigureRow{"cap_compute", &SharingFigures::cap_compute, 100},
    FigureRow{"cap_memory", &SharingFigures::cap_memory, 100},
    FigureRow{"cap_launch", &SharingFigures::cap_launch, 100},
};

}  // namespace

Result<SharingFigures> read_sharing_figures(std::string_view json, const std::string& name,
                                            SharingFigures otherwise) {
  const auto refuse = [&](std::string message, std::string hint = {}) {
    return std::unexpected(Error{std::move(message), name, std::move(hint)});
  };
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (document.is_discarded() || !document.is_object()) return refuse("is no JSON object of figures");
  for (const auto& [key, value] : document.items()) {
    if (key == "device" || key == "date") continue;
    const auto row = std::ranges::find(kFigureRows, key, &FigureRow::name);
    if (row == kFigureRows.end())
      return refuse(fmt::format("has an unknown figure '{}'", printable(key, 40)),
                    "`plimsoll probe --sharing` writes such files");
    if (!value.is_number()) return refuse(fmt::format("{} is no number", row->name));
    const double number = value.get<double>();
    constexpr double kShortestSlice = 1e-5;  // s
    if (row->name == "slice" && number < kShortestSlice) return refuse("a slice is 10 µs long at least");
    if (!std::isfinite(number) || number < 0 || number > row->most ||
        (row->name == "cap_exponent" && number < 0.1))
      return refuse(fmt::format("{} is not from 0 to {:g}", row->name, row->most));
    otherwise.*(row->member) = number;
  }
  if (otherwise.refill >= otherwise.slice)
    return refuse("refill is as long as a slice: nothing would ever run");
  if (document.contains("slice")) otherwise.provenance = Provenance::measured;
  return otherwise;
}

nlohmann::ordered_json to_json(const SharingFigures& figures) {
  nlohmann::ordered_json out;
  for (const FigureRow& row : kFigureRows) out[std::string(row.name)] = figures.*(row.member);
  return out;
}

Result<SharingFigures> sharing_figures_of(const hardware::Device& device, const std::string& file) {
  const SharingFigures built_in = share::sharing_figures(device);
  if (file.empty()) return built_in;
  const auto text = read_file(file, kMostFigures);
  PLIMSOLL_TRY(text);
  return read_sharing_figures(*text, file, built_in);
}

}  // namespace plimsoll
