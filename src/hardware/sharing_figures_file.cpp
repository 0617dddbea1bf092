#include "hardware/sharing_figures_file.hpp"

#include <cmath>

namespace plimsoll::hardware {

void read_sharing_figures(JsonSection& section, SharingFigures& figures) {
  for (const SharingFigureRow& row : sharing_figure_rows()) {
    const JsonSection::Json* value = section.take(std::string(row.name));
    if (value == nullptr) continue;
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!(number >= row.least && number <= row.most))
      section.complain(row.name, fmt::format("is no number from {:g} to {:g}", row.least, row.most));
    figures.*row.figure = number;
    if (row.name == "slice") figures.provenance = Provenance::measured;
  }
  if (figures.refill >= figures.slice)
    section.complain("refill", "is as long as a slice: nothing would ever run");
  section.done();
}

nlohmann::ordered_json sharing_figures_json(const SharingFigures& figures) {
  nlohmann::ordered_json out;
  for (const SharingFigureRow& row : sharing_figure_rows()) out[std::string(row.name)] = figures.*row.figure;
  return out;
}

}  // namespace plimsoll::hardware
